"""tf.keras: layers, models, losses, metrics and optimizers, made from the library's tables of options."""
from .. import _core, _modules, _ops
from . import _applications, _callbacks, _datasets, _functions, _layers, _models, _objects, _random, _saving, _tables, _utils
from . import _operations
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
                            "save_model": _models.save_model, "model_from_json": _models.model_from_json,
                            "clone_model": _models.clone_model}, "tf.keras.models")
_SHORT_LOSSES = {short: _objects.LOSS_FUNCTIONS[name] for short, name in (
    ("MSE", "mean_squared_error"), ("MAE", "mean_absolute_error"), ("MAPE", "mean_absolute_percentage_error"),
    ("MSLE", "mean_squared_logarithmic_error"), ("KLD", "kl_divergence"))}
losses = _module("losses", {**_objects.LOSSES, **_objects.LOSS_FUNCTIONS, **_SHORT_LOSSES, "Loss": _objects.Loss,
                            "get": _objects.get_loss}, "tf.keras.losses")
metrics = _module("metrics", {**_objects.LOSS_FUNCTIONS, **_SHORT_LOSSES, **_functions.METRICS,
                              **_objects.METRICS, "Metric": _objects.Metric}, "tf.keras.metrics")
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
                                        **{n.lower(): _objects.REGULARIZERS[n] for n in ("L1", "L2")},
                                        "l1_l2": _objects.REGULARIZERS["L1L2"]},
                       "tf.keras.regularizers")
constraints = _module("constraints", {**_objects.CONSTRAINTS, "Constraint": _objects.Constraint,
                                      **{_tables.snake_case(n): c for n, c in _objects.CONSTRAINTS.items()},
                                      "get": _objects.get_constraint}, "tf.keras.constraints")
activations = _module("activations", {**_objects.ACTIVATIONS, "get": _objects.get_activation}, "tf.keras.activations")
callbacks = _module("callbacks", {**_callbacks.CLASSES, "Callback": _callbacks.Callback,
                                  "History": _callbacks.History, "LambdaCallback": _callbacks.LambdaCallback,
                                  **{n: getattr(_callbacks, n) for n in (
                                      "LearningRateScheduler", "ModelCheckpoint", "BackupAndRestore", "TensorBoard",
                                      "TerminateOnNaN", "SwapEMAWeights")}}, "tf.keras.callbacks")


saving = _module("saving", {**_saving.NAMES, "load_model": _models.load_model, "save_model": _models.save_model},
                 "tf.keras.saving")
utils = _module("utils", {**_utils.FUNCTIONS, **_saving.NAMES}, "tf.keras.utils")
applications, datasets = _applications.applications, _datasets.datasets
random = _module("random", _random.NAMES, "tf.keras.random")
ops = _operations.make()
Loss, Metric, Optimizer, Initializer, Regularizer = (_objects.Loss, _objects.Metric, _objects.Optimizer,
                                                     _objects.Initializer, _objects.Regularizer)


def clear_session():
    """Starts the numbering of names anew."""
    _layers.clear_names()


backend = _module("backend", {"clear_session": clear_session, "floatx": lambda: _core.floatx().name,
                              "set_floatx": lambda dtype: _core.set_floatx(dtype), "epsilon": lambda: 1e-7,
                              **{n: _ops.OPS[o] for n, o in (("abs", "abs"), ("exp", "exp"), ("log", "log"),
                                                             ("square", "square"), ("sqrt", "sqrt"))},
                              "mean": _ops.OPS["reduce_mean"], "sum": _ops.OPS["reduce_sum"]}, "tf.keras.backend")
