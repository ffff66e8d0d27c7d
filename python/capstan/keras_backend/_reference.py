"""What Keras's NumPy backend computes for this one: functions without a gradient that are asked for rarely, and everything
of the dtypes that the library does not have. Tensors of these dtypes are arrays of NumPy.
"""
import functools
import importlib
import inspect
import types

import numpy as np
from keras.src import tree
from keras.src.backend import config

import capstan as tf

from ..keras._operations import _rules

# Names of Keras for which there is no dtype of the library.
MISSING = frozenset("int8 int16 int4 uint16 uint32 uint64 float16 float8_e4m3fn float8_e5m2".split())


def is_missing(x):
    """Whether x is an array that stands for a tensor of a dtype that the library lacks."""
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.name in MISSING


def known(x):
    """An array of what a tensor holds. A function that is traced runs without a trace from then on."""
    if isinstance(x, tf.Tensor):
        if x.is_symbolic:
            x.numpy()  # raises what ends the trace
        from .core import convert_to_numpy
        return convert_to_numpy(x)
    if hasattr(x, "_value") and hasattr(x, "numpy"):
        return x.numpy()
    return x


def _tensor(x):
    from .core import convert_to_tensor
    return convert_to_tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x


@functools.cache
def _module(name):
    """A module of Keras's NumPy backend. Python binds the package to the name under which Keras looks for our functions."""
    from keras.src import backend
    ours = backend.numpy
    found = importlib.import_module(f"keras.src.backend.numpy.{name}")
    backend.numpy = ours
    if hasattr(found, "draw_seed"):  # seeds are tensors of this backend
        draw_seed = found.draw_seed
        found.draw_seed = lambda seed: known(draw_seed(seed))
    return found


class by_numpy:  # noqa: N801
    """The function of Keras's NumPy backend, from tensors to tensors. See keras.ops; it has no gradient."""

    def __init__(self, module, name):
        self._module, self.__name__ = module, name

    @property
    def _function(self):
        return getattr(_module(self._module), self.__name__)

    def __call__(self, *args, **kwargs):
        args, kwargs = tree.map_structure(known, (list(args), kwargs))
        return tree.map_structure(_tensor, self._function(*args, **kwargs))

    @property
    def __signature__(self):
        return inspect.signature(self._function)


def _asks_for_missing(value):
    if isinstance(value, (list, tuple)):
        return any(_asks_for_missing(v) for v in value)
    if isinstance(value, str):
        return value in MISSING
    if hasattr(value, "_value"):  # a variable, whose dtype follows the policy of the layer
        return value.dtype in MISSING
    return is_missing(value) or isinstance(value, type) and value.__name__ in MISSING or (
        isinstance(value, np.dtype) and value.name in MISSING)


def with_missing_dtypes(module, functions):
    """The functions, computed by NumPy where an argument is, or names, a dtype that is missing."""
    def dispatching(function, other):
        @functools.wraps(function)
        def dispatched(*args, **kwargs):
            if any(map(_asks_for_missing, args)) or any(map(_asks_for_missing, kwargs.values())):
                return other(*args, **kwargs)
            return function(*args, **kwargs)
        return dispatched
    return {name: dispatching(function, by_numpy(module, name)) for name, function in functions.items()}


def share(module, ours, names):
    """Puts what a module of capstan/keras/_operations has into the namespace of the backend's."""
    for name, value in vars(ours).items():
        if name.startswith("__"):
            continue
        is_own = isinstance(value, types.FunctionType) and value.__module__ == ours.__name__
        if is_own and not name.startswith("_"):
            value = with_missing_dtypes(module, {name: value})[name]
        names[name] = value


_rules.settings.reference = by_numpy
_rules.settings.floatx, _rules.settings.epsilon = config.floatx, config.epsilon
_rules.settings.image_data_format = config.image_data_format
