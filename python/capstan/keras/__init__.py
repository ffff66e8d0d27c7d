"""tf.keras: layers, models, losses, metrics and optimizers, made from the library's tables of options."""
from .. import _core, _modules
from . import _applications, _backend, _callbacks, _config, _datasets, _functions, _layers, _models, _objects, _operations
from . import _export, _names, _preprocessing, _random, _saving, _tables, _utils
from .._core import Variable  # noqa: F401
from ._layers import Input, Layer  # noqa: F401
from ._models import Model, Sequential  # noqa: F401


def _module(name, names, text):
    return _modules.make_module(f"keras.{name}", names, text)


def _kind(name, what, names):
    """A module of classes or functions, which have configurations; `what` is one of them."""
    return _module(name, {**names, "serialize": _saving.serializer(what),
                          "deserialize": _saving.deserialize_keras_object}, f"tf.keras.{name}")


# Other names of layers.
_SHORT_LAYERS = {f"{short}{n}": f"{name}{n}" for n in ("1D", "2D", "3D") for short, name in (
    ("MaxPool", "MaxPooling"), ("AvgPool", "AveragePooling"), ("GlobalMaxPool", "GlobalMaxPooling"),
    ("GlobalAvgPool", "GlobalAveragePooling"), ("Convolution", "Conv"))}
_SHORT_LAYERS |= {name.replace("Conv", "Convolution"): name for name in (
    "Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", "SeparableConv1D", "SeparableConv2D")}
layers = _kind("layers", "layer", {**_layers.CLASSES, "Layer": Layer, "Input": Input, "InputLayer": _layers.InputLayer,
                                   "Lambda": _layers.Lambda, "TFSMLayer": _export.make_reloaded_layer(Layer), "InputSpec": _names.InputSpec, "Wrapper": _names.Wrapper,
                                   **{short: _layers.CLASSES[name] for short, name in _SHORT_LAYERS.items()},
                                   **_functions.layer_functions(_layers.CLASSES)})
models = _module("models", {"Model": Model, "Sequential": Sequential, "load_model": _models.load_model,
                            "save_model": _models.save_model, "model_from_json": _models.model_from_json,
                            "clone_model": _models.clone_model}, "tf.keras.models")
_SHORT_LOSSES = {short: _objects.LOSS_FUNCTIONS[name] for short, name in (
    ("MSE", "mean_squared_error"), ("MAE", "mean_absolute_error"), ("MAPE", "mean_absolute_percentage_error"),
    ("MSLE", "mean_squared_logarithmic_error"), ("KLD", "kl_divergence"), ("kullback_leibler_divergence", "kl_divergence"),
    ("logcosh", "log_cosh"))}
losses = _kind("losses", "loss", {**_objects.LOSSES, **_objects.LOSS_FUNCTIONS, **_SHORT_LOSSES, "Loss": _objects.Loss,
                                  "get": _objects.get_loss})
metrics = _kind("metrics", "metric", {**_objects.LOSS_FUNCTIONS, **_SHORT_LOSSES, **_functions.METRICS,
                                      **_objects.METRICS, "Metric": _objects.Metric, "get": _objects.get_metric,
                                      "MeanMetricWrapper": _names.MeanMetricWrapper})
schedules = _kind("optimizers.schedules", "learning_rate_schedule", {**_objects.SCHEDULES,
                                                                     "LearningRateSchedule": _objects.LearningRateSchedule})
optimizers = _kind("optimizers", "optimizer", {**_objects.OPTIMIZERS, "Optimizer": _objects.Optimizer, "schedules": schedules,
                                               "get": _objects.get_optimizer})
optimizers.legacy = _module("optimizers.legacy", dict(_objects.OPTIMIZERS), "tf.keras.optimizers.legacy")
initializers = _kind("initializers", "initializer", {**_objects.INITIALIZERS,
                                                     **{_tables.snake_case(n): c for n, c in _objects.INITIALIZERS.items()},
                                                     "Initializer": _objects.Initializer,
                                                     "get": _objects.get_initializer})
regularizers = _kind("regularizers", "regularizer", {**_objects.REGULARIZERS, "Regularizer": _objects.Regularizer,
                                                     "get": _objects.get_regularizer,
                                                     **{n.lower(): _objects.REGULARIZERS[n] for n in ("L1", "L2")},
                                                     "l1_l2": _objects.REGULARIZERS["L1L2"]})
constraints = _kind("constraints", "constraint", {**_objects.CONSTRAINTS, "Constraint": _objects.Constraint,
                                                  **{_tables.snake_case(n): c for n, c in _objects.CONSTRAINTS.items()},
                                                  "get": _objects.get_constraint})
activations = _module("activations", {
    **_objects.ACTIVATIONS, "get": _objects.get_activation, "serialize": _saving.serializer("activation"),
    "deserialize": _objects.deserialize_activation}, "tf.keras.activations")
callbacks = _module("callbacks", {**_callbacks.CLASSES, "Callback": _callbacks.Callback,
                                  "CallbackList": _callbacks.CallbackList,
                                  "History": _callbacks.History, "LambdaCallback": _callbacks.LambdaCallback,
                                  **{n: getattr(_callbacks, n) for n in (
                                      "LearningRateScheduler", "ModelCheckpoint", "BackupAndRestore", "TensorBoard",
                                      "TerminateOnNaN", "SwapEMAWeights")}}, "tf.keras.callbacks")


saving = _module("saving", {**_saving.NAMES, "load_model": _models.load_model, "save_model": _models.save_model},
                 "tf.keras.saving")
export = _module("export", {"ExportArchive": _export.ExportArchive}, "tf.keras.export")
applications, datasets, preprocessing = _applications.applications, _datasets.datasets, _preprocessing.preprocessing
random = _module("random", _random.NAMES, "tf.keras.random")
ops = _operations.make()
Loss, Metric, Optimizer, Initializer, Regularizer = (_objects.Loss, _objects.Metric, _objects.Optimizer,
                                                     _objects.Initializer, _objects.Regularizer)


def clear_session(free_memory=True):
    """Starts the numbering of names anew; memory is freed in any case as soon as nothing uses it."""
    del free_memory
    _core.clear_session()


__version__ = _names.version()
InputSpec, KerasTensor, name_scope, version = _names.InputSpec, _names.KerasTensor, _names.name_scope, _names.version
_kinds = {"is_keras_tensor": _names.is_keras_tensor, "standardize_dtype": _names.standardize_dtype}
utils = _module("utils", {**_utils.FUNCTIONS, **_saving.NAMES, **_kinds, **_config.LOGGING, "clear_session": clear_session},
                "tf.keras.utils")
preprocessing.image.smart_resize = _names.smart_resize
config = _module("config", {**_config.CONFIG, **_config.LOGGING}, "tf.keras.config")
mixed_precision = _module("mixed_precision", _config.MIXED_PRECISION, "tf.keras.mixed_precision")
DTypePolicy = _config.DTypePolicy
backend = _module("backend", {"clear_session": clear_session, **_config.CONFIG, **_kinds, **_backend.functions(ops)},
                  "tf.keras.backend")
