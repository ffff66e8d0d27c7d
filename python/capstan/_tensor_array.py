"""tf.TensorArray: tensors of one dtype by number, which loops write and read."""
from . import _core, _ops
from ._convert import convert_to_tensor, is_tensor, refuse
from ._core import TensorShape
from ._dtypes import as_dtype
from ._modules import errors


class TensorArray:
    """Tensors of one dtype by number: `write` and `read` one, `stack`, `concat` or `gather` them, `unstack` a tensor.

    Outside of functions `write` changes the array, as in TensorFlow; within one it gives a new array and leaves the old
    one as it was. A loop or a branch whose condition is a tensor carries an array as one tensor: then it has a fixed
    `size`, and its elements one shape; what was not written is zero.

        squares = tf.TensorArray(tf.float32, size=3)
        for i in range(3):
            squares = squares.write(i, tf.cast(i * i, tf.float32))
        squares.stack()         # [0., 1., 4.]
    """

    def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None,
                 flow=None, infer_shape=True, element_shape=None, colocate_with_first_write_call=True, name=None):
        refuse("TensorArray", handle=(handle, None), flow=(flow, None))
        count = 0 if size is None else _number("TensorArray", "size", size)
        if count < 0:
            raise ValueError(f"TensorArray: size must be at least 0, not {count}")
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._clears = clear_after_read is None or bool(clear_after_read)
        self._infers = bool(infer_shape)
        self._element_shape = None if element_shape is None else TensorShape(element_shape)
        self._items = [None] * count   # None: not written, or read; unused where there is a buffer
        self._cleared = set()
        self._buffer = None            # [size, ...]

    dtype = property(lambda self: self._dtype, doc="The dtype of the elements.")
    dynamic_size = property(lambda self: self._dynamic, doc="Whether a write beyond the end makes the array longer.")
    element_shape = property(lambda self: self._element_shape, doc="The shape of the elements; None if it is not known.")
    handle = property(lambda self: None, doc="None.")

    @property
    def flow(self):
        """A tensor without meaning, as outside of graphs in TensorFlow."""
        return convert_to_tensor(0.0)

    def __repr__(self):
        return f"<tf.TensorArray: size={self.count()}, dtype={self._dtype.name}, element_shape={self._element_shape}>"

    # --- What loops and branches carry ---

    def opened(self, shape=None):
        """The elements as one tensor; None as long as their shape is not known. `shape` is theirs if there are none."""
        if self._buffer is not None:
            return self._buffer
        if shape is not None and self._element_shape is None:
            return _ops.zeros([len(self._items)] + list(shape), self._dtype)
        if not self._has_shape():
            return None
        if not self._items:
            return self._zeros([0])
        return _ops.stack([self._zeros() if item is None else item for item in self._items])

    def with_tensor(self, tensor):
        """An array of the same kind with the rows of a tensor as elements."""
        made = self._copy()
        made._items, made._buffer, made._element_shape = [], tensor, TensorShape(list(tensor.shape)[1:])
        return made

    def count(self):
        """The number of elements."""
        return len(self._items) if self._buffer is None else self._buffer.shape[0]

    def _copy(self):
        made = TensorArray.__new__(TensorArray)
        made.__dict__.update(self.__dict__)
        made._items, made._cleared = list(self._items), set(self._cleared)
        return made

    def _changed(self):
        """What a method changes and returns."""
        return self._copy() if _core.inside_function() else self

    def _has_shape(self):
        return self._element_shape is not None and None not in self._element_shape

    def _zeros(self, before=()):
        if not self._has_shape():
            raise ValueError(f"TensorArray: what was not written is zeros, and the shape of the elements is "
                             f"{self._element_shape}; write each, or give element_shape")
        return _ops.zeros(list(before) + list(self._element_shape), self._dtype)

    def _merged(self, shape):
        """The shape of elements, with that of one more."""
        if self._element_shape is None:
            return TensorShape(shape) if self._infers else None
        if not TensorShape(shape).is_compatible_with(self._element_shape):
            raise ValueError(f"Incompatible shape for value ({tuple(shape)}), expected ({tuple(self._element_shape)})")
        return TensorShape(shape) if self._infers else self._element_shape

    def _checked(self, value):
        value = convert_to_tensor(value, dtype_hint=self._dtype)
        if value.dtype != self._dtype:
            raise errors.InvalidArgumentError(f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                                              f"{value.dtype.name}")
        return value

    # --- Elements ---

    def identity(self):
        """The array."""
        return self

    def write(self, index, value, name=None):
        """The array with an element set."""
        value = self._checked(value)
        shape = self._merged(value.shape)
        index = _ops.known(index) if is_tensor(index) else index
        made = self._changed()
        if self._buffer is None and not _is_symbolic(index):
            made._set(int(index), value)
        else:
            if self._dynamic and self.count() == 0:
                raise _core.UntraceableError("TensorArray: where the index is known at run time alone, as in a loop over a "
                                             "tensor, an array cannot become longer\n  help: give the size that it will have")
            if self._buffer is None:
                made._element_shape = TensorShape(value.shape)
                made._buffer = made.opened()
            made._buffer = _ops.tensor_scatter_nd_update(made._buffer, _ops.reshape(index, [1, 1]),
                                                         _ops.expand_dims(value, 0))
        made._element_shape = shape
        return made

    def _set(self, index, value):
        if index < 0:
            raise errors.OutOfRangeError(f"Writing to negative indices (index {index}) is not allowed.")
        if index >= len(self._items):
            if not self._dynamic:
                raise errors.OutOfRangeError(f"Tried to write to index {index} but array is not resizeable and size is: "
                                             f"{len(self._items)}")
            self._items.extend([None] * (index - len(self._items) + 1))
        self._items[index] = value

    def read(self, index, name=None):
        """An element. Outside of functions it can be read once, unless `clear_after_read` is False."""
        index = _ops.known(index) if is_tensor(index) else index
        if self._buffer is not None or _is_symbolic(index):
            return _ops.gather(self._needed(), index)
        index = int(index)
        if index < 0:
            raise errors.OutOfRangeError(f"Reading from negative indices (index {index}) is not allowed.")
        if index >= len(self._items):
            raise errors.OutOfRangeError(f"Tried to read from index {index} but array size is: {len(self._items)}")
        value = self._items[index]
        if value is None:
            if index in self._cleared:
                raise errors.InvalidArgumentError(f"Could not read index {index} twice because it was cleared after a "
                                                  "previous read (perhaps try setting clear_after_read = false?)")
            value = self._zeros()
        if self._clears and not _core.inside_function():
            self._items[index] = None
            self._cleared.add(index)
        return value

    def _needed(self):
        buffer = self.opened()
        if buffer is None:
            self._zeros()
        return buffer

    def stack(self, name=None):
        """All elements as one tensor, [size, ...]."""
        if self._buffer is None and self._items and None not in self._items:
            return _ops.stack(self._items)
        return self._needed()

    def gather(self, indices, name=None):
        """The elements of these numbers as one tensor."""
        return _ops.gather(self._needed(), indices)

    def concat(self, name=None):
        """All elements joined along their first axis."""
        if self._buffer is not None:
            items = _ops.unstack(self._buffer)
        else:
            items = [self._zeros() if item is None else item for item in self._items]
        for i, item in enumerate(items):
            if not item.shape:
                raise errors.InvalidArgumentError(f"Concat saw a scalar shape at index {i} but requires at least vectors.")
        return _ops.concat(items, 0)

    def unstack(self, value, name=None):
        """The array with the rows of a tensor as elements."""
        rows = _ops.unstack(self._checked(value))
        if len(rows) > self.count() and not self._dynamic:
            raise ValueError(f"Cannot unstack {len(rows)} tensors into a TensorArray of static size {self.count()}")
        return self._filled(rows, self._merged(rows[0].shape) if rows else self._element_shape)

    def _filled(self, items, shape):
        made = self._changed()
        made._items, made._buffer, made._element_shape, made._cleared = list(items), None, shape, set()
        return made

    def scatter(self, indices, value, name=None):
        """The array with the elements of these numbers set to the rows of a tensor."""
        made = self
        for index, row in zip(_ops.unstack(convert_to_tensor(indices)), _ops.unstack(self._checked(value))):
            made = made.write(index, row)
        return made

    def split(self, value, lengths, name=None):
        """The array with pieces of a tensor as elements, cut along its first axis."""
        value = self._checked(value)
        lengths = [_number("TensorArray.split", "lengths", n) for n in _ops.unstack(convert_to_tensor(lengths))]
        if not value.shape:
            raise errors.InvalidArgumentError(f"Expected value to be at least a vector, but received shape: {value.shape}")
        if sum(lengths) != value.shape[0]:
            raise errors.InvalidArgumentError(f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths "
                                              f"is {sum(lengths)} and value's shape is: {value.shape}")
        if not self._dynamic and len(lengths) != self.count():
            raise errors.InvalidArgumentError(f"TensorArray's size is not equal to the size of lengths ({self.count()} vs. "
                                              f"{len(lengths)}), and the TensorArray is not marked as dynamically "
                                              "resizeable.")
        pieces = _ops.split(value, lengths)
        alike = len(set(lengths)) == 1
        return self._filled(pieces, self._merged(pieces[0].shape) if alike else self._element_shape)

    def size(self, name=None):
        """The number of elements, an int32."""
        return convert_to_tensor(self.count(), dtype="int32")

    def close(self, name=None):
        """Forgets the elements."""
        self._items, self._buffer = [], None


def _is_symbolic(value):
    return is_tensor(value) and value.is_symbolic


def _number(function, name, value):
    value = _ops.known(value) if is_tensor(value) else value
    if _is_symbolic(value):
        raise _core.UntraceableError(f"{function}: {name} is not known while a function is traced")
    return int(value)
