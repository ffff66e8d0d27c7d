"""Ops on RaggedTensors: those of elements, sums along axes, and what joins them."""
import numpy as np

from . import _core
from ._convert import convert_to_tensor, refuse
from ._ops import OPS
from .ragged import RaggedTensor, _leaves_of, _places_in_rows

# Ops of elements: what they give has the rows of what they take.
_OF_ELEMENTS = set("""
    abs acos acosh add asin asinh atan atan2 atanh bitcast cast ceil clip_by_value cos cosh digamma divide divide_no_nan elu equal
    erf erfc exp expm1 floor floordiv floormod greater greater_equal identity imag is_finite is_inf is_nan leaky_relu less
    less_equal lgamma log log1p log_sigmoid logical_and logical_not logical_or logical_xor maximum minimum mod multiply
    multiply_no_nan negative not_equal one_hot ones_like pow real reciprocal relu relu6 round rsqrt saturate_cast selu sigmoid
    sign silu sin sinh softplus softsign sqrt square squared_difference stop_gradient subtract tan tanh truncatediv
    truncatemod xdivy xlogy zeros_like where""".split())
# Of these one argument is looked up element by element.
_LOOKED_UP = {"gather": "indices", "embedding_lookup": "ids"}
_REDUCED = {"reduce_sum": "unsorted_segment_sum", "reduce_prod": "unsorted_segment_prod", "reduce_max": "unsorted_segment_max",
            "reduce_min": "unsorted_segment_min", "reduce_mean": None}


def _beside(like, other, name):
    """Another operand, whose elements lie beside the flat values of `like`."""
    if isinstance(other, RaggedTensor):
        a, b = like, other
        while isinstance(a, RaggedTensor) and isinstance(b, RaggedTensor):
            if a._splits.tolist() != b._splits.tolist():
                raise _core.ValueError_(f"{name}: the rows of two RaggedTensors have other lengths, "
                                        f"{np.diff(a._splits).tolist()} and {np.diff(b._splits).tolist()}")
            a, b = a._values, b._values
        if isinstance(a, RaggedTensor) or isinstance(b, RaggedTensor):
            raise _core.ValueError_(f"{name}: one RaggedTensor has {like.ragged_rank} axes of rows, the other {other.ragged_rank}")
        return b
    if other is None or not hasattr(other, "shape") or len(other.shape) < like.flat_values.shape.rank:
        return other  # a number, or what broadcasts to each row of the values
    shape = list(other.shape)
    if len(shape) != like.shape.rank or like.ragged_rank != 1 or shape[1] != 1 or shape[0] not in (1, len(like)):
        raise _core.ValueError_(f"{name}: a tensor of shape {shape} does not broadcast to rows of different lengths, "
                                f"{list(like.shape)}")
    rows = OPS["squeeze"](other, [1])
    return rows if shape[0] == 1 else OPS["gather"](rows, like.value_rowids())


def _each_element(name, given):
    ragged = next(v for v in given.values() if isinstance(v, RaggedTensor))
    return ragged.with_flat_values(OPS[name](**{k: _beside(ragged, v, name) for k, v in given.items()}))


def _segments(name, values, numbers, count):
    if name in ("reduce_any", "reduce_all"):
        hits = OPS["cast"](values if name == "reduce_any" else OPS["logical_not"](values), "int32")
        found = OPS["unsorted_segment_sum"](hits, numbers, count) > 0
        return found if name == "reduce_any" else OPS["logical_not"](found)
    if name == "reduce_mean":  # of nothing: not a number
        many = np.bincount(np.asarray(numbers), minlength=count).reshape(-1, *[1] * (values.shape.rank - 1))
        return OPS["unsorted_segment_sum"](values, numbers, count) / convert_to_tensor(many, dtype=values.dtype)
    return OPS[_REDUCED[name]](values, numbers, count)


def _reduced(name, given):
    x = given["input_tensor"] if "input_tensor" in given else given["x"]
    refuse(name, keepdims=(bool(given.get("keepdims") or False), False))
    axis = given.get("axis")
    if axis is None:
        return OPS[name](x.flat_values)
    axes = sorted({int(a) + (x.shape.rank if int(a) < 0 else 0) for a in np.atleast_1d(np.asarray(axis))}, reverse=True)
    if axes and not 0 <= axes[-1] <= axes[0] < x.shape.rank:
        raise _core.IndexError_(f"{name}: axis {axis} of a RaggedTensor of rank {x.shape.rank}")
    if name == "reduce_mean" and len(axes) > 1:  # a mean of means is another one
        ones = OPS["ones_like"](x.flat_values)
        return _along("reduce_sum", x, axes) / _along("reduce_sum", x.with_flat_values(ones), axes)
    return _along(name, x, axes)


def _along(name, x, axes):
    for axis in axes:
        x = OPS[name](x, axis) if not isinstance(x, RaggedTensor) else _along_one(name, x, axis)
    return x


def _along_one(name, x, axis):
    if axis > 1:
        inner = x._values
        return x.with_values(_along_one(name, inner, axis - 1) if isinstance(inner, RaggedTensor) else OPS[name](inner, axis - 1))
    if isinstance(x._values, RaggedTensor):
        raise _core.ValueError_(f"{name}: axis {axis} of a RaggedTensor whose rows have rows is not supported")
    if axis == 1:
        return _segments(name, x._values, x.value_rowids(), len(x))
    lengths = np.diff(x._splits)
    return _segments(name, x._values, _places_in_rows(lengths), int(lengths.max(initial=0)))


def _rows(value):
    """The rows of a ragged or another tensor."""
    value = value if isinstance(value, RaggedTensor) else _leaves_of(value)
    return [value[i] for i in range(len(value))]


def _joined(name, given):
    values = list(given["values"])
    rank = next(v.shape.rank for v in values if isinstance(v, RaggedTensor))
    axis = int(given.get("axis") or 0)
    axis += (rank + (name == "stack")) if axis < 0 else 0
    if name == "stack":
        if axis == 0:
            return RaggedTensor.from_rows([v if isinstance(v, RaggedTensor) else RaggedTensor.from_tensor(v) for v in values])
        return RaggedTensor.from_rows([_join("stack", list(rows), axis - 1) for rows in zip(*map(_rows, values))])
    if axis == 0:
        return RaggedTensor.from_rows([row for v in values for row in _rows(v)])
    counts = {len(v) for v in values}
    if len(counts) > 1:
        raise _core.ShapeError(f"concat: numbers of rows differ, {sorted(counts)}")
    return RaggedTensor.from_rows([_join("concat", list(rows), axis - 1) for rows in zip(*map(_rows, values))])


def _join(name, rows, axis):
    from ._composites import call_op
    if any(isinstance(row, RaggedTensor) for row in rows):
        return _joined(name, {"values": rows, "axis": axis})
    if not isinstance(rows[0], _core.Tensor):
        return call_op(name, {"values": rows, "axis": axis})
    return OPS[name](rows, axis)


def _looked_up(name, given):
    key = _LOOKED_UP[name]
    if isinstance(given[key], RaggedTensor) and not any(isinstance(v, RaggedTensor) for k, v in given.items() if k != key):
        return given[key].with_flat_values(OPS[name](**{**given, key: given[key].flat_values}))
    if name == "gather" and not given.get("axis") and not given.get("batch_dims"):
        rows = _rows(given["params"])
        return RaggedTensor.from_rows([rows[int(i)] for i in np.asarray(given["indices"])])
    raise TypeError(f"{name}: RaggedTensors are rows that are looked up by a vector, or indices into a tensor")


def call_op(name, given):
    """An op on RaggedTensors; `given` has its arguments by name. Raises TypeError for one that takes none."""
    if name in ("concat", "stack"):
        return _joined(name, given)
    if name in _REDUCED or name in ("reduce_any", "reduce_all"):
        return _reduced(name, given)
    if name in _LOOKED_UP:
        return _looked_up(name, given)
    x = next((v for v in given.values() if isinstance(v, RaggedTensor)), None)
    if x is not None and name in _OF_ELEMENTS:
        return _each_element(name, given)
    if x is not None and name in ("size", "rank"):
        number = len(x.flat_values) if name == "size" else x.shape.rank
        return convert_to_tensor(number, dtype=given.get("out_type") or "int32")
    if x is not None and name == "expand_dims" and int(given["axis"]) == 0:
        return RaggedTensor.from_rows([x])
    raise TypeError(f"{name}: it takes no RaggedTensor\n  help: its to_tensor() is one; tf.ragged.map_flat_values(op, x) computes "
                    "with the values of all rows")


def _operator(name, is_reversed=False):
    def call(self, other):
        other = other if isinstance(other, RaggedTensor) else convert_to_tensor(other, dtype_hint=self.dtype)
        return _each_element(name, {"x": other, "y": self} if is_reversed else {"x": self, "y": other})
    return call


for _method, _op in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"), ("floordiv", "floordiv"),
                     ("mod", "floormod"), ("pow", "pow"), ("and", "logical_and"), ("or", "logical_or"), ("xor", "logical_xor")):
    setattr(RaggedTensor, f"__{_method}__", _operator(_op))
    setattr(RaggedTensor, f"__r{_method}__", _operator(_op, True))
for _method, _op in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal"), ("eq", "equal"),
                     ("ne", "not_equal")):
    setattr(RaggedTensor, f"__{_method}__", _operator(_op))
for _method, _op in (("neg", "negative"), ("abs", "abs"), ("invert", "logical_not")):
    setattr(RaggedTensor, f"__{_method}__", lambda self, _op=_op: self.with_flat_values(OPS[_op](self.flat_values)))
