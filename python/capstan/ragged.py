"""tf.ragged and tf.RaggedTensor: rows of different lengths, held and taken apart; ops take what `to_tensor` makes of
them."""
import builtins

import numpy as np

from . import _core, _dtypes, _texts, nest
from ._convert import convert_to_tensor, refuse


class RaggedTensor:
    """Rows of different lengths: all their values one after the other, and where the rows begin and end.

        tf.ragged.constant([[1, 2], [], [3]]).to_tensor()      # [[1, 2], [0, 0], [3, 0]]
    """
    is_symbolic = False
    __hash__ = None

    def __init__(self, values, row_splits):
        splits = np.asarray(row_splits)
        self._values, self._splits = values, splits if splits.dtype == np.int32 else splits.astype(np.int64)

    # --- makers ---

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        """Row i has the values from row_splits[i] to row_splits[i + 1]."""
        del validate  # it is checked in any case
        values, splits = _leaves_of(values), np.asarray(row_splits)
        if (splits.ndim != 1 or len(splits) == 0 or splits[0] != 0 or (np.diff(splits) < 0).any()
                or splits[-1] != len(values)):
            raise _core.ValueError_(f"RaggedTensor: row_splits {splits.tolist()} must rise from 0 to {len(values)}")
        return cls(values, splits)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        """Row i has row_lengths[i] of the values."""
        lengths = np.asarray(row_lengths)
        splits = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32 if lengths.dtype == np.int32 else np.int64)
        return cls.from_row_splits(values, splits, validate=validate)

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        """Row i has the values whose number is i; numbers do not fall."""
        ids = np.asarray(value_rowids)
        rows = int(nrows) if nrows is not None else int(ids[-1]) + 1 if len(ids) else 0
        if (np.diff(ids) < 0).any() or len(ids) and (ids[0] < 0 or ids[-1] >= rows):
            raise _core.ValueError_(f"RaggedTensor: value_rowids must rise from 0 to {rows - 1}")
        return cls.from_row_lengths(values, np.bincount(ids, minlength=rows) if len(ids) else [0] * rows, validate=validate)

    @classmethod
    def from_tensor(cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None):
        """The rows of a tensor, cut to lengths, or without what is `padding` at their end."""
        refuse("RaggedTensor.from_tensor", ragged_rank=(ragged_rank, 1))
        rows = list(_leaves_of(tensor))
        if lengths is not None:
            rows = [row[:int(n)] for row, n in zip(rows, np.asarray(lengths))]
        elif padding is not None:
            rows = [row[:_without_padding(np.asarray(row), padding)] for row in rows]
        return cls.from_rows(rows, tensor.dtype if hasattr(tensor, "dtype") else None)

    @classmethod
    def from_sparse(cls, st_input, name=None, row_splits_dtype="int64"):
        """The rows of a SparseTensor of two axes, whose values are at the beginning of each row without gaps."""
        lengths = np.bincount(st_input._indices[:, 0], minlength=int(st_input._shape[0]))
        if (st_input._indices[:, 1] != _places_in_rows(lengths)).any() or (np.diff(st_input._indices[:, 0]) < 0).any():
            raise _core.ValueError_("RaggedTensor.from_sparse: values are not in order, or there are gaps between them")
        return cls.from_row_lengths(st_input.values, lengths).with_row_splits_dtype(row_splits_dtype)

    def to_sparse(self, name=None):
        """A SparseTensor that has each value at its row and its place in it."""
        from .sparse import SparseTensor
        lengths = [len(self), *self._inner_lengths()]
        if len(lengths) != 2:
            raise _core.ValueError_(f"to_sparse: a RaggedTensor of {len(lengths)} axes is not supported, it may have 2")
        rows = np.repeat(np.arange(len(self)), np.diff(self._splits))
        return SparseTensor(np.stack([rows, _places_in_rows(np.diff(self._splits))], 1), self._values, lengths)

    @classmethod
    def from_rows(cls, rows, dtype=None):
        """Rows that are tensors, texts or RaggedTensors of one kind."""
        splits = np.concatenate([[0], np.cumsum([len(row) for row in rows])]) if rows else [0]
        if rows and isinstance(rows[0], RaggedTensor):
            inner = [r for row in rows for r in row]
            return cls(RaggedTensor.from_rows(inner, dtype), splits)
        return cls(_joined(rows, dtype), splits)

    # --- what it is made of ---

    values = property(lambda self: self._values, doc="The values of all rows, one after the other.")
    dtype = property(lambda self: self._values.dtype, doc="The dtype of the values.")

    @property
    def flat_values(self):
        """The innermost values."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def row_splits(self):
        """Where rows begin, and the number of values; int64 unless made with int32."""
        return convert_to_tensor(self._splits)

    @property
    def ragged_rank(self):
        """How many axes have rows of different lengths."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def shape(self):
        """The lengths of axes, None where rows differ."""
        return _core.TensorShape([len(self), None, *list(self._values.shape)[1:]])

    def nrows(self, out_type=None, name=None):
        """The number of rows, int64."""
        return convert_to_tensor(len(self), dtype=out_type or "int64")

    def row_lengths(self, axis=1, name=None):
        """The lengths of rows, int64."""
        if axis == 1:
            return convert_to_tensor(np.diff(self._splits))
        return RaggedTensor(self._values.row_lengths(axis - 1), self._splits)

    def row_starts(self, name=None):
        """Where rows begin, int64."""
        return convert_to_tensor(self._splits[:-1])

    def value_rowids(self, name=None):
        """The number of the row of each value, int64."""
        return convert_to_tensor(np.repeat(np.arange(len(self), dtype=self._splits.dtype), np.diff(self._splits)))

    def bounding_shape(self, axis=None, name=None, out_type=None):
        """The lengths that to_tensor() has, int64."""
        shape = [len(self), *self._inner_lengths()]
        return convert_to_tensor(shape if axis is None else shape[axis], dtype=out_type or "int64")

    def _inner_lengths(self):
        longest = int(np.diff(self._splits).max(initial=0))
        values = self._values
        return [longest, *(values._inner_lengths() if isinstance(values, RaggedTensor) else list(values.shape)[1:])]

    def with_row_splits_dtype(self, dtype):
        """The same rows, whose splits and lengths are of another dtype: int32 or int64."""
        dtype = _dtypes.as_dtype(dtype)
        if dtype.name not in ("int32", "int64"):
            raise ValueError(f"with_row_splits_dtype: int32 or int64, not {dtype.name}")
        values = self._values
        return RaggedTensor(values.with_row_splits_dtype(dtype) if isinstance(values, RaggedTensor) else values,
                            self._splits.astype(dtype.as_numpy_dtype))

    def with_values(self, new_values):
        """Rows of the same lengths with other values."""
        values = new_values if isinstance(new_values, RaggedTensor) else _leaves_of(new_values)
        if len(values) != self._splits[-1]:
            raise _core.ShapeError(f"with_values: {len(values)} values, and there are {self._splits[-1]}")
        return RaggedTensor(values, self._splits)

    def with_flat_values(self, new_values):
        """Rows of the same lengths with other innermost values."""
        inner = self._values.with_flat_values(new_values) if isinstance(self._values, RaggedTensor) else new_values
        return self.with_values(inner)

    def merge_dims(self, outer_axis, inner_axis):
        """Without the borders between the rows of two neighbouring axes."""
        rank = self.ragged_rank + 1
        outer, inner = (a + rank if a < 0 else a for a in (outer_axis, inner_axis))
        if inner != outer + 1 or inner >= rank + 1:
            raise ValueError(f"merge_dims: axes {outer_axis} and {inner_axis} are no neighbours of {rank}")
        if outer == 0:
            return self._values
        if outer == 1 and isinstance(self._values, RaggedTensor):
            return RaggedTensor(self._values._values, self._values._splits[self._splits])
        return RaggedTensor(self._values.merge_dims(outer - 1, inner - 1), self._splits)

    # --- rows ---

    def __len__(self):
        return len(self._splits) - 1

    def __iter__(self):
        return (self[i] for i in builtins.range(len(self)))

    def __getitem__(self, key):
        if isinstance(key, tuple) and len(key) == 1:
            key = key[0]
        if isinstance(key, tuple):
            first, rest = key[0], key[1:]
            if isinstance(first, slice):
                return RaggedTensor.from_rows([row[rest if len(rest) > 1 else rest[0]] for row in self[first]], self.dtype)
            return self[first][rest if len(rest) > 1 else rest[0]]
        if isinstance(key, slice):
            return RaggedTensor.from_rows([self[i] for i in builtins.range(*key.indices(len(self)))], self.dtype)
        i = int(key)
        if not -len(self) <= i < len(self):
            raise _core.IndexError_(f"RaggedTensor: row {i} of {len(self)}")
        i += len(self) if i < 0 else 0
        return self._values[int(self._splits[i]):int(self._splits[i + 1])]

    def to_list(self):
        """Nested lists of Python."""
        return [row.to_list() if isinstance(row, RaggedTensor) else np.asarray(row).tolist() for row in self]

    def numpy(self):
        """An array of rows; of rows of one length one array."""
        rows = [np.asarray(row) if not isinstance(row, RaggedTensor) else row.numpy() for row in self]
        if rows and all(row.shape == rows[0].shape for row in rows):
            return np.stack(rows)
        made = np.empty(len(rows), dtype=object)
        made[:] = rows
        return made

    def to_tensor(self, default_value=None, name=None, shape=None):
        """A tensor whose rows are filled up to the longest, or cut and filled up to `shape`."""
        lengths = [len(self), *self._inner_lengths()]
        for i, length in enumerate([] if shape is None else list(shape)):
            lengths[i] = lengths[i] if length is None or int(length) < 0 else int(length)
        is_text = self.dtype == _texts.string
        fill = (b"" if default_value is None else _texts.as_bytes(_plain(default_value))) if is_text else (
            0 if default_value is None else np.asarray(default_value))
        made = np.full(lengths, fill, dtype=object if is_text else self.dtype.as_numpy_dtype)
        self._write(made)
        return _texts.TextTensor(made) if is_text else convert_to_tensor(made, dtype=self.dtype)

    def _write(self, to):
        for row, target in zip(self, to):
            if isinstance(row, RaggedTensor):
                row._write(target)
            else:
                array = np.asarray(row)[tuple(slice(0, n) for n in target.shape)]
                target[tuple(slice(0, n) for n in array.shape)] = array

    def __repr__(self):
        return f"<tf.RaggedTensor {self.to_list()}>"


def _plain(value):
    return value.numpy() if isinstance(value, _texts.TextTensor) else value


def _places_in_rows(lengths):
    """Of each value of rows of these lengths its place in its row."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _leaves_of(values):
    return values if isinstance(values, RaggedTensor) else _texts.texts_or_tensor(values)


def _joined(rows, dtype):
    if rows and isinstance(rows[0], _texts.TextTensor) or not rows and dtype == _texts.string:
        return _texts.TextTensor(np.concatenate([row._array for row in rows]) if rows else np.empty(0, dtype=object))
    from ._ops import concat, zeros
    return concat(list(rows), 0) if rows else zeros([0], dtype or _dtypes.float32)


def _without_padding(row, padding):
    length = len(row)
    while length and (row[length - 1] == np.asarray(padding)).all():
        length -= 1
    return length


def constant(pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype="int64"):
    """A RaggedTensor of nested lists."""
    refuse("ragged.constant", inner_shape=(inner_shape, None))
    leaves = nest.flatten(pylist)
    if leaves and isinstance(leaves[0], (str, bytes)):
        dtype, convert = _texts.string, _text_row
    else:
        if dtype is None:
            dtype = convert_to_tensor(leaves).dtype if leaves else _dtypes.float32
        dtype = _dtypes.as_dtype(dtype)
        convert = lambda row: convert_to_tensor(row, dtype=dtype)  # noqa: E731
    depth = _depth(pylist)
    if depth < 2:
        return convert(pylist)
    made = _rows_of(pylist, depth if ragged_rank is None else int(ragged_rank) + 1, convert, dtype)
    return made.with_row_splits_dtype(row_splits_dtype)


def _depth(value):
    return 1 + max((_depth(v) for v in value), default=0) if isinstance(value, (list, tuple)) else 0


def _text_row(row):
    return _texts.texts_from_parts([_texts.as_bytes(t) for t in row])


def _rows_of(rows, depth, convert, dtype):
    if depth == 2:
        return RaggedTensor.from_rows([convert(list(row)) for row in rows], dtype)
    return RaggedTensor.from_rows([_rows_of(row, depth - 1, convert, dtype) for row in rows], dtype)


def stack(values, axis=0, name=None):
    """Rows of different lengths as one RaggedTensor."""
    if axis != 0:
        raise ValueError(f"ragged.stack: axis is 0, not {axis}")
    return RaggedTensor.from_rows([_leaves_of(v) for v in values])


def range(starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype="int64"):
    """Rows of numbers that count, as tf.range has them."""
    starts, limits = (np.zeros_like(np.asarray(starts)), np.asarray(starts)) if limits is None else (
        np.asarray(starts), np.asarray(limits))
    starts, limits, deltas = np.broadcast_arrays(np.atleast_1d(starts), np.atleast_1d(limits), np.atleast_1d(deltas))
    rows = [convert_to_tensor(np.arange(a, b, d), dtype=dtype) for a, b, d in zip(starts, limits, deltas)]
    return RaggedTensor.from_rows(rows).with_row_splits_dtype(row_splits_dtype)


def boolean_mask(data, mask, name=None):
    """The values of rows for which a mask of rows holds."""
    data = constant(data) if isinstance(data, (list, tuple)) else data
    rows = [np.asarray(row)[np.asarray(keep, dtype=bool)] for row, keep in zip(data, mask)]
    return RaggedTensor.from_rows([_leaves_of(row) for row in rows], data.dtype)


def is_tensor(x):
    """Whether x is a tensor, a variable, texts, a RaggedTensor or a SparseTensor."""
    from .sparse import SparseTensor
    return isinstance(x, (_core.Tensor, _core.Variable, _texts.TextTensor, RaggedTensor, SparseTensor))


def map_flat_values(op, *args, **kwargs):
    """What a function makes of the innermost values, in rows of the same lengths."""
    ragged = next((a for a in args if isinstance(a, RaggedTensor)), None)
    if ragged is None:
        return op(*args, **kwargs)
    given = [a.flat_values if isinstance(a, RaggedTensor) else a for a in args]
    return ragged.with_flat_values(op(*given, **kwargs))


__all__ = ["boolean_mask", "constant", "map_flat_values", "range", "stack"]
