"""tf.keras: layers, models, losses, metrics and optimizers, made from the library's tables of options."""
import os as _os

import numpy as _np

from .. import _core, _modules, _ops
from .._convert import refuse
from ..data import Dataset
from . import _callbacks, _functions, _layers, _models, _objects, _tables
from ._layers import Input, Layer  # noqa: F401
from ._models import Model, Sequential  # noqa: F401


def _module(name, names, text):
    return _modules.make_module(f"keras.{name}", names, text)


# Other names of layers.
_SHORT_LAYERS = {f"{short}{n}": f"{name}{n}" for n in ("1D", "2D", "3D") for short, name in (
    ("MaxPool", "MaxPooling"), ("AvgPool", "AveragePooling"), ("GlobalMaxPool", "GlobalMaxPooling"),
    ("GlobalAvgPool", "GlobalAveragePooling"), ("Convolution", "Conv"))}
layers = _module("layers", {**_layers.CLASSES, "Layer": Layer, "Input": Input, "InputLayer": _layers.InputLayer,
                            "Lambda": _layers.Lambda,
                            **{short: _layers.CLASSES[name] for short, name in _SHORT_LAYERS.items()},
                            **_functions.layer_functions(_layers.CLASSES)}, "tf.keras.layers")
models = _module("models", {"Model": Model, "Sequential": Sequential, "load_model": _models.load_model,
                            "model_from_json": _models.model_from_json, "clone_model": _models.clone_model},
                 "tf.keras.models")
_SHORT_LOSSES = {short: _objects.LOSS_FUNCTIONS[name] for short, name in (
    ("MSE", "mean_squared_error"), ("MAE", "mean_absolute_error"), ("MAPE", "mean_absolute_percentage_error"),
    ("MSLE", "mean_squared_logarithmic_error"), ("KLD", "kl_divergence"))}
losses = _module("losses", {**_objects.LOSSES, **_objects.LOSS_FUNCTIONS, **_SHORT_LOSSES, "Loss": _objects.Loss,
                            "get": _objects.get_loss}, "tf.keras.losses")
metrics = _module("metrics", {**_objects.LOSS_FUNCTIONS, **_SHORT_LOSSES, **_functions.METRICS, **_objects.METRICS, "Metric": _objects.Metric},
                  "tf.keras.metrics")
schedules = _module("optimizers.schedules", {**_objects.SCHEDULES,
                                             "LearningRateSchedule": _objects.LearningRateSchedule},
                    "tf.keras.optimizers.schedules")
optimizers = _module("optimizers", {**_objects.OPTIMIZERS, "Optimizer": _objects.Optimizer, "schedules": schedules,
                                    "get": _objects.get_optimizer}, "tf.keras.optimizers")
optimizers.legacy = _module("optimizers.legacy", dict(_objects.OPTIMIZERS), "tf.keras.optimizers.legacy")
initializers = _module("initializers", {**_objects.INITIALIZERS,
                                        **{_tables.snake_case(n): c for n, c in _objects.INITIALIZERS.items()},
                                        "Initializer": _objects.Initializer,
                                        "get": _objects.get_initializer}, "tf.keras.initializers")
regularizers = _module("regularizers", {**_objects.REGULARIZERS, "Regularizer": _objects.Regularizer,
                                        "get": _objects.get_regularizer,
                                        **{n.lower(): _objects.REGULARIZERS[n] for n in ("L1", "L2")}},
                       "tf.keras.regularizers")
constraints = _module("constraints", {**_objects.CONSTRAINTS, "Constraint": _objects.Constraint,
                                      "get": _objects.get_constraint}, "tf.keras.constraints")
activations = _module("activations", {**_objects.ACTIVATIONS, "get": _objects.get_activation}, "tf.keras.activations")
callbacks = _module("callbacks", {**_callbacks.CLASSES, "Callback": _callbacks.Callback,
                                  "History": _callbacks.History, "LambdaCallback": _callbacks.LambdaCallback,
                                  **{n: getattr(_callbacks, n) for n in (
                                      "LearningRateScheduler", "ModelCheckpoint", "BackupAndRestore", "TensorBoard",
                                      "TerminateOnNaN", "SwapEMAWeights")}}, "tf.keras.callbacks")


def to_categorical(x, num_classes=None):
    """One-hot rows, as an array."""
    return _core.to_categorical(_np.asarray(x), 0 if num_classes is None else int(num_classes)).numpy()


def set_random_seed(seed):
    """Seeds Python, NumPy and the library."""
    import random
    random.seed(seed)
    _np.random.seed(seed % 2**32)
    _core.set_seed(int(seed))


def plot_model(model, to_file="model.svg", show_shapes=False, show_dtype=False, show_layer_names=False, rankdir="TB",
               expand_nested=False, dpi=200, show_layer_activations=False, show_trainable=False, splines="ortho"):
    """The graph of a model in a file, as an SVG image (.svg) or as Graphviz's text (.dot, .gv); gives the text."""
    refuse("plot_model", show_dtype=(show_dtype, False), show_layer_activations=(show_layer_activations, False),
           show_trainable=(show_trainable, False))
    path = _os.fspath(to_file)
    makers = {".svg": _core.model_to_svg, ".dot": _core.model_to_dot, ".gv": _core.model_to_dot}
    end = _os.path.splitext(path)[1]
    if end not in makers:
        raise ValueError(f"plot_model: {path!r} ends with none of {sorted(makers)}")
    text = makers[end](model._ensure_handle(), show_shapes, show_layer_names, rankdir, expand_nested)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return text


def image_dataset_from_directory(directory, labels="inferred", label_mode="int", class_names=None, color_mode="rgb",
                                 batch_size=32, image_size=(256, 256), shuffle=True, seed=None, validation_split=None,
                                 subset=None, interpolation="bilinear", follow_links=False,
                                 crop_to_aspect_ratio=False, pad_to_aspect_ratio=False, data_format=None,
                                 format="tf", verbose=True):
    """The images below a directory that has a folder for each class, as float32 from 0 to 255, and their labels."""
    refuse("image_dataset_from_directory", labels=(labels, "inferred"), data_format=(data_format, None, "channels_last"),
           format=(format, "tf"))
    node, names, paths = _core.image_dataset_from_directory(
        _os.fspath(directory), label_mode, list(class_names or []), color_mode, int(batch_size), list(image_size), shuffle,
        seed, float(validation_split or 0), subset or "", interpolation, follow_links, crop_to_aspect_ratio,
        pad_to_aspect_ratio)
    dataset = Dataset(node, (0, 0))
    dataset.class_names, dataset.file_paths = names, paths
    if verbose:
        print(f"Found {len(paths)} files belonging to {len(names)} classes.")
    return dataset


def timeseries_dataset_from_array(data, targets, sequence_length, sequence_stride=1, sampling_rate=1, batch_size=128,
                                  shuffle=False, seed=None, start_index=None, end_index=None, format="tf"):
    """Sequences of a series as batches, with the target of the first step of each, if there are targets."""
    refuse("timeseries_dataset_from_array", format=(format, "tf"))
    node = _core.timeseries_dataset_from_array(data, targets, int(sequence_length), int(sequence_stride),
                                               int(sampling_rate), int(batch_size), shuffle, seed, int(start_index or 0),
                                               end_index)
    return Dataset(node, 0 if targets is None else (0, 0))


utils = _module("utils", {**_functions.UTILS, "image_dataset_from_directory": image_dataset_from_directory,
                          "timeseries_dataset_from_array": timeseries_dataset_from_array, "to_categorical": to_categorical, "set_random_seed": set_random_seed,
                          "plot_model": plot_model}, "tf.keras.utils")


def _load_mnist(path="mnist.npz"):
    """The digits, from `path`, the folder CAPSTAN_MNIST, or Keras's folder of datasets. Nothing is downloaded."""
    named = path if _os.path.exists(path) else None
    folders = [named, _os.environ.get("CAPSTAN_MNIST"),
               _os.path.join(_os.path.expanduser("~"), ".keras", "datasets")]
    folder = next((f for f in folders if f and _os.path.exists(f)), "mnist")
    if _os.path.isfile(folder):
        folder = _os.path.dirname(_os.path.abspath(folder))
    return tuple(tuple(t.numpy() for t in part) for part in _core.load_mnist(folder))


datasets = _module("datasets", {"mnist": _module("datasets.mnist", {"load_data": _load_mnist},
                                                 "tf.keras.datasets.mnist")}, "tf.keras.datasets")


def clear_session():
    """Starts the numbering of names anew."""
    _layers.clear_names()


backend = _module("backend", {"clear_session": clear_session, "floatx": lambda: _core.floatx().name,
                              "set_floatx": lambda dtype: _core.set_floatx(dtype), "epsilon": lambda: 1e-7,
                              **{n: _ops.OPS[o] for n, o in (("abs", "abs"), ("exp", "exp"), ("log", "log"),
                                                             ("square", "square"), ("sqrt", "sqrt"))},
                              "mean": _ops.OPS["reduce_mean"], "sum": _ops.OPS["reduce_sum"]}, "tf.keras.backend")
