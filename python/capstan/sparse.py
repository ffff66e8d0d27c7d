"""tf.sparse and tf.SparseTensor: the elements of a tensor that are not zero. They are held and taken apart, with gradients for
the values; ops take what `to_dense` makes of them."""
import numpy as np

from . import _core, _dtypes, _ops, _texts
from ._convert import convert_to_tensor, refuse


class SparseTensor:
    """Values at places of a tensor that is zero everywhere else.

        x = tf.SparseTensor(indices=[[0, 0], [1, 2]], values=[1.0, 2.0], dense_shape=[2, 3])
        tf.sparse.to_dense(x)      # [[1, 0, 0], [0, 0, 2]]
    """
    is_symbolic = False

    def __init__(self, indices, values, dense_shape):
        self._indices = np.asarray(indices, dtype=np.int64)
        self._shape = np.asarray(dense_shape, dtype=np.int64).reshape(-1)
        if self._indices.size == 0:
            self._indices = self._indices.reshape(0, len(self._shape))
        self._values = _texts.texts_or_tensor(values)
        if self._indices.ndim != 2 or self._indices.shape[1] != len(self._shape) or (
                self._values.shape != (len(self._indices),)):
            raise _core.ShapeError(f"SparseTensor: indices {self._indices.shape} and values {tuple(self._values.shape)} do not "
                                   f"fit a tensor of {len(self._shape)} axes")

    indices = property(lambda self: convert_to_tensor(self._indices), doc="int64[n, rank]: where the values are.")
    values = property(lambda self: self._values, doc="The values, a vector.")
    dense_shape = property(lambda self: convert_to_tensor(self._shape), doc="The lengths of all axes, int64.")
    shape = property(lambda self: _core.TensorShape([int(n) for n in self._shape]), doc="The lengths of all axes.")
    dtype = property(lambda self: self._values.dtype, doc="The dtype of the values.")

    def get_shape(self):
        """The lengths of all axes."""
        return self.shape

    def with_values(self, new_values):
        """Other values at the same places."""
        return SparseTensor(self._indices, new_values, self._shape)

    def __mul__(self, other):
        """The product with a tensor that broadcasts to the shape, or a number."""
        other = _ops.broadcast_to(convert_to_tensor(other, dtype_hint=self.dtype), list(self.shape))
        return self.with_values(self._values * _ops.gather_nd(other, self._indices))

    __rmul__ = __mul__

    def __neg__(self):
        return self.with_values(-self._values)

    def __repr__(self):
        return (f"SparseTensor(indices={self._indices.tolist()}, values={self._values.numpy()!r}, "
                f"dense_shape={self._shape.tolist()})")


def _check(sparse):
    """Raises for places outside of the shape, as a run of TensorFlow does."""
    if ((sparse._indices < 0) | (sparse._indices >= sparse._shape)).any():
        bad = sparse._indices[((sparse._indices < 0) | (sparse._indices >= sparse._shape)).any(1)][0]
        raise _core.IndexError_(f"SparseTensor: the place {bad.tolist()} is outside of the shape {sparse._shape.tolist()}")


def to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """The tensor, with zeros, or another value, where nothing is given."""
    _check(sp_input)
    flat = np.ravel_multi_index(tuple(sp_input._indices.T), tuple(sp_input._shape)) if len(sp_input._shape) else (
        np.zeros(len(sp_input._indices), int))
    if validate_indices and (np.diff(flat) <= 0).any():
        raise _core.ValueError_("to_dense: places are not in order or given twice; tf.sparse.reorder brings them in order")
    if isinstance(sp_input.values, _texts.TextTensor):
        made = np.full(tuple(sp_input._shape), b"" if default_value is None else _texts.as_bytes(default_value), dtype=object)
        made[tuple(sp_input._indices.T)] = sp_input.values._array
        return _texts.TextTensor(made)
    if sp_input.dtype == _dtypes.bool:
        made = np.full(tuple(sp_input._shape), bool(default_value or False))
        made[tuple(sp_input._indices.T)] = np.asarray(sp_input.values)
        return convert_to_tensor(made)
    start = _ops.fill([int(n) for n in sp_input._shape],
                      convert_to_tensor(0 if default_value is None else default_value, dtype=sp_input.dtype))
    if not len(sp_input._indices):
        return start
    return _ops.tensor_scatter_nd_update(start, sp_input._indices, sp_input.values)


def from_dense(tensor, name=None):
    """The elements that are not zero, or of texts those that are not empty."""
    found = _texts.texts_of(tensor)
    tensor = found if found is not None else convert_to_tensor(tensor)
    array = np.asarray(tensor)
    places = np.argwhere(array != b"" if found is not None else array != 0)
    values = _texts.TextTensor(array[tuple(places.T)]) if found is not None else _ops.gather_nd(tensor, places)
    return SparseTensor(places, values, array.shape)


def reorder(sp_input, name=None):
    """The values in the order of their places, row by row."""
    order = np.lexsort(tuple(sp_input._indices.T[::-1])) if len(sp_input._indices) else []
    return SparseTensor(sp_input._indices[order], _ops.gather(sp_input.values, np.asarray(order, int)), sp_input._shape)


def sparse_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """The product of a sparse and a dense matrix; gradients reach the values and the dense one."""
    if not isinstance(sp_a, SparseTensor):
        raise TypeError(f"sparse_dense_matmul: {sp_a!r} is no SparseTensor")
    _check(sp_a)
    b = convert_to_tensor(b, dtype_hint=sp_a.dtype)
    b = _ops.transpose(b) if adjoint_b else b
    rows, columns = (sp_a._indices[:, 1], sp_a._indices[:, 0]) if adjoint_a else (sp_a._indices[:, 0], sp_a._indices[:, 1])
    height, inner = (sp_a._shape[1], sp_a._shape[0]) if adjoint_a else sp_a._shape
    if b.shape.rank != 2 or b.shape[0] != inner:
        raise _core.ShapeError(f"sparse_dense_matmul: a matrix of {inner} columns and one of shape {tuple(b.shape)}")
    parts = _ops.expand_dims(sp_a.values, 1) * _ops.gather(b, columns)
    return _ops.unsorted_segment_sum(parts, rows, int(height))


def reduce_sum(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """The sum over axes, as a dense tensor."""
    refuse("sparse.reduce_sum", output_is_sparse=(output_is_sparse, False))
    return _ops.reduce_sum(to_dense(sp_input, validate_indices=False), axis, bool(keepdims))


def add(a, b, threshold=0):
    """The sum of two sparse tensors, or of a sparse and a dense one, which is dense."""
    refuse("sparse.add", threshold=(threshold, 0, 0.0))
    if not (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)):
        return _ops.add(*[to_dense(reorder(x)) if isinstance(x, SparseTensor) else x for x in (a, b)])
    if a._shape.tolist() != b._shape.tolist():
        raise _core.ShapeError(f"sparse.add: shapes differ, {a._shape.tolist()} and {b._shape.tolist()}")
    places = np.concatenate([a._indices, b._indices])
    unique, number = np.unique(places, axis=0, return_inverse=True)
    values = _ops.unsorted_segment_sum(_ops.concat([a.values, b.values], 0), number.reshape(-1), len(unique))
    return SparseTensor(unique, values, a._shape)


def map_values(op, *args, **kwargs):
    """What a function makes of the values, at the same places."""
    sparse = next(a for a in args if isinstance(a, SparseTensor))
    return sparse.with_values(op(*[a.values if isinstance(a, SparseTensor) else a for a in args], **kwargs))


def retain(sp_input, to_retain):
    """The values for which a vector of truth values holds."""
    keep = np.asarray(to_retain, dtype=bool)
    values = _ops.boolean_mask(sp_input.values, keep)
    return SparseTensor(sp_input._indices[keep], values, sp_input._shape)


def to_indicator(sp_input, vocab_size, name=None):
    """Truth values [..., vocab_size]: which ids the last axis has."""
    made = np.zeros([*sp_input._shape[:-1], int(vocab_size)], bool)
    ids = np.asarray(sp_input.values)
    if ids.size and (ids.min() < 0 or ids.max() >= vocab_size):
        raise _core.IndexError_(f"to_indicator: an id is not from 0 to {int(vocab_size) - 1}")
    made[(*sp_input._indices.T[:-1], ids)] = True
    return convert_to_tensor(made)


def reduce_max(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """The largest of the values that are given along axes, as a dense tensor with 0 where none is."""
    refuse("sparse.reduce_max", output_is_sparse=(output_is_sparse, False))
    rank = len(sp_input._shape)
    axes = sorted({int(a) % rank for a in np.atleast_1d(np.arange(rank) if axis is None else np.asarray(axis))})
    kept = [a for a in range(rank) if a not in axes]
    lengths = [int(n) for n in sp_input._shape[kept]]
    number = np.ravel_multi_index(tuple(sp_input._indices.T[kept]), lengths) if kept else np.zeros(len(sp_input._indices), int)
    count = int(np.prod(lengths))
    largest = _ops.unsorted_segment_max(sp_input.values, number, count)
    largest = _ops.where(np.bincount(number, minlength=count) > 0, largest, _ops.zeros_like(largest))
    return _ops.reshape(largest, [1 if a in axes else int(n) for a, n in enumerate(sp_input._shape)] if keepdims else lengths)


def expand_dims(sp_input, axis=None, name=None):
    """With one more axis of length 1, before `axis`, at the end unless given."""
    rank = len(sp_input._shape)
    at = rank if axis is None else int(axis) + (rank + 1 if int(axis) < 0 else 0)
    if not 0 <= at <= rank:
        raise _core.IndexError_(f"sparse.expand_dims: axis {axis} of a SparseTensor of {rank} axes")
    return SparseTensor(np.insert(sp_input._indices, at, 0, axis=1), sp_input.values, np.insert(sp_input._shape, at, 1))


def concat(axis, sp_inputs, expand_nonconcat_dims=False, name=None):
    """Sparse tensors one after the other along an axis; their other lengths are equal, or with `expand_nonconcat_dims` the
    longest."""
    sp_inputs = list(sp_inputs)
    shapes = np.stack([one._shape for one in sp_inputs])
    axis = int(axis) % shapes.shape[1]
    others = np.delete(shapes, axis, 1)
    if not expand_nonconcat_dims and (others != others[0]).any():
        raise _core.ShapeError(f"sparse.concat: lengths of the other axes differ: {shapes.tolist()}")
    starts = np.cumsum([0, *shapes[:-1, axis]])
    places = [one._indices + start * (np.arange(shapes.shape[1]) == axis) for one, start in zip(sp_inputs, starts)]
    shape = shapes.max(0)
    shape[axis] = shapes[:, axis].sum()
    return reorder(SparseTensor(np.concatenate(places), _ops.concat([one.values for one in sp_inputs], 0), shape))


def transpose(sp_input, perm=None, name=None):
    """With the axes in another order, the opposite one unless given."""
    order = np.arange(len(sp_input._shape))[::-1] if perm is None else np.asarray(perm)
    return reorder(SparseTensor(sp_input._indices[:, order], sp_input.values, sp_input._shape[order]))


def reshape(sp_input, shape, name=None):
    """The same elements in another shape, of which one length may be -1."""
    flat = np.ravel_multi_index(tuple(sp_input._indices.T), tuple(sp_input._shape))
    lengths, count = [int(n) for n in np.asarray(shape)], int(np.prod(sp_input._shape))
    if -1 in lengths:
        rest = -int(np.prod(lengths))
        lengths[lengths.index(-1)] = count // rest if rest else 0
    if int(np.prod(lengths)) != count:
        raise _core.ShapeError(f"sparse.reshape: {sp_input._shape.tolist()} has {count} elements, {np.asarray(shape).tolist()} others")
    return SparseTensor(np.stack(np.unravel_index(flat, lengths), 1), sp_input.values, lengths)


def slice(sp_input, start, size, name=None):
    """The part of `size` that begins at `start`, cut where it ends."""
    start, size = np.asarray(start), np.asarray(size)
    keep = ((sp_input._indices >= start) & (sp_input._indices < start + size)).all(1)
    shape = np.clip(sp_input._shape - start, 0, size)
    return SparseTensor(sp_input._indices[keep] - start, _ops.boolean_mask(sp_input.values, keep), shape)


def eye(num_rows, num_columns=None, dtype="float32", name=None):
    """Ones on the diagonal."""
    shape = (int(num_rows), int(num_rows if num_columns is None else num_columns))
    return SparseTensor(np.repeat(np.arange(min(shape)), 2).reshape(-1, 2), _ops.ones([min(shape)], dtype), shape)


__all__ = ["SparseTensor", "add", "concat", "expand_dims", "eye", "from_dense", "map_values", "reduce_max", "reduce_sum",
           "reorder", "reshape", "retain", "slice", "sparse_dense_matmul", "to_dense", "to_indicator", "transpose"]
