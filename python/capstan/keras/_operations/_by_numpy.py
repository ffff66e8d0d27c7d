"""What NumPy computes: functions without a gradient that are asked for rarely."""
import inspect

import numpy as np

import capstan as tf

from ... import nest
from . import _rules

# Functions that NumPy has under the same name. Arguments without a default go by their place, the others by their name.
_SAME = {name: inspect.signature(function) for function, names in {
    lambda x: 0: "bartlett blackman hamming hanning corrcoef", lambda x, beta: 0: "kaiser",
    lambda x1, x2: 0: "heaviside gcd lcm ldexp", lambda indices, shape: 0: "unravel_index",
    lambda x, bins=10, range=None: 0: "histogram", lambda x, kth, axis=-1: 0: "argpartition",
    lambda x1, x2, mode="valid": 0: "correlate", lambda x1, x2, assume_unique=False, invert=False: 0: "isin",
    lambda x, axis=None, keepdims=False: 0: "nanmedian nanargmax nanargmin sum prod",
    lambda x, q, axis=None, method="linear", keepdims=False: 0: "nanpercentile nanquantile",
    lambda x, axis=None, dtype=None: 0: "nancumsum nancumprod", lambda x, N=None, increasing=False: 0: "vander",
    lambda start, stop, num=50, endpoint=True, dtype=None, axis=0: 0: "geomspace"}.items() for name in names.split()}
_NARROWER = {"uint16": "int32", "uint32": "int64", "uint64": "int64", "int8": "int32", "int16": "int32"}


def known(x):
    """An array of what a tensor holds. A function that is traced runs without a trace from then on."""
    if hasattr(x, "_value") and hasattr(x, "value"):
        x = x.value
    if isinstance(x, tf.Variable):
        x = x.read_value()
    if not isinstance(x, tf.Tensor):
        return x
    if not x.is_symbolic and x.is_row_sparse:
        x = x.to_dense()
    return (tf.cast(x, tf.float32) if x.dtype == tf.bfloat16 else x).numpy()


class by_numpy:  # noqa: N801
    """A function of NumPy, from tensors to tensors. It has no gradient. Where Keras runs on this library, what Keras's NumPy
    backend has under the name."""

    def __init__(self, module, name):
        self._module, self.__name__ = module, name
        self.__doc__ = f"As numpy.{name}; it has no gradient. A function that calls it runs without a trace."

    @property
    def is_here(self):
        """Whether there is such a function without Keras."""
        return self.__name__ in _SAME

    def __call__(self, *args, **kwargs):
        if _rules.settings.reference is not None:
            return _rules.settings.reference(self._module, self.__name__)(*args, **kwargs)
        if not self.is_here:
            raise NotImplementedError(f"keras.ops: {self.__name__} is not available with these arguments\n"
                                      "  help: KERAS_BACKEND=capstan with Keras's own package has it")
        signature = self.__signature__
        given = signature.bind(*args, **kwargs).arguments
        is_required = {name: p.default is p.empty for name, p in signature.parameters.items()}
        return numpy_results(getattr(np, self.__name__), [value for name, value in given.items() if is_required[name]],
                             {name: value for name, value in given.items() if not is_required[name]})

    @property
    def __signature__(self):
        if _rules.settings.reference is not None:
            return inspect.signature(_rules.settings.reference(self._module, self.__name__))
        return _SAME[self.__name__]


def numpy_results(function, args, kwargs):
    """What a function of NumPy makes of tensors, as tensors: floatx and int32, unless one of them is wider."""
    dtypes = [getattr(x, "dtype", None) for x in nest.flatten([args, list(kwargs.values())])]
    wide = {np.dtype(getattr(d, "as_numpy_dtype", d)).name for d in dtypes if d is not None and d != tf.bfloat16}
    result = function(*[nest.map_structure(known, x) for x in args],
                      **{key: nest.map_structure(known, value) for key, value in kwargs.items()})

    def tensor(array):
        array = np.asarray(array)
        name = _NARROWER.get(array.dtype.name, array.dtype.name)
        if name == "float64" and "float64" not in wide:
            name = _rules.floatx()
        if name == "int64" and "int64" not in wide:
            name = "int32"
        return tf.constant(array.astype(name))
    return tuple(map(tensor, result)) if isinstance(result, tuple) else tensor(result)
