"""Constants and conversions."""
import numpy as np

from . import _core, _dtypes
from ._core import Tensor, Variable


def constant(value, dtype=None, shape=None, name=None):
    """A tensor of numbers, lists, an array or a tensor; `shape` reshapes them, or repeats a single one."""
    tensor = _converted(value, dtype, dtype is not None)
    if shape is None:
        return tensor
    shape = dims(shape)
    if list(tensor.shape) == shape:
        return tensor
    if tensor.shape.num_elements() == 1:
        return _core_ops()["broadcast_to"](_core_ops()["reshape"](tensor, [1] * len(shape)), shape)
    return _core_ops()["reshape"](tensor, shape)


def convert_to_tensor(value, dtype=None, dtype_hint=None, name=None, preferred_dtype=None):
    """A tensor of anything that can become one; with `dtype` of that dtype, or an error."""
    if isinstance(value, (Tensor, Variable)):
        if dtype is not None and value.dtype != dtype:
            raise ValueError(f"convert_to_tensor: a tensor of {value.dtype.name} is asked for as "
                             f"{_dtypes.as_dtype(dtype).name}; convert it with tf.cast")
        return value if isinstance(value, Tensor) else value.value()
    if dtype is not None:
        return _converted(value, dtype, True)
    hint = dtype_hint if dtype_hint is not None else preferred_dtype
    if hint is not None:
        try:
            return _core.convert(value, hint, False)
        except (TypeError, ValueError):
            pass
    return _converted(value, None, False)


def _converted(value, dtype, must):
    """What the library makes of a value, or of str and bytes texts, which it does not have."""
    try:
        return _core.convert(value, dtype, must)
    except (TypeError, ValueError):
        from ._texts import texts_of
        found = texts_of(value) if dtype is None or dtype == _dtypes.string else None
        if found is None:
            raise
        return found


def asarray(value, dtype=None, copy=None):
    """A tensor of an array. With `copy=False` it shares the array's memory, which must not be written to while the
    tensor lives; an array that is not contiguous, or has another dtype, cannot be shared."""
    if copy is not False or is_tensor(value):
        return convert_to_tensor(value, dtype=dtype)
    tensor = _core.share(np.asarray(value))
    if dtype is not None and tensor.dtype != dtype:
        raise ValueError(f"asarray: an array of {tensor.dtype.name} cannot be shared as {_dtypes.as_dtype(dtype).name}")
    return tensor


def from_dlpack(x):
    """A tensor over the memory of another library's, which must not be written to while the tensor lives."""
    return _core.share(np.from_dlpack(x))


def dims(shape):
    """A list of integers of whatever a shape is given as."""
    from ._known import known
    return _core.to_shape(known(shape))


def is_tensor(x):
    """Whether x is a tensor or a variable."""
    return isinstance(x, (Tensor, Variable))


def refuse(function, **given):
    """Raises for an argument with a value that the function does not have: `name=(value, what it may be, ...)`."""
    for name, (value, *allowed) in given.items():
        if not any(value is a or type(value) is type(a) and value == a for a in allowed):
            raise ValueError(f"{function}: {name}={value!r} is not supported; it may be "
                             f"{' or '.join(map(repr, allowed))}")


def get_static_value(tensor, partial=False):
    """The elements as an array, None if they are not known while a function is traced."""
    if isinstance(tensor, Tensor) and tensor.is_symbolic:
        return None
    return np.asarray(tensor)


def unpickle_tensor(array, dtype):
    return _core.convert(array, dtype, True)


def unpickle_variable(array, dtype, name, trainable):
    return Variable(array, dtype=dtype, name=name, trainable=trainable)


class IndexedSlices:
    """Rows of a tensor: what a gradient that is row-sparse is made of, and what becomes a tensor wherever one is
    wanted."""

    def __init__(self, values, indices, dense_shape=None):
        self.values, self.indices, self.dense_shape = values, indices, dense_shape

    dtype = property(lambda self: self.values.dtype)
    shape = property(lambda self: _core.TensorShape(np.asarray(self.dense_shape)))

    def __capstan_tensor__(self):
        if self.dense_shape is None:
            raise ValueError("IndexedSlices: it has no dense_shape, so no tensor can be made of it")
        return _core_ops()["unsorted_segment_sum"](self.values, self.indices, int(np.asarray(self.dense_shape)[0]))

    def __repr__(self):
        return f"IndexedSlices(indices={self.indices!r}, values={self.values!r}, dense_shape={self.dense_shape!r})"


class TensorSpec:
    """What is known of a tensor before there is one: dtype and lengths, which may be None."""

    def __init__(self, shape, dtype=_dtypes.float32, name=None):
        self.shape = None if shape is None else _core.TensorShape(shape)
        self.dtype, self.name = _dtypes.as_dtype(dtype), name

    @classmethod
    def from_tensor(cls, tensor, name=None):
        return cls(tensor.shape, tensor.dtype, name)

    def is_compatible_with(self, other):
        other = other if isinstance(other, TensorSpec) else TensorSpec.from_tensor(convert_to_tensor(other))
        return self.dtype == other.dtype and (self.shape is None or self.shape.is_compatible_with(other.shape))

    def __eq__(self, other):
        return isinstance(other, TensorSpec) and (self.shape, self.dtype, self.name) == (
            other.shape, other.dtype, other.name)

    def __hash__(self):
        return hash((self.shape, self.dtype.name, self.name))

    def __repr__(self):
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


def _core_ops():
    from . import _ops
    return _ops.OPS


class TensorReference:
    """A key for dictionaries that stands for one tensor or variable: what `ref()` gives."""
    __slots__ = ("_object",)

    def __init__(self, obj):
        self._object = obj

    def deref(self):
        return self._object

    def __hash__(self):
        return hash(self._object._id)

    def __lt__(self, other):
        return self._object._id < other._object._id

    def __eq__(self, other):
        return isinstance(other, TensorReference) and self._object._id == other._object._id


def _set_shape(self, shape):
    """Raises unless the tensor can have this shape, whose lengths may be None."""
    if not self.shape.is_compatible_with(shape):
        raise ValueError(f"Shapes {tuple(self.shape)} and {tuple(shape)} are incompatible")


def _ref(self):
    """What can be a key of a dict: two are equal if they are of the same object."""
    return TensorReference(self)


def _get_shape(self):
    """The shape."""
    return self.shape


def _eval(self, session=None):
    """The value as an array."""
    return self.numpy()


for _type in (Tensor, Variable):
    _type.ref = _type.experimental_ref = _ref
    _type.get_shape = _get_shape
    _type.set_shape = _set_shape
    _type.device = property(lambda self: "/job:localhost/replica:0/task:0/device:CPU:0")
    _type.eval = _eval


def _dense_shape(self):
    if not self.is_row_sparse:
        raise AttributeError("dense_shape: this tensor is dense")
    return _core.convert(list(self.shape), _dtypes.int64, True)


Tensor.dense_shape = property(_dense_shape)
Tensor.name = property(lambda self: _core.layer_name_of(self) or "tensor")
Tensor._shape_tuple = lambda self: tuple(self.shape)
Variable.handle = property(lambda self: self)


def _initialized_value(self):
    """The value now."""
    return self.value()


def _sparse_read(self, indices, name=None):
    """The rows of these numbers."""
    return _core_ops()["gather"](self, indices)


def _gather_nd(self, indices, name=None):
    """The slices at these places."""
    return _core_ops()["gather_nd"](self, indices)


Variable.initialized_value, Variable.sparse_read, Variable.gather_nd = _initialized_value, _sparse_read, _gather_nd


def _scatter(method):
    def scatter(self, sparse_delta, use_locking=False, name=None):
        return getattr(self, method)(sparse_delta.indices, sparse_delta.values)
    scatter.__name__ = scatter.__qualname__ = method[1:]
    scatter.__doc__ = "Changes the rows that tf.IndexedSlices name: " + method[9:] + "."
    return scatter


for _name in ("scatter_add", "scatter_sub", "scatter_update"):
    setattr(Variable, _name, _scatter("_" + _name))


def _scatter_by(name, op, text):
    def scatter(self, sparse_delta, use_locking=False, name=None):
        places = convert_to_tensor(sparse_delta.indices)
        return self.assign(_core_ops()[op](self, _core_ops()["expand_dims"](places, -1), sparse_delta.values))
    scatter.__name__ = scatter.__qualname__ = name
    scatter.__doc__ = f"The rows that tf.IndexedSlices name become {text}."
    setattr(Variable, name, scatter)


_scatter_by("scatter_max", "tensor_scatter_nd_max", "the larger of themselves and the values, element by element")
_scatter_by("scatter_min", "tensor_scatter_nd_min", "the smaller of themselves and the values, element by element")


def item_assigner(variable, key):
    """What `v[key].assign` is: a function that changes these elements of the variable."""
    def assign(value, name=None, read_value=True):
        """Changes these elements of the variable to `value`, which is broadcast to their shape, and gives the variable."""
        del read_value  # in any case
        ops = _core_ops()
        lengths = list(variable.shape)
        numbers = convert_to_tensor(np.arange(int(np.prod(lengths, dtype=int))).reshape(lengths))[key]
        value = ops["broadcast_to"](convert_to_tensor(value, dtype=variable.dtype), numbers.shape)
        flat = ops["tensor_scatter_nd_update"](ops["reshape"](variable, [-1]), ops["reshape"](numbers, [-1, 1]),
                                               ops["reshape"](value, [-1]))
        return variable.assign(ops["reshape"](flat, variable.shape))
    return assign
