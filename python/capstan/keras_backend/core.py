"""Variables, conversions, control flow and shapes of results."""
import builtins
import contextlib

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, dtypes, standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope

import capstan as tf

from ..keras._operations import _core as _ops
from ..keras._operations._core import (cond, custom_gradient, fori_loop, is_known, map, scan, switch, vectorized_map,  # noqa: F401
                               while_loop)
from ._reference import MISSING, by_numpy, is_missing, known, with_missing_dtypes

SUPPORTS_SPARSE_TENSORS = False
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_COMPLEX_DTYPES = True
IS_THREAD_SAFE = True

# A number of Python beside a float64 tensor gives float64, as on TensorFlow. Keras's other backends fall to float32.
dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"


def dtype_of(name):
    """The library's dtype for a name of Keras. Errors: TypeError where there is none."""
    name = standardize_dtype(name)
    if name == "string" or name in MISSING:
        raise TypeError(f"the backend capstan has no tensors of {name} inside of functions and variables")
    return getattr(tf, name)


# What data of a missing dtype are inside of functions; layers cast their inputs anyway.
WIDER = {"int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64",
         "float16": "float32"}


def of_data(x):
    """A part of a batch as a tensor, in a wider dtype if the library lacks its own. Errors: ValueError for an integer
    beyond int64."""
    if is_missing(x) and x.dtype.name in WIDER:
        if x.dtype.name == "uint64" and x.size and x.max() > np.iinfo("int64").max:
            raise ValueError(f"the number {x.max()} is beyond int64, the widest integer of the capstan backend")
        x = x.astype(WIDER[x.dtype.name])
    return convert_to_tensor(x)


class Variable(KerasVariable):
    def _initialize(self, value):
        if self._dtype in MISSING:
            self._value = np.array(convert_to_tensor(value, self._dtype))
        else:
            self._value = tf.Variable(convert_to_tensor(value, self._dtype), trainable=self._trainable, name=self._name)

    def _direct_assign(self, value):
        if self._dtype in MISSING:
            self._value = np.array(value)
        else:
            self._value.assign(value)

    def _convert_to_tensor(self, value, dtype=None):
        return convert_to_tensor(value, dtype=dtype)

    def numpy(self):
        return convert_to_numpy(self.value)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype)


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    if sparse or ragged:
        raise ValueError(f"`{'sparse' if sparse else 'ragged'}=True` is not supported with the capstan backend")
    if isinstance(x, Variable):
        x = x.value
    if isinstance(x, tf.Variable):
        x = x.read_value()
    if dtype is not None:
        dtype = standardize_dtype(dtype)
    if isinstance(x, tf.Tensor):
        if dtype in MISSING:
            return known(x).astype(dtype)
        wanted = x.dtype if dtype is None else dtype_of(dtype)
        return x if x.dtype == wanted else tf.cast(x, wanted)
    if dtype is None and isinstance(x, (np.ndarray, np.generic)):
        dtype = standardize_dtype(x.dtype)
    elif dtype is None:
        leaves = tree.flatten(x)
        dtype = result_type(*[getattr(item, "dtype", type(item)) for item in leaves]) if leaves else "float32"
    if dtype not in MISSING:
        dtype_of(dtype)  # refuses texts in the backend's words
        return _ops.convert_to_tensor(x, dtype)
    if isinstance(x, (list, tuple)) and any(isinstance(item, (tf.Tensor, tf.Variable, Variable))
                                            for item in tree.flatten(x)):
        return np.stack([convert_to_tensor(item, dtype) for item in x])
    return np.asarray(x).astype(dtype)


def convert_to_numpy(x):
    if isinstance(x, Variable):
        x = x.value
    if isinstance(x, tf.Tensor) and x.is_row_sparse:
        x = x.to_dense()
    if isinstance(x, (tf.Tensor, tf.Variable)):
        if x.dtype == tf.bfloat16:
            import ml_dtypes
            return tf.cast(x, tf.float32).numpy().astype(ml_dtypes.bfloat16)
        return x.numpy()
    return np.array(x)


def is_tensor(x):
    return isinstance(x, (tf.Tensor, tf.Variable)) or is_missing(x)


def shape(x):
    return tuple(x.shape)


def cast(x, dtype):
    return convert_to_tensor(x, dtype=dtype)


class _Shapes(Exception):
    """Ends a trace whose only purpose was the shapes of its results."""


def compute_output_spec(fn, *args, **kwargs):
    """Traces the function and drops the trace: nothing is computed. Open lengths are found with two traces."""
    leaves = tree.flatten((args, kwargs))
    at = [i for i, x in enumerate(leaves) if isinstance(x, KerasTensor)]

    def results(length):
        given = [tf.broadcast_to(tf.zeros([], dtype_of(WIDER.get(leaves[i].dtype, leaves[i].dtype))),
                                 [length if n is None else n for n in leaves[i].shape]) for i in at]
        found = []

        def body(*tensors):
            filled = list(leaves)
            for i, tensor in zip(at, tensors):
                filled[i] = tensor
            a, k = tree.pack_sequence_as((args, kwargs), filled)
            found.append(tree.map_structure(_form, fn(*a, **k)))
            raise _Shapes

        # What the function assigns to variables belongs to this trace alone.
        with StatelessScope(), SymbolicScope(), contextlib.suppress(_Shapes):
            tf.function(body, autograph=False)(*given)
        return found[0]

    first = results(83)
    if not any(None in leaves[i].shape for i in at):
        return tree.map_structure(lambda x: x.tensor() if isinstance(x, _Form) else x, first)
    return tree.map_structure(lambda x, y: x.tensor(y) if isinstance(x, _Form) else x, first, results(89))


class _Form:
    def __init__(self, x):
        self.shape, self.dtype = tuple(x.shape), standardize_dtype(x.dtype)

    def tensor(self, other=None):
        lengths = self.shape if other is None else tuple(
            a if a == b else None for a, b in zip(self.shape, other.shape))
        return KerasTensor(lengths, self.dtype)


def _form(x):
    if isinstance(x, Variable):
        x = x.value
    return _Form(x) if is_tensor(x) else x


associative_scan = by_numpy("core", "associative_scan")


def random_seed_dtype():
    return "int64"


@contextlib.contextmanager
def device_scope(device_name):
    yield


def remat(f):
    return tf.recompute_grad(f)


globals().update(with_missing_dtypes("core", {function.__name__: function for function in (
    _ops.scatter, _ops.scatter_update, _ops.slice, _ops.slice_update, _ops.unstack, _ops.stop_gradient)}))
