"""Classes made from the library's tables of options.

One function makes all classes of a kind: signature, docstring and defaults are those of the table, and so are the
checks. What is not given is left out of the configuration, so that defaults are the library's alone.
"""
import inspect
import itertools
import os
import warnings

from .. import _core
from .._dtypes import DType
from ._config import DTypePolicy
from . import _order, _saving

_ORDER = _order.read()
_SHARED = {
    "layer": ("name", "trainable", "dtype"),
    "optimizer": ("weight_decay", "clipnorm", "clipvalue", "global_clipnorm", "use_ema", "ema_momentum",
                  "ema_overwrite_frequency", "loss_scale_factor", "gradient_accumulation_steps", "name"),
    "loss": ("reduction", "name", "dtype"),
    "metric": ("name", "dtype"),
    "schedule": ("name",),
}
_MODULES = {kind: f"capstan.keras.{kind}s" for kind in ("layer", "loss", "metric", "optimizer", "initializer",
                                                        "regularizer", "constraint", "callback")}
_MODULES.update(schedule="capstan.keras.optimizers.schedules", loss="capstan.keras.losses")
# What Keras takes besides the table, by kind or class.
_EXTRA = {"layer": ("input_shape", "input_dim", "batch_size", "batch_input_shape", "autocast"), "Embedding": ("weights",)}
# What stands for something that the library does not have, by class: the values that do without it, the default first.
_LORA = {"lora_rank": (None,), "lora_alpha": (None,), "quantization_config": (None,)}
_ATTENTION = {"sliding_window": (None,), "flash_attention": (None, False), "use_gate": (False,)}
UNUSED = {"Dense": _LORA, "EinsumDense": _LORA | {"gptq_unpacked_column_size": (None,)}, "Embedding": _LORA,
          "MultiHeadAttention": _ATTENTION, "GroupQueryAttention": _ATTENTION, "GRU": {"use_cudnn": ("auto", False)}, "LSTM": {"use_cudnn": ("auto", False)}}
# What Keras took under other names, and what it takes and does not use, which have no name here.
_BEFORE = {"LeakyReLU": {"alpha": "negative_slope"}, "Embedding": {"input_length": None}}
_BEFORE |= {name: {"implementation": None} for name in ("LSTM", "GRU", "LSTMCell", "GRUCell")}
# Texts that may be in capitals.
_IN_ANY_CASE = ("padding", "data_format", "interpolation")
# Options that are the default if they are None.
_DEFAULT_IF_NONE = ("name", "dtype", "data_format")


def snake_case(name):
    """Keras's rule: max_pooling2d for MaxPooling2D."""
    import re
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


class OptionError(TypeError, ValueError):
    """An option that a class does not have, or that it needs: a TypeError, as for functions, and Keras's ValueError."""


class Lent:
    """Functions and layers of Python in a configuration: lent under a key while an object is made of it."""

    def __init__(self):
        self.keys = []

    def __enter__(self):
        return self

    def __exit__(self, *args):
        for key in self.keys:
            _core.take_back(key)

    def _lend(self, class_name, value, **more):
        key = os.urandom(16).hex()
        _core.lend(key, value)
        self.keys.append(key)
        return {"class_name": class_name, "config": {"key": key, **more}}

    def function(self, f):
        return self._lend("PythonFunction", f, function=_saving.name_of_function(f))

    def value(self, value):
        """What an option is in a configuration."""
        if isinstance(value, Configured):
            return value._serialized(self)
        if isinstance(value, (DType, DTypePolicy)):
            return value.name
        if getattr(value, "_is_own_class", False):
            value._ensure_handle()
            return self._lend("PythonLayer", value)
        if hasattr(value, "_handle") and hasattr(value._handle, "serialize"):
            return value._handle.serialize()
        if isinstance(value, type) and issubclass(value, Configured):
            return value()._serialized(self)
        if isinstance(value, (list, tuple)) and not isinstance(value, _core.TensorShape):
            return [self.value(v) for v in value]
        if callable(value):
            name = getattr(value, "__name__", "")
            if getattr(value, "_activation_name", None):
                return value._activation_name
            if type(value).__name__ == "builtin_function_or_method" and name in KNOWN_ACTIVATIONS:
                return name
            return self.function(value)
        return value


KNOWN_ACTIVATIONS = {name for name, *_ in _core.classes_of("activation")}


def as_object(option, value):
    """What an attribute gives for an option: initializers and their kin are objects, however they were given."""
    kind = option.rpartition("_")[2]
    if value is None or kind not in ("initializer", "regularizer", "constraint"):
        return value
    from . import _objects
    return getattr(_objects, "get_" + kind)(value)


class Configured:
    """An object of a class of the library that has a configuration."""
    _kind = _name = ""

    def __init__(self, *args, **kwargs):
        self._given = self._bind(args, kwargs)
        self._make()

    @classmethod
    def _overrides(cls, *names):
        """Whether a class of the program has one of these methods in place of the library's class that it derives from."""
        made = next((c for c in cls.__mro__ if "_signature" in vars(c)), cls)
        return any(getattr(cls, name) is not getattr(made, name) for name in names)

    def __getattr__(self, name):
        """What the object was made with: optimizer.momentum, loss.reduction."""
        if name in self.__dict__.get("_given", ()):
            return as_object(name, self._given[name])
        parameter = self._signature.parameters.get(name) if self._name and name[:1] != "_" else None
        if parameter is None or parameter.default is parameter.empty:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return as_object(name, parameter.default)

    def __setattr__(self, name, value):
        if self._is_option(name):
            raise AttributeError(f"{type(self).__name__}: the option {name!r} is fixed when the object is made\n  help: make "
                                 "another one with it")
        object.__setattr__(self, name, value)

    def _is_option(self, name):
        """Whether this is an option that the library's object, which is there, was made with."""
        return bool(self._name) and "_handle" in self.__dict__ and name in self._signature.parameters and not isinstance(
            getattr(type(self), name, None), property)

    @classmethod
    def _bind(cls, args, kwargs):
        for before, now in _BEFORE.get(cls._name, {}).items():
            if before in kwargs:
                value = kwargs.pop(before)
                warnings.warn(f"{cls._name}: {before!r} is " + (f"called {now!r}" if now else "not used"), stacklevel=4)
                kwargs |= {now: value} if now else {}
        try:
            bound = cls._signature.bind(None, *args, **kwargs)
        except TypeError as error:
            raise OptionError(f"{cls._name}: {error}") from None
        return {k: v.lower() if k in _IN_ANY_CASE and isinstance(v, str) else v for k, v in bound.arguments.items()
                if k != "self" and not (v is None and k in _DEFAULT_IF_NONE)}

    def _config(self, lent):
        return {k: lent.value(v) for k, v in self._given.items()}

    def _serialized(self, lent):
        return {"class_name": self._name, "config": self._config(lent)}

    def _make(self):
        with Lent() as lent:
            self._handle = getattr(_core, "make_" + self._kind)(self._serialized(lent))

    def get_config(self):
        """What the object was made with, with Keras's keys."""
        if hasattr(self._handle, "get_config"):
            return self._handle.get_config()
        return {k: v for k, v in self._given.items()}

    @classmethod
    def from_config(cls, config):
        """An object of what get_config() gave."""
        known = inspect.signature(cls.__init__).parameters
        takes_all = any(p.kind is p.VAR_KEYWORD for p in known.values())
        return cls(**{k: v for k, v in config.items() if takes_all or k in known})

    def __reduce__(self):
        return _rebuild, (type(self), self._given)

    def __repr__(self):
        options = ", ".join(f"{k}={v!r}" for k, v in self._given.items())
        return f"<{type(self).__name__}({options})>"


def _rebuild(cls, given):
    return cls(**given)


def _default(value):
    """A default as a signature shows it: an object of which every option is its class's default by its name."""
    if isinstance(value, dict) and set(value) >= {"class_name", "config"}:
        return snake_case(value["class_name"]) if value["config"] in ({}, _plain.get(value["class_name"])) else value
    return tuple(value) if isinstance(value, list) else value


# What initializers, regularizers and constraints are without a configuration.
_plain = {row[0]: row[6] for kind in ("initializer", "regularizer", "constraint") for row in _core.classes_of(kind)}


def _signature(kind, name, options, defaults):
    required = [o for o, is_required in options if is_required]
    optional = [o for o, is_required in options if not is_required]
    shared = [s for s in _SHARED.get(kind, ())]
    unused = UNUSED.get(name, {}) if kind == "layer" else {}
    own = [o for o in itertools.chain(optional, _EXTRA.get(name, ()), unused) if o not in shared]
    wanted = _ORDER.get((kind, name), [])
    if kind == "optimizer" and not wanted:
        wanted = ["learning_rate"]
    order = [o for o in wanted if o in required + own + shared]
    order += [o for o in itertools.chain(required, own) if o not in order]
    # Required ones first, as a signature has them.
    order.sort(key=lambda o: o not in required)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    empty = inspect.Parameter.empty
    defaults = {"trainable": True, "reduction": "sum_over_batch_size"} | {k: _default(v) for k, v in defaults.items()}
    defaults |= {option: None for option in _DEFAULT_IF_NONE} | {option: values[0] for option, values in unused.items()}
    for option in order:
        default = empty if option in required else defaults.get(option)
        parameters.append(inspect.Parameter(option, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    taken = set(order)
    style = inspect.Parameter.KEYWORD_ONLY if kind == "layer" else inspect.Parameter.POSITIONAL_OR_KEYWORD
    for option in itertools.chain(shared, _EXTRA.get(kind, ())):
        if option in taken:
            continue
        if kind in _SHARED or option in optional:
            parameters.append(inspect.Parameter(option, style, default=defaults.get(option)))
    return inspect.Signature(parameters)


_options = {}


def options_of(kind, name):
    """The options of a class as pairs: the name, and whether it must be given."""
    if kind not in _options:
        _options[kind] = {row[0]: row[5] for row in _core.classes_of(kind)}
    return _options[kind][name]


def make_classes(kind, base, skip=(), bases=None):
    """All classes of a kind, by their names; `base` is the Python class that they derive from, but those in `bases`."""
    made = {}
    for name, module, text, alias, can_make, options, defaults in _core.classes_of(kind):
        if not can_make or name in skip or name == "PythonFunction":
            continue
        made[name] = _make_class(kind, (bases or {}).get(name, base), name, text, options, defaults)
        if alias:
            made[alias] = made[name]
    return made


def _make_class(kind, base, name, text, options, defaults):
    signature = _signature(kind, name, options, defaults)

    def __init__(self, *args, **kwargs):
        base.__init__(self, *args, **kwargs)
    __init__.__signature__ = signature
    __init__.__qualname__ = f"{name}.__init__"
    listed = "\n".join(f"    {p}" for p in list(signature.parameters.values())[1:])
    return type(name, (base,), {
        "__init__": __init__, "__doc__": f"{text}\n\nOptions:\n{listed}", "_kind": kind, "_name": name, "_signature": signature,
        "__module__": _MODULES[kind], "__qualname__": name})
