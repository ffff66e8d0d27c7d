"""tf.keras: layers, models, losses, metrics and optimizers, made from the library's tables of options."""
import os as _os

import numpy as _np

from .. import _core, _modules, _ops
from . import _callbacks, _layers, _models, _objects
from ._layers import Input, Layer  # noqa: F401
from ._models import Model, Sequential  # noqa: F401


def _module(name, names, text):
    return _modules.make_module(f"keras.{name}", names, text)


layers = _module("layers", {**_layers.CLASSES, "Layer": Layer, "Input": Input, "InputLayer": _layers.InputLayer,
                            "Lambda": _layers.Lambda, "MaxPool2D": _layers.CLASSES["MaxPooling2D"],
                            "AvgPool2D": _layers.CLASSES["AveragePooling2D"],
                            "MaxPool1D": _layers.CLASSES["MaxPooling1D"]}, "tf.keras.layers")
models = _module("models", {"Model": Model, "Sequential": Sequential, "load_model": _models.load_model,
                            "model_from_json": _models.model_from_json, "clone_model": _models.clone_model},
                 "tf.keras.models")
losses = _module("losses", {**_objects.LOSSES, **_objects.LOSS_FUNCTIONS, "Loss": _objects.Loss,
                            "get": _objects.get_loss}, "tf.keras.losses")
metrics = _module("metrics", {**_objects.LOSS_FUNCTIONS, **_objects.METRICS, "Metric": _objects.Metric},
                  "tf.keras.metrics")
schedules = _module("optimizers.schedules", {**_objects.SCHEDULES,
                                             "LearningRateSchedule": _objects.LearningRateSchedule},
                    "tf.keras.optimizers.schedules")
optimizers = _module("optimizers", {**_objects.OPTIMIZERS, "Optimizer": _objects.Optimizer, "schedules": schedules,
                                    "get": _objects.get_optimizer}, "tf.keras.optimizers")
optimizers.legacy = _module("optimizers.legacy", dict(_objects.OPTIMIZERS), "tf.keras.optimizers.legacy")
initializers = _module("initializers", {**_objects.INITIALIZERS, "Initializer": _objects.Initializer,
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
                                  "LearningRateScheduler": _callbacks.LearningRateScheduler}, "tf.keras.callbacks")


def to_categorical(x, num_classes=None):
    """One-hot rows, as an array."""
    return _core.to_categorical(_np.asarray(x), 0 if num_classes is None else int(num_classes)).numpy()


def set_random_seed(seed):
    """Seeds Python, NumPy and the library."""
    import random
    random.seed(seed)
    _np.random.seed(seed % 2**32)
    _core.set_seed(int(seed))


utils = _module("utils", {"to_categorical": to_categorical, "set_random_seed": set_random_seed}, "tf.keras.utils")


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
