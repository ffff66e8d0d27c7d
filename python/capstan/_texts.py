"""Texts as tensors: dtype tf.string. They are arrays of bytes of Python's; ops that move elements and those of tf.strings
take them, outside of traced functions. A function that is given texts runs without a trace."""
import builtins
import os

import numpy as np

from . import _core, _dtypes
from ._convert import convert_to_tensor
from ._core import Tensor, TensorShape, Variable

string = _dtypes.string


class TextTensor:
    """Texts of a shape, each a string of bytes: what `tf.constant` makes of str and bytes. `numpy()` is one bytes object,
    or an array of them."""
    __slots__ = ("_array", "__weakref__")
    __array_priority__ = 100
    __hash__ = None
    is_symbolic = False
    dtype = string
    device = "CPU:0"
    name = ""

    def __init__(self, array):
        self._array = array

    shape = property(lambda self: TensorShape(self._array.shape))
    ndim = property(lambda self: self._array.ndim)

    def get_shape(self):
        return self.shape

    def numpy(self):
        """The texts: bytes, or an array of objects that are bytes."""
        return self._array[()] if self._array.ndim == 0 else self._array.copy()

    def __array__(self, dtype=None, copy=None):
        array = self._array if dtype is None else self._array.astype(dtype)
        return array.copy() if copy else array

    def __reduce__(self):
        return TextTensor, (self._array,)

    def __repr__(self):
        return f"<tf.Tensor: shape={tuple(self.shape)}, dtype=string, numpy={self.numpy()!r}>"

    def __str__(self):
        text = repr(self.numpy()) if self._array.ndim == 0 else builtins.str(self._array)
        return f"tf.Tensor({text}, shape={tuple(self.shape)}, dtype=string)"

    def __fspath__(self):
        if self._array.ndim != 0:
            raise TypeError(f"one file name is needed, not {tuple(self.shape)}")
        return os.fsdecode(self._array[()])

    def __len__(self):
        if self._array.ndim == 0:
            raise TypeError("Scalar tensor has no `len()`")
        return len(self._array)

    def __iter__(self):
        if self._array.ndim == 0:
            raise TypeError("Cannot iterate over a scalar tensor")
        return (TextTensor(_array_of(row)) for row in self._array)

    def __getitem__(self, key):
        return TextTensor(_array_of(self._array[_index(key)]))

    def __eq__(self, other):
        other = texts_of(other)
        return NotImplemented if other is None else _equal(self, other)

    def __ne__(self, other):
        other = texts_of(other)
        return NotImplemented if other is None else ~_equal(self, other)

    def __add__(self, other):
        return joined([self, other], function="add")

    def __radd__(self, other):
        return joined([other, self], function="add")

    def __bool__(self):
        raise TypeError("a text is no truth value; compare it with another one")


def _array_of(value):
    """An array of objects of what indexing an array of them gives."""
    if isinstance(value, np.ndarray):
        return value
    array = np.empty((), dtype=object)
    array[()] = value
    return array


def _index(key):
    items = key if isinstance(key, tuple) else (key,)
    return tuple(item.numpy() if isinstance(item, (Tensor, Variable)) else item for item in items)


def _equal(a, b):
    return _core.convert(np.asarray(a._array == b._array, bool), None, False)


def as_bytes(text):
    """One text as bytes: str is written as UTF-8."""
    return text.encode() if isinstance(text, builtins.str) else bytes(text)


def _is_text(value):
    return isinstance(value, (builtins.str, bytes, np.str_, np.bytes_))


_MOST_AXES = 8


def texts_of(value):
    """The texts that a value is, None if it is none: a str, bytes, an array or nested lists of them, or texts."""
    if isinstance(value, TextTensor):
        return value
    if _is_text(value):
        return TextTensor(_array_of(as_bytes(value)))
    if isinstance(value, (list, tuple)):
        first = value
        for _ in range(_MOST_AXES):  # a list may contain itself
            if isinstance(first, (list, tuple)) and first:
                first = first[0]
        if not (isinstance(first, TextTensor) or _is_text(first)):
            return None
        items = [texts_of(item) for item in value]
        if any(item is None for item in items):
            raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
        if any(item._array.shape != items[0]._array.shape for item in items):
            raise ValueError("Can't convert non-rectangular Python sequence to Tensor.")
        return TextTensor(_stack([item._array for item in items], 0))
    if hasattr(value, "__array__") and not isinstance(value, (Tensor, Variable)) and np.asarray(value).dtype.kind in "USO":
        array = np.asarray(value)  # of NumPy, or a column of a table
        made = np.empty(array.shape, dtype=object)
        for at in np.ndindex(array.shape):
            if not _is_text(array[at]):
                return None
            made[at] = as_bytes(array[at])
        return TextTensor(made)
    return None


def texts_or_tensor(value):
    """The texts that a value is, or the tensor."""
    found = texts_of(value)
    return found if found is not None else convert_to_tensor(value)


def need_texts(value, function):
    """The texts that a value is; a TypeError for anything else."""
    found = texts_of(value)
    if found is None:
        raise TypeError(f"{function}: {value!r} is no text")
    return found


def mapped(texts, function, dtype=None):
    """What a function makes of each text: texts, or numbers of a dtype."""
    array = texts._array
    made = np.empty(array.shape, dtype=object if dtype is None else dtype)
    for at in np.ndindex(array.shape):
        made[at] = function(array[at])
    return TextTensor(made) if dtype is None else _core.convert(made, None, False)


def joined(inputs, separator=b"", function="join"):
    """Texts that broadcast against each other, one after the other."""
    arrays = np.broadcast_arrays(*[need_texts(t, function)._array for t in inputs])
    made = np.empty(arrays[0].shape, dtype=object)
    for at in np.ndindex(made.shape):
        made[at] = separator.join(a[at] for a in arrays)
    return TextTensor(made)


# --- Ops that move elements ---

def _stack(arrays, axis):
    return np.stack(arrays, axis) if arrays else np.empty(0, dtype=object)


def _numbers(value):
    return [int(n) for n in np.atleast_1d(np.asarray(value))]


def _axis_argument(given, default=None):
    axis = given.get("axis")
    return default if axis is None else int(axis)


def _gather(given):
    axis = _axis_argument(given)
    if int(given.get("batch_dims") or 0) != 0:
        raise ValueError("gather: texts have no batch_dims")
    array, indices = need_texts(given["params"], "gather")._array, np.asarray(given["indices"])
    axis = 0 if axis is None else axis
    if indices.size and (indices.min() < 0 or indices.max() >= array.shape[axis]):
        raise _core.IndexError_(f"gather: an index is not from 0 to {array.shape[axis] - 1}")
    return np.take(array, indices, axis)


def _where(given):
    return np.where(np.asarray(given["condition"]), need_texts(given["x"], "where")._array,
                    need_texts(given["y"], "where")._array)


_MOVES = {
    "identity": lambda given, x: x,
    "reshape": lambda given, x: x.reshape(_numbers(given["shape"])),
    "expand_dims": lambda given, x: np.expand_dims(x, _axis_argument(given, 0)),
    "squeeze": lambda given, x: np.squeeze(x, None if given.get("axis") in (None, []) else tuple(_numbers(given["axis"]))),
    "tile": lambda given, x: np.tile(x, _numbers(given["multiples"])),
    "transpose": lambda given, x: np.transpose(x, None if given.get("perm") is None else _numbers(given["perm"])),
    "reverse": lambda given, x: np.flip(x, tuple(_numbers(given["axis"]))),
    "broadcast_to": lambda given, x: np.broadcast_to(x, _numbers(given["shape"])),
}
_LENGTHS = {"shape": lambda x: np.asarray(x.shape, np.int32), "size": lambda x: np.int32(x.size),
            "rank": lambda x: np.int32(x.ndim)}
_FIRST = ("input", "tensor", "x", "a")


def call_op(name, given):
    """An op on texts; `given` has its arguments by name. Raises TypeError for one that takes no texts."""
    if name in ("stack", "concat"):
        arrays = [need_texts(v, name)._array for v in given.get("values")]
        axis = _axis_argument(given, 0)
        return TextTensor(_stack(arrays, axis) if name == "stack" else np.concatenate(arrays, axis))
    if name == "gather":
        return TextTensor(_array_of(_gather(given)))
    if name == "where":
        return TextTensor(_array_of(_where(given)))
    if name in ("equal", "not_equal"):
        a, b = (need_texts(given[k], name) for k in ("x", "y"))
        return a == b if name == "equal" else a != b
    first = next((given[k] for k in _FIRST if k in given), None)
    if name in _MOVES:
        return TextTensor(_array_of(_MOVES[name](given, need_texts(first, name)._array)))
    if name in _LENGTHS:
        return _core.convert(_LENGTHS[name](need_texts(first, name)._array), given.get("out_type"), True)
    if name == "unstack":
        rows = np.moveaxis(need_texts(given["value"], name)._array, _axis_argument(given, 0), 0)
        return [TextTensor(_array_of(row)) for row in rows]
    if name == "boolean_mask":
        return TextTensor(need_texts(first, name)._array[np.asarray(given["mask"])])
    raise TypeError(f"{name}: an argument is a text, which has no number; tf.strings has what texts can do")


def texts_from_parts(parts, shape=(-1,)):
    """Texts of a list of bytes, row by row, and their shape."""
    made = np.empty(len(parts), dtype=object)
    made[:] = parts
    return TextTensor(made.reshape(shape))


def tensor_from_values(values, shape, dtype):
    """Texts of a list of bytes, or a tensor of a list of numbers, row by row."""
    if dtype == string:
        return texts_from_parts(values, shape)
    return convert_to_tensor(np.asarray(values, dtype.as_numpy_dtype).reshape(shape), dtype=dtype)


def stacked(items):
    """Texts of one shape as rows: what batches of datasets are."""
    return TextTensor(_stack([need_texts(item, "batch")._array for item in items], 0))


_core.set_texts(TextTensor, texts_from_parts)
