"""Losses, metrics, optimizers, schedules, initializers and their like, made from the library's tables."""
import inspect

import numpy as np

from .. import _core
from .._convert import convert_to_tensor, refuse
from . import _saving, _tables
from ._tables import Configured, Lent, snake_case


class Loss(Configured):
    """A loss, which compares labels and predictions; a class of one's own overrides `call`."""
    _kind = "loss"

    def __init__(self, *args, **kwargs):
        if type(self)._name:
            super().__init__(*args, **kwargs)
            if not self._overrides("call"):
                return
        else:
            self.reduction = kwargs.get("reduction", args[1] if len(args) > 1 else "sum_over_batch_size")
            self.name = kwargs.get("name") or (args[0] if args else snake_case(type(self).__name__))
        self._handle = _core.loss_of_function(lambda y, p: self.call(y, p), self.reduction or "none")

    def __call__(self, y_true, y_pred, sample_weight=None):
        return self._handle.call(y_true, y_pred, sample_weight)

    def call(self, y_true, y_pred):
        """One value for each example."""
        return values_of(type(self), {k: v for k, v in self._given.items() if k not in ("reduction", "name")})(
            y_true, y_pred)

    def get_config(self):
        """What the object was made with, with Keras's keys; a class of one's own adds its own."""
        return super().get_config() if type(self)._name else {"name": self.name, "reduction": self.reduction}

    @property
    def name(self):
        return self.__dict__.get("_own_name") or self._handle.name

    @name.setter
    def name(self, value):
        self.__dict__["_own_name"] = value


class Metric(Configured):
    """A metric, which accumulates over batches; a class of one's own overrides `update_state` and `result`."""
    _kind = "metric"

    def __init__(self, *args, **kwargs):
        self._weights, self._initial = [], []
        if type(self)._name:
            super().__init__(*args, **kwargs)
            return
        self.__dict__["_own_name"] = kwargs.get("name") or (args[0] if args else snake_case(type(self).__name__))
        self._handle = None

    def add_weight(self, shape=(), initializer="zeros", dtype=None, name=None, synchronization=None,
                   aggregation=None):
        """A variable of the state, which reset_state() sets back."""
        from .._core import Variable
        if isinstance(shape, str):
            name, shape = shape, ()
        initial = get_initializer(initializer)(shape, dtype or "float32")
        variable = Variable(initial, trainable=False, name=name or "variable")
        self._weights.append(variable)
        self._initial.append(initial)
        return variable

    def add_variable(self, shape, initializer, dtype=None, aggregation=None, name=None):
        """A variable of the state, which reset_state() sets back."""
        return self.add_weight(shape, initializer, dtype, name)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds examples."""
        self._handle.update(y_true, y_pred, sample_weight)

    def result(self):
        """The value so far."""
        return self._handle.result()

    def reset_state(self):
        """As before the first update."""
        if self._handle is not None:
            self._handle.reset_state()
        for variable, initial in zip(self._weights, self._initial):
            variable.assign(initial)

    reset_states = reset_state

    def __getattr__(self, name):
        """What it has counted, as `total` and `count` of a Mean, and what it was made with."""
        handle = self.__dict__.get("_handle") if name[:1] != "_" else None
        found = next((v for v in handle.variables if v.name == name), None) if handle is not None else None
        return super().__getattr__(name) if found is None else found

    def get_config(self):
        """What the object was made with, with Keras's keys; a class of one's own adds its own."""
        return super().get_config() if type(self)._name else {"name": self.name, "dtype": self.dtype}

    def __call__(self, *args, **kwargs):
        self.update_state(*args, **kwargs)
        return self.result()

    @property
    def variables(self):
        return self._weights + ([] if self._handle is None else list(self._handle.variables))

    weights = variables

    @property
    def name(self):
        return self.__dict__.get("_own_name") or self._handle.name

    dtype = property(lambda self: "float32")


class _OfValues(Metric):
    def update_state(self, values, sample_weight=None):
        """Adds values."""
        self._handle.update_values(values, sample_weight)


def wrap_metric(handle):
    """A metric of the library that it made itself."""
    metric = object.__new__(METRICS.get(handle.class_name, Metric))
    metric._weights, metric._initial, metric._handle = [], [], handle
    return metric


class Optimizer(Configured):
    """An optimizer of the library."""
    _kind = "optimizer"

    def __init__(self, *args, **kwargs):
        if not self._name:
            raise NotImplementedError(f"{type(self).__name__}: an optimizer of one's own derives from one of the library's, as "
                                      "SGD, and overrides apply_gradients()")
        # Keras 2 called them so.
        if "lr" in kwargs:
            kwargs["learning_rate"] = kwargs.pop("lr")
        decay = kwargs.pop("decay", 0.0)
        super().__init__(*args, **kwargs)
        if decay:
            rate = self._given.get("learning_rate", self.learning_rate)
            self._given["learning_rate"] = SCHEDULES["InverseTimeDecay"](rate, 1, decay)
            self._make()

    def finalize_variable_values(self, var_list):
        """Gives the variables, which are all that it has updated, their averages, with `use_ema`; at the end of a training."""
        if self.use_ema and len(list(var_list)) != len(self._handle.averages):
            raise ValueError(f"{self.name}: finalize_variable_values() takes all {len(self._handle.averages)} variables that were "
                             f"updated, not {len(list(var_list))}")
        self._handle.finalize_variable_values()

    def scale_loss(self, loss):
        """The loss times what keeps small gradients from becoming 0, with `loss_scale_factor`."""
        return self._handle.scale_loss(loss)

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        """Variables whose path contains one of `var_names` do not decay."""
        refuse("exclude_from_weight_decay", var_list=(var_list, None))
        self._handle.exclude_from_weight_decay(list(var_names or []))

    def set_weights(self, weights):
        """Sets all variables of the optimizer, in the order of `variables`."""
        variables = self.variables
        if len(weights) != len(variables):
            raise ValueError(f"{self.name}: set_weights() was given {len(weights)} weights for {len(variables)} variables")
        for variable, value in zip(variables, weights):
            variable.assign(value)

    def apply_gradients(self, grads_and_vars, name=None, skip_gradients_aggregation=False,
                        experimental_aggregate_gradients=True):
        """Changes variables by their gradients; takes pairs."""
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("apply_gradients: there are no gradients")
        gradients, variables = zip(*pairs)
        self._handle.apply(gradients, variables)

    def apply(self, grads, trainable_variables=None):
        """The same with two lists."""
        self._handle.apply(list(grads), list(trainable_variables))

    def build(self, variables):
        """Makes the slots now."""
        self._handle.build(list(variables))

    def minimize(self, loss, var_list, tape=None):
        """The gradient of a loss, which may be a function, and its update."""
        from .._core import GradientTape
        variables = list(var_list() if callable(var_list) else var_list)
        if callable(loss):
            with GradientTape() as tape:
                value = loss()
            loss = value
        self.apply(tape.gradient(loss, variables), variables)

    @property
    def learning_rate(self):
        """The rate of the next update, also of a schedule: a number that can be assigned to, as a variable."""
        return _Rate.of(self)

    @learning_rate.setter
    def learning_rate(self, rate):
        if isinstance(rate, LearningRateSchedule):
            raise AttributeError(f"{self.name}: a schedule is given when the optimizer is made")
        self._handle.learning_rate = float(rate)

    lr = learning_rate

    @property
    def iterations(self):
        from .._dtypes import int64
        return convert_to_tensor(self._handle.iterations, dtype=int64)

    @property
    def variables(self):
        return self._handle.variables

    @property
    def name(self):
        return self._handle.name


class _Rate(float):
    """The learning rate of an optimizer as it is now, with what programs call of Keras's variable."""

    @classmethod
    def of(cls, optimizer):
        rate = cls(optimizer._handle.learning_rate)
        rate._optimizer = optimizer
        return rate

    def numpy(self):
        return np.float32(self)

    def assign(self, value):
        """Changes the rate of the optimizer."""
        self._optimizer.learning_rate = value
        return self._optimizer.learning_rate


class _Function(Configured):
    """What is called; a class of one's own overrides `__call__`."""

    def __init__(self, *args, **kwargs):
        if self._name:
            super().__init__(*args, **kwargs)

    def _serialized(self, lent):
        is_own = not self._name or self._overrides("__call__")
        return lent.function(self) if is_own else super()._serialized(lent)

    def _make(self):
        with Lent() as lent:
            self._handle = getattr(_core, "make_" + self._kind)(super()._serialized(lent))


class LearningRateSchedule(_Function):
    """A function from the number of updates to a learning rate; a class of one's own overrides `__call__`."""
    _kind = "schedule"

    def __call__(self, step):
        """The rate after so many whole updates; of an array of counts, for a plot, that of each."""
        counts = np.asarray(step)
        rates = [self._handle.call(int(count)) for count in counts.reshape(-1)]
        return convert_to_tensor(np.reshape(rates, counts.shape).tolist())


class Initializer(_Function):
    """What makes the first value of a weight; a class of one's own overrides `__call__`."""
    _kind = "initializer"

    def __call__(self, shape, dtype=None):
        return self._handle.call(shape, dtype)


class Regularizer(_Function):
    """A penalty on weights; a class of one's own overrides `__call__`."""
    _kind = "regularizer"

    def __call__(self, x):
        return self._handle.call(x)


class Constraint(_Function):
    """What weights are brought to after an update; a class of one's own overrides `__call__`."""
    _kind = "constraint"

    def __call__(self, w):
        return self._handle.call(w)


LOSSES = _tables.make_classes("loss", Loss)
METRICS = _tables.make_classes("metric", Metric, skip=("Mean", "Sum"))
METRICS.update({n: c for n, c in _tables.make_classes("metric", _OfValues).items() if n in ("Mean", "Sum")})
OPTIMIZERS = _tables.make_classes("optimizer", Optimizer)
SCHEDULES = _tables.make_classes("schedule", LearningRateSchedule)
INITIALIZERS = _tables.make_classes("initializer", Initializer)


class _Constant(INITIALIZERS["Constant"]):
    _signature = INITIALIZERS["Constant"]._signature
    __doc__ = INITIALIZERS["Constant"].__doc__ + " An array is spread over the shape."

    def _make(self):
        value = self._given.get("value", 0.0)
        self._array = None if np.ndim(value) == 0 else np.asarray(value)
        if self._array is None:
            super()._make()

    def _serialized(self, lent):
        return super()._serialized(lent) if self._array is None else lent.function(self)

    def __call__(self, shape, dtype=None):
        if self._array is None:
            return super().__call__(shape, dtype)
        from .. import _ops
        return _ops.broadcast_to(convert_to_tensor(self._array, dtype or _core.floatx()), shape)


_Constant.__name__ = _Constant.__qualname__ = "Constant"
_Constant.__module__ = INITIALIZERS["Constant"].__module__
INITIALIZERS["Constant"] = _Constant
REGULARIZERS = _tables.make_classes("regularizer", Regularizer)
CONSTRAINTS = _tables.make_classes("constraint", Constraint)


def _named(tables, name):
    plain = name.replace("_", "").lower()
    return next((cls for key, cls in tables.items() if key.lower() == plain), None)


def _getter(tables, what, short=None):
    def get(identifier):
        """An object by its name, from a configuration, or the object itself."""
        if isinstance(identifier, type) and issubclass(identifier, Configured):
            return identifier()
        if identifier is None or isinstance(identifier, Configured) or not isinstance(identifier, (str, dict)) and (
                callable(identifier)):
            return identifier
        if isinstance(identifier, dict):
            cls = _named(tables, identifier["class_name"])
            if cls is not None:
                return cls.from_config(identifier.get("config", {}))
            identifier = identifier["class_name"]
        cls = _named(tables, (short or {}).get(identifier.lower(), identifier))
        if cls is None:
            raise ValueError(f"{what}: unknown name {identifier!r}")
        return cls()
    return get


def wrap_optimizer(handle):
    """The Python object of an optimizer that the library has made."""
    made = object.__new__(OPTIMIZERS[handle.class_name])
    made._handle, made._given = handle, handle.get_config()
    return made


get_optimizer = _getter(OPTIMIZERS, "optimizers.get")
get_initializer = _getter(INITIALIZERS, "initializers.get")
get_regularizer = _getter(REGULARIZERS, "regularizers.get")
get_constraint = _getter(CONSTRAINTS, "constraints.get")

_SHORT = {"mse": "MeanSquaredError", "mae": "MeanAbsoluteError", "mape": "MeanAbsolutePercentageError",
          "msle": "MeanSquaredLogarithmicError", "bce": "BinaryCrossentropy", "kld": "KLDivergence",
          "kl_divergence": "KLDivergence"}
get_metric = _getter(METRICS, "metrics.get", _SHORT)


def values_of(cls, given):
    """The function of a loss: one value for each example."""
    with Lent() as lent:
        config = {k: lent.value(v) for k, v in given.items()}
        handle = _core.make_loss({"class_name": cls._name, "config": {**config, "reduction": "none"}})
    return lambda y_true, y_pred: handle.call(y_true, y_pred)


def loss_functions():
    """mean_squared_error(y_true, y_pred, ...) and their like: one for each class."""
    made = {}
    for name, cls in LOSSES.items():
        made[snake_case(name)] = _loss_function(cls, snake_case(name))
    made["kl_divergence"] = _loss_function(LOSSES["KLDivergence"], "kl_divergence")
    for short, name in _SHORT.items():
        made[short] = made[snake_case(name)] if snake_case(name) in made else made["kl_divergence"]
    return made


def _loss_function(cls, name):
    cache = {}

    def function(y_true, y_pred, *args, **kwargs):
        names = [p for p in cls.__init__.__signature__.parameters if p not in ("self", "reduction", "name", "dtype")]
        options = {**dict(zip(names, args)), **kwargs}
        key = tuple(sorted(options.items()))
        if key not in cache:
            cache[key] = values_of(cls, options)
        return cache[key](y_true, y_pred)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = cls.__doc__.split("\n")[0] + " One value for each example."
    function._loss_class = cls
    return function


LOSS_FUNCTIONS = loss_functions()


def get_loss(identifier):
    """A loss by its name, or the loss itself."""
    if isinstance(identifier, str):
        cls = LOSSES.get(_SHORT.get(identifier, "")) or _named(LOSSES, identifier)
        if cls is None:
            raise ValueError(f"losses.get: unknown name {identifier!r}")
        return cls()
    if isinstance(identifier, type) and issubclass(identifier, Loss):
        return identifier()
    return identifier


def loss_handle(loss):
    loss = get_loss(loss)
    if isinstance(loss, Configured):
        return loss._handle
    if hasattr(loss, "_loss_class"):
        return loss._loss_class()._handle
    return _core.loss_of_function(lambda y, p: loss(y, p), "sum_over_batch_size")


def metric_handle(metric):
    if isinstance(metric, str):
        return _core.metric_of_name(metric)
    if isinstance(metric, Metric):
        is_own = metric._handle is None or metric._overrides("update_state", "result", "reset_state")
        return _core.metric_of_object(metric, metric.name) if is_own else metric._handle
    if isinstance(metric, type) and issubclass(metric, Metric):
        return metric_handle(metric())
    return _core.metric_of_function(lambda y, p: metric(y, p), getattr(metric, "__name__", "function"))


def activation_functions():
    """relu(x) and their like: one for each class."""
    made = {}
    for name, _, text, alias, can_make, options, defaults in _core.classes_of("activation"):
        if name == "PythonFunction":
            continue
        made[name] = _activation(name, text, {o: inspect.Parameter.empty if is_required else defaults.get(o)
                                              for o, is_required in options})
        if alias:
            made[alias] = made[name]
    return made


def _activation(name, text, options):
    cache = {}

    def function(x, *args, **kwargs):
        given = {**dict(zip(options, args)), **kwargs}
        key = tuple(sorted(given.items()))
        if key not in cache:
            cache[key] = _core.make_activation({"class_name": name, "config": given} if given else name)
        return cache[key].call(x)
    function.__name__ = function.__qualname__ = name
    function.__doc__, function._activation_name = text, name
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature(
        [inspect.Parameter("x", kind)] + [inspect.Parameter(o, kind, default=v) for o, v in options.items()])
    return function


ACTIVATIONS = activation_functions()


def get_activation(identifier):
    """An activation by its name, or the function itself; linear for None."""
    if identifier is None:
        return ACTIVATIONS["linear"]
    if isinstance(identifier, str):
        if identifier not in ACTIVATIONS:
            raise ValueError(f"activations.get: unknown name {identifier!r}")
        return ACTIVATIONS[identifier]
    return _saving.deserialize_keras_object(identifier) if isinstance(identifier, dict) else identifier


def deserialize_activation(config, custom_objects=None):
    """The activation of what serialize() gave."""
    with _saving.custom_object_scope(custom_objects):
        found = _saving.get_registered_object(config) if isinstance(config, str) else None
        return get_activation(config) if found is None else found
