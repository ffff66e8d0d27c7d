"""keras.ops.numpy: the array functions, with Keras's rules for dtypes."""
import builtins
import math as _math

import numpy as np

import capstan as tf

from ._by_numpy import by_numpy, known
from ._core import any_symbolic, cast, convert_to_tensor, dtype_of
from ._rules import canonicalize_axis, floatx, result_type, standardize_dtype, to_tuple_or_list


def _dtype(x):
    return standardize_dtype(x.dtype)


def _floating(x):
    """The tensor in a floating dtype: whole numbers and truth values become floatx."""
    x = convert_to_tensor(x)
    kind = _dtype(x)
    return cast(x, floatx()) if "int" in kind or kind == "bool" else x


def _both(x1, x2, *more):
    """Two tensors in the dtype that Keras gives their result; plain numbers have a weak dtype."""
    def dtype(x):
        return getattr(x, "dtype", type(x)) if isinstance(x, (builtins.bool, int, float, complex)) or hasattr(
            x, "dtype") else convert_to_tensor(x).dtype
    kind = result_type(dtype(x1), dtype(x2), *more)
    return convert_to_tensor(x1, kind), convert_to_tensor(x2, kind)


def _named(function, name):
    function.__name__ = function.__qualname__ = name
    return function


def _float_unary(name, op):
    return _named(lambda x: op(_floating(x)), name)


def _unary(name, op):
    return _named(lambda x: op(convert_to_tensor(x)), name)


def _binary(name, op, *more):
    return _named(lambda x1, x2: op(*_both(x1, x2, *more)), name)


for _name, _op in {"arccos": tf.acos, "arccosh": tf.acosh, "arcsin": tf.asin, "arcsinh": tf.asinh, "arctan": tf.atan,
                   "arctanh": tf.atanh, "cos": tf.cos, "cosh": tf.cosh, "exp": tf.exp, "expm1": tf.expm1, "log": tf.log,
                   "log1p": tf.log1p, "sin": tf.sin, "sinh": tf.sinh, "sqrt": tf.sqrt, "tan": tf.tan, "tanh": tf.tanh,
                   "reciprocal": tf.reciprocal, "sinc": tf._ops.OPS["sinc"], "i0": tf.bessel_i0}.items():
    globals()[_name] = _float_unary(_name, _op)
for _name, _op in {"maximum": tf.maximum, "minimum": tf.minimum, "subtract": tf.subtract}.items():
    globals()[_name] = _binary(_name, _op)
def _logical(name, op):
    return _named(lambda x1, x2: op(_truth(x1), _truth(x2)), name)


for _name, _op in {"hypot": tf.hypot, "arctan2": tf.atan2, "nextafter": tf.nextafter}.items():
    globals()[_name] = _binary(_name, _op, float)
for _name, _op in {"equal": tf.equal, "not_equal": tf.not_equal, "greater": tf.greater, "greater_equal": tf.greater_equal,
                   "less": tf.less, "less_equal": tf.less_equal}.items():
    globals()[_name] = _binary(_name, _op)
for _name, _op in {"logical_and": tf.logical_and, "logical_or": tf.logical_or, "logical_xor": tf.logical_xor}.items():
    globals()[_name] = _logical(_name, _op)
for _name in """bartlett blackman hamming hanning kaiser heaviside unravel_index histogram unique argpartition corrcoef
        correlate gcd lcm ldexp nanmedian nanpercentile nanquantile nanargmax nanargmin nancumsum nancumprod geomspace
        isin vander slogdet view""".split():
    globals()[_name] = by_numpy("numpy", _name)


def _truth(x):
    x = convert_to_tensor(x)
    return x if _dtype(x) == "bool" else tf.not_equal(x, tf.zeros_like(x))


def _axes(x, axis):
    return None if axis is None else [canonicalize_axis(a, len(x.shape)) for a in to_tuple_or_list(axis)]


# --- arithmetic ---

def add(x1, x2):
    x1, x2 = _both(x1, x2)
    return tf.logical_or(x1, x2) if _dtype(x1) == "bool" else tf.add(x1, x2)


def multiply(x1, x2):
    x1, x2 = _both(x1, x2)
    return tf.logical_and(x1, x2) if _dtype(x1) == "bool" else tf.multiply(x1, x2)


def divide(x1, x2):
    return tf.divide(*_both(x1, x2, float))


true_divide = divide


def divide_no_nan(x1, x2):
    return tf.divide_no_nan(*_both(x1, x2, float))


def floor_divide(x1, x2):
    x1, x2 = _both(x1, x2)
    return tf.floordiv(*(cast(x, "int32") if _dtype(x) == "bool" else x for x in (x1, x2)))


def mod(x1, x2):
    x1, x2 = _both(x1, x2)
    return tf.floormod(*(cast(x, "int32") if _dtype(x) == "bool" else x for x in (x1, x2)))


def fmod(x1, x2):
    x1, x2 = _both(x1, x2)
    return tf.truncatemod(*(cast(x, "int32") if _dtype(x) == "bool" else x for x in (x1, x2)))


def power(x1, x2):
    return tf.pow(*_both(x1, x2))


def negative(x):
    return tf.negative(convert_to_tensor(x))


def square(x):
    x = convert_to_tensor(x)
    return tf.square(cast(x, "int32") if _dtype(x) == "bool" else x)


def absolute(x):
    x = convert_to_tensor(x)
    return x if _dtype(x) in ("bool", "uint8") else tf.abs(x)


abs = absolute


def fabs(x):
    return tf.abs(_floating(x))


def sign(x):
    x = convert_to_tensor(x)
    return cast(tf.sign(cast(x, "int32")), _dtype(x)) if _dtype(x) in ("uint8", "bool") else tf.sign(x)


def signbit(x):
    x = convert_to_tensor(x)
    if _dtype(x) in ("bool", "uint8"):
        return tf.zeros_like(x, tf.bool)
    if "int" in _dtype(x):
        return tf.less(x, tf.zeros_like(x))
    return tf.less(tf.where(tf.equal(x, tf.zeros_like(x)), 1.0 / x, x), tf.zeros_like(x))


def ceil(x):
    return tf.ceil(_floating(x))


def floor(x):
    return tf.floor(_floating(x))


def trunc(x):
    x = convert_to_tensor(x)
    if "int" in _dtype(x) or _dtype(x) == "bool":
        return x
    return tf.where(tf.less(x, tf.zeros_like(x)), tf.ceil(x), tf.floor(x))


def round(x, decimals=0):
    x = convert_to_tensor(x)
    if "int" in _dtype(x) or _dtype(x) == "bool":
        return x if decimals >= 0 else cast(round(cast(x, "float64"), decimals), _dtype(x))
    factor = 10.0 ** decimals
    return tf.round(x) if decimals == 0 else tf.round(x * factor) / factor


def exp2(x):
    x = _floating(x)
    return tf.exp(x * _math.log(2.0))


def log2(x):
    return tf.log(_floating(x)) / _math.log(2.0)


def log10(x):
    return tf.log(_floating(x)) / _math.log(10.0)


def cbrt(x):
    x = _floating(x)
    return tf.sign(x) * tf.pow(tf.abs(x), tf.ones_like(x) / 3.0)


def logaddexp(x1, x2):
    return tf._ops.OPS["logaddexp"](*_both(x1, x2, float))


def logaddexp2(x1, x2):
    x1, x2 = _both(x1, x2, float)
    two = _math.log(2.0)
    return tf._ops.OPS["logaddexp"](x1 * two, x2 * two) / two


def deg2rad(x):
    return _floating(x) * (_math.pi / 180)


def rad2deg(x):
    return _floating(x) * (180 / _math.pi)


def clip(x, x_min, x_max):
    x = convert_to_tensor(x)
    if _dtype(x) == "bool":
        x = cast(x, "int32")
    kind = result_type(x.dtype, getattr(x_min, "dtype", type(x_min)), getattr(x_max, "dtype", type(x_max)))
    x = cast(x, kind)
    return tf.minimum(tf.maximum(x, convert_to_tensor(x_min, kind)), convert_to_tensor(x_max, kind))


def fmax(x1, x2):
    x1, x2 = _both(x1, x2)
    return tf.where(_nan(x1), x2, tf.where(_nan(x2), x1, tf.maximum(x1, x2)))


def fmin(x1, x2):
    x1, x2 = _both(x1, x2)
    return tf.where(_nan(x1), x2, tf.where(_nan(x2), x1, tf.minimum(x1, x2)))


def real(x):
    x = convert_to_tensor(x)
    return tf.real(x) if "complex" in _dtype(x) else x


def imag(x):
    x = convert_to_tensor(x)
    return tf.imag(x) if "complex" in _dtype(x) else tf.zeros_like(x)


def conjugate(x):
    x = convert_to_tensor(x)
    return tf.conj(x) if "complex" in _dtype(x) else x


conj = conjugate


def angle(x):
    x = _floating(x)
    if "complex" in _dtype(x):
        return tf.angle(x)
    return tf.where(tf.less(x, tf.zeros_like(x)), convert_to_tensor(_math.pi, x.dtype),
                    tf.where(_nan(x), x, tf.zeros_like(x)))


def logical_not(x):
    return tf.logical_not(_truth(x))


# --- bits ---

def _bits(name, op):
    def function(x, y):
        x, y = _both(x, y)
        if _dtype(x) == "bool":
            return {"and": tf.logical_and, "or": tf.logical_or, "xor": tf.logical_xor}[name.split("_")[1]](x, y)
        return op(x, y)
    return _named(function, name)


bitwise_and, bitwise_or, bitwise_xor = (_bits("bitwise_" + n, getattr(tf.bitwise, "bitwise_" + n))
                                        for n in ("and", "or", "xor"))


def bitwise_not(x):
    x = convert_to_tensor(x)
    return tf.logical_not(x) if _dtype(x) == "bool" else tf.bitwise.invert(x)


bitwise_invert = bitwise_not


def bitwise_left_shift(x, y):
    return tf.bitwise.left_shift(*_both(x, y if not isinstance(y, int) else convert_to_tensor(y, convert_to_tensor(x).dtype)))


def bitwise_right_shift(x, y):
    return tf.bitwise.right_shift(*_both(x, y if not isinstance(y, int) else convert_to_tensor(y, convert_to_tensor(x).dtype)))


left_shift, right_shift = bitwise_left_shift, bitwise_right_shift


# --- tests of elements ---

def _nan(x):
    return tf.is_nan(x) if "float" in _dtype(x) else tf.zeros_like(x, tf.bool)


def isnan(x):
    return _nan(convert_to_tensor(x))


def isinf(x):
    x = convert_to_tensor(x)
    return tf.is_inf(x) if "float" in _dtype(x) else tf.zeros_like(x, tf.bool)


def isfinite(x):
    x = convert_to_tensor(x)
    return tf.is_finite(x) if "float" in _dtype(x) else tf.ones_like(x, tf.bool)


def isposinf(x):
    x = convert_to_tensor(x)
    return tf.logical_and(isinf(x), tf.greater(x, tf.zeros_like(x))) if "float" in _dtype(x) else isinf(x)


def isneginf(x):
    x = convert_to_tensor(x)
    return tf.logical_and(isinf(x), tf.less(x, tf.zeros_like(x))) if "float" in _dtype(x) else isinf(x)


def isreal(x):
    x = convert_to_tensor(x)
    return tf.equal(tf.imag(x), tf.zeros_like(tf.imag(x))) if "complex" in _dtype(x) else tf.ones_like(x, tf.bool)


def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    x1, x2 = _both(x1, x2, float)
    close = tf.logical_and(tf.less_equal(tf.abs(x1 - x2), atol + rtol * tf.abs(x2)), isfinite(x2))
    same = tf.logical_or(close, tf.equal(x1, x2))
    return tf.logical_or(same, tf.logical_and(_nan(x1), _nan(x2))) if equal_nan else same


def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return tf.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


# --- reductions ---

def _widened(x):
    """Sums of narrow numbers are taken in int32."""
    return cast(x, "int32") if _dtype(x) in ("bool", "uint8") else x


def sum(x, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    if _dtype(x) == "uint8":  # the result is uint32
        return by_numpy("numpy", "sum")(x, axis, keepdims)
    x = _widened(x)
    return tf.reduce_sum(x, axis=_axes(x, axis), keepdims=keepdims)


def prod(x, axis=None, keepdims=False, dtype=None):
    x = convert_to_tensor(x)
    if _dtype(x) == "uint8" and dtype is None:  # the result is uint32
        return by_numpy("numpy", "prod")(x, axis, keepdims)
    x = cast(x, dtype) if dtype is not None else _widened(x)
    return tf.reduce_prod(x, axis=_axes(x, axis), keepdims=keepdims)


def mean(x, axis=None, keepdims=False):
    x = _floating(x)
    return tf.reduce_mean(x, axis=_axes(x, axis), keepdims=keepdims)


def var(x, axis=None, keepdims=False):
    x = _floating(x)
    return tf.reduce_variance(x, axis=_axes(x, axis), keepdims=keepdims)


def std(x, axis=None, keepdims=False):
    x = _floating(x)
    return tf.reduce_std(x, axis=_axes(x, axis), keepdims=keepdims)


def _extremum(x, axis, keepdims, initial, reduce, pair):
    x = convert_to_tensor(x)
    kind = _dtype(x)
    if kind == "bool":
        x = cast(x, "int32")
    axes = _axes(x, axis)
    if initial is not None and x.shape.num_elements() == 0:
        left = [n for i, n in enumerate(x.shape) if axes is not None and i not in axes]
        result = tf.fill(left, convert_to_tensor(initial, x.dtype))
    else:
        result = reduce(x, axis=axes, keepdims=keepdims)
        if initial is not None:
            result = pair(result, convert_to_tensor(initial, x.dtype))
    return cast(result, kind)


def max(x, axis=None, keepdims=False, initial=None):
    return _extremum(x, axis, keepdims, initial, tf.reduce_max, tf.maximum)


def min(x, axis=None, keepdims=False, initial=None):
    return _extremum(x, axis, keepdims, initial, tf.reduce_min, tf.minimum)


def amax(x, axis=None, keepdims=False):
    return max(x, axis, keepdims)


def amin(x, axis=None, keepdims=False):
    return min(x, axis, keepdims)


def ptp(x, axis=None, keepdims=False):
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def all(x, axis=None, keepdims=False):
    x = _truth(x)
    return tf.reduce_all(x, axis=_axes(x, axis), keepdims=keepdims)


def any(x, axis=None, keepdims=False):
    x = _truth(x)
    return tf.reduce_any(x, axis=_axes(x, axis), keepdims=keepdims)


def count_nonzero(x, axis=None):
    x = _truth(x)
    return tf.reduce_sum(cast(x, "int32"), axis=None if axis == () else _axes(x, axis)) if axis != () else cast(x, "int32")


def _without_nan(x, value):
    return tf.where(_nan(x), convert_to_tensor(value, x.dtype), x)


def nansum(x, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    return sum(_without_nan(x, 0), axis, keepdims)


def nanprod(x, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    return prod(_without_nan(x, 1), axis, keepdims)


def nanmean(x, axis=None, keepdims=False):
    x = _floating(x)
    there = cast(tf.logical_not(_nan(x)), x.dtype)
    return sum(_without_nan(x, 0), axis, keepdims) / sum(there, axis, keepdims)


def nanvar(x, axis=None, keepdims=False):
    x = _floating(x)
    there = cast(tf.logical_not(_nan(x)), x.dtype)
    centred = tf.where(_nan(x), tf.zeros_like(x), x - nanmean(x, axis, True))
    return sum(tf.square(centred), axis, keepdims) / sum(there, axis, keepdims)


def nanstd(x, axis=None, keepdims=False):
    return tf.sqrt(nanvar(x, axis, keepdims))


def _nan_extremum(x, axis, keepdims, worst, extremum):
    x = convert_to_tensor(x)
    if "float" not in _dtype(x):
        return extremum(x, axis, keepdims)
    gone = all(_nan(x), axis, keepdims)
    best = extremum(_without_nan(x, worst), axis, keepdims)
    return tf.where(gone, convert_to_tensor(float("nan"), x.dtype), best)


def nanmax(x, axis=None, keepdims=False):
    return _nan_extremum(x, axis, keepdims, -float("inf"), max)


def nanmin(x, axis=None, keepdims=False):
    return _nan_extremum(x, axis, keepdims, float("inf"), min)


def average(x, axis=None, weights=None):
    x = convert_to_tensor(x)
    if weights is None:
        return mean(x, axis)
    weights = convert_to_tensor(weights)
    kind = result_type(x.dtype, weights.dtype, float)
    x, weights = cast(x, kind), cast(weights, kind)
    if len(weights.shape) != len(x.shape):
        axis = canonicalize_axis(axis, len(x.shape))
        weights = tf.reshape(weights, [-1 if i == axis else 1 for i in range(len(x.shape))])
    return sum(x * weights, axis) / sum(weights * tf.ones_like(x), axis)


def _argument(x, axis, keepdims, op):
    x = convert_to_tensor(x)
    if _dtype(x) == "bool":
        x = cast(x, "int32")
    flat = tf.reshape(x, [-1]) if axis is None else x
    found = op(flat, axis=0 if axis is None else axis, output_type=tf.int32)
    if not keepdims:
        return found
    if axis is None:
        return tf.reshape(found, [1] * len(x.shape))
    return tf.expand_dims(found, axis)


def argmax(x, axis=None, keepdims=False):
    return _argument(x, axis, keepdims, tf.argmax)


def argmin(x, axis=None, keepdims=False):
    return _argument(x, axis, keepdims, tf.argmin)


def argsort(x, axis=-1):
    x = convert_to_tensor(x)
    if _dtype(x) == "bool":
        x = cast(x, "int32")
    if axis is None or len(x.shape) == 0:
        x, axis = tf.reshape(x, [-1]), -1
    return tf.argsort(x, axis=axis, stable=True)


def sort(x, axis=-1):
    x = convert_to_tensor(x)
    if _dtype(x) == "bool":
        return cast(sort(cast(x, "int32"), axis), "bool")
    if axis is None:
        x, axis = tf.reshape(x, [-1]), -1
    return x if len(x.shape) == 0 else tf.sort(x, axis=axis)


def cumsum(x, axis=None, dtype=None):
    x = convert_to_tensor(x)
    x = cast(x, dtype) if dtype is not None else (cast(x, "int32") if _dtype(x) == "bool" else x)
    return tf.cumsum(tf.reshape(x, [-1]) if axis is None else x, axis=0 if axis is None else axis)


def cumprod(x, axis=None, dtype=None):
    x = convert_to_tensor(x)
    x = cast(x, dtype) if dtype is not None else (cast(x, "int32") if _dtype(x) == "bool" else x)
    return tf.cumprod(tf.reshape(x, [-1]) if axis is None else x, axis=0 if axis is None else axis)


def diff(a, n=1, axis=-1):
    a = convert_to_tensor(a)
    axis = canonicalize_axis(axis, len(a.shape))
    for _ in range(n):
        length = a.shape[axis]
        later, before = take(a, tf.range(1, length), axis), take(a, tf.range(0, length - 1), axis)
        a = tf.not_equal(later, before) if _dtype(a) == "bool" else later - before
    return a


def quantile(x, q, axis=None, method="linear", keepdims=False):
    x, q = _floating(x), np.asarray(known(q), "float64")
    axes = list(range(len(x.shape))) if axis is None else _axes(x, axis)
    rest = [i for i in range(len(x.shape)) if i not in axes]
    lengths = [x.shape[i] for i in rest]
    rows = tf.sort(tf.reshape(tf.transpose(x, rest + axes), lengths + [-1]), axis=-1)
    n = rows.shape[-1]
    at = q.reshape(-1) * (n - 1)
    low, high = np.floor(at).astype("int32"), np.ceil(at).astype("int32")
    if method == "nearest":
        low = high = np.round(at).astype("int32")
    elif method == "lower":
        high = low
    elif method == "higher":
        low = high
    below, above = tf.gather(rows, low, axis=-1), tf.gather(rows, high, axis=-1)
    share = convert_to_tensor(np.full_like(at, 0.5) * (low != high) if method == "midpoint" else at - low * 1.0 if method
                              == "linear" else np.zeros_like(at), x.dtype)
    found = tf.where(tf.equal(below, above), below, below + (above - below) * share)
    if keepdims:
        found = tf.reshape(found, [1 if i in axes else n for i, n in enumerate(x.shape)] + [len(at)])
    found = moveaxis(found, -1, 0)
    return tf.reshape(found, list(q.shape) + list(found.shape)[1:])


def percentile(x, q, axis=None, method="linear", keepdims=False):
    return quantile(x, np.asarray(known(q), "float64") / 100, axis, method, keepdims)


def median(x, axis=None, keepdims=False):
    return quantile(x, 0.5, axis, keepdims=keepdims)


def bincount(x, weights=None, minlength=0, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with capstan backend")
    x = convert_to_tensor(x, "int32")
    kind = "int32" if weights is None else result_type(getattr(weights, "dtype", floatx()))
    size = builtins.max(int(known(tf.reduce_max(x))) + 1 if x.shape.num_elements() else 0, minlength)
    ones = tf.ones(x.shape, dtype_of(kind)) if weights is None else convert_to_tensor(weights, kind)
    if len(x.shape) == 1:
        return tf.unsorted_segment_sum(ones, x, size)
    return tf.stack([tf.unsorted_segment_sum(w, row, size) for row, w in zip(tf.unstack(x), tf.unstack(ones))])


# --- products ---

def matmul(x1, x2):
    x1, x2 = _both(x1, x2)
    kind = x1.dtype
    if _dtype(x1) == "bool":
        x1, x2 = cast(x1, "int32"), cast(x2, "int32")
    left, right = len(x1.shape) == 1, len(x2.shape) == 1
    if left:
        x1 = tf.expand_dims(x1, 0)
    if right:
        x2 = tf.expand_dims(x2, -1)
    y = tf.matmul(x1, x2)
    if left:
        y = tf.squeeze(y, axis=[-2])
    if right:
        y = tf.squeeze(y, axis=[-1])
    return cast(y, kind)


def dot(x1, x2):
    x1, x2 = _both(x1, x2)
    if not x1.shape or not x2.shape:
        return multiply(x1, x2)
    return tensordot(x1, x2, [[-1], [-1 if len(x2.shape) == 1 else -2]])


def inner(x1, x2):
    x1, x2 = _both(x1, x2)
    return multiply(x1, x2) if not x1.shape or not x2.shape else tensordot(x1, x2, [[-1], [-1]])


def vdot(x1, x2):
    return dot(ravel(conj(x1)), ravel(x2))


def tensordot(x1, x2, axes=2):
    x1, x2 = _both(x1, x2)
    kind = _dtype(x1)
    if kind == "bool":
        x1, x2 = cast(x1, "int32"), cast(x2, "int32")
    if not isinstance(axes, int):
        axes = [list(to_tuple_or_list(a)) for a in axes]
    return cast(tf.tensordot(x1, x2, axes), kind)


def outer(x1, x2):
    x1, x2 = _both(x1, x2)
    return multiply(tf.reshape(x1, [-1, 1]), tf.reshape(x2, [1, -1]))


def kron(x1, x2):
    x1, x2 = _both(x1, x2)
    rank = builtins.max(len(x1.shape), len(x2.shape))
    a = [1] * (rank - len(x1.shape)) + list(x1.shape)
    b = [1] * (rank - len(x2.shape)) + list(x2.shape)
    left = tf.reshape(x1, [n for m in a for n in (m, 1)])
    right = tf.reshape(x2, [n for m in b for n in (1, m)])
    return tf.reshape(multiply(left, right), [m * n for m, n in zip(a, b)])


def einsum(subscripts, *operands, **kwargs):
    if set(kwargs) - {"optimize"}:  # the order of products is the library's own
        raise TypeError(f"einsum() got an unexpected keyword argument '{min(set(kwargs) - {'optimize'})}'")
    operands = [convert_to_tensor(x) for x in operands]
    kind = result_type(*[x.dtype for x in operands])
    if len({_dtype(x) for x in operands}) == 1 and _dtype(operands[0]) == "uint8":
        kind = "int32"
    return tf.einsum(subscripts, *[cast(x, kind) for x in operands])


def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = _both(x1, x2)
    a, b = (_unstack_axis(x, ax) for x, ax in ((x1, axisa), (x2, axisb)))
    if len(a) == 2 and len(b) == 2:
        return a[0] * b[1] - a[1] * b[0]
    zero = tf.zeros_like(a[0] * b[0])
    a, b = (list(v) + [zero] * (3 - len(v)) for v in (a, b))
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return tf.stack([p + zero for p in parts], axis=axisc)


def _unstack_axis(x, axis):
    return tf.unstack(x, axis=axis)


def trace(x, offset=0, axis1=0, axis2=1):
    return sum(diagonal(x, offset, axis1, axis2), -1)


# --- making arrays ---

def _new(shape, value, dtype):
    shape = [shape] if isinstance(shape, int) else list(shape)
    return tf.fill(shape, convert_to_tensor(value, dtype or floatx()))


def ones(shape, dtype=None):
    return _new(shape, 1, dtype)


def zeros(shape, dtype=None):
    return _new(shape, 0, dtype)


empty = zeros


def full(shape, fill_value, dtype=None):
    value = convert_to_tensor(fill_value, dtype or floatx())
    return broadcast_to(value, [shape] if isinstance(shape, int) else list(shape))


def full_like(x, fill_value, dtype=None):
    x = convert_to_tensor(x)
    value = convert_to_tensor(fill_value, dtype or x.dtype)
    return tf.where(tf.ones_like(x, tf.bool), value, tf.zeros_like(x, value.dtype))


def zeros_like(x, dtype=None):
    x = convert_to_tensor(x)
    return tf.zeros_like(x, dtype_of(dtype or x.dtype))


def ones_like(x, dtype=None):
    x = convert_to_tensor(x)
    return tf.ones_like(x, dtype_of(dtype or x.dtype))


empty_like = zeros_like


def eye(N, M=None, k=0, dtype=None):
    return convert_to_tensor(np.eye(int(N), None if M is None else int(M), int(k)), dtype or floatx())


def identity(n, dtype=None):
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=None):
    return convert_to_tensor(np.tri(int(N), None if M is None else int(M), int(k)), dtype or floatx())


def arange(start, stop=None, step=None, dtype=None):
    given = [x for x in (start, stop, step) if x is not None]
    if dtype is None:
        dtype = result_type(*[getattr(x, "dtype", type(x)) for x in given])
    if not any_symbolic(*given):
        return convert_to_tensor(np.arange(*[known(x) for x in (start, stop, 1 if step is None else step)]
                                           if stop is not None else [0, known(start), 1 if step is None else known(step)]),
                                 dtype)
    return cast(tf.range(*given), dtype)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    kind = dtype or result_type(getattr(start, "dtype", type(start)), getattr(stop, "dtype", type(stop)), float)
    wide = kind if "float" in standardize_dtype(kind) else floatx()
    start, stop, num = convert_to_tensor(start, wide), convert_to_tensor(stop, wide), int(num)
    parts = num - 1 if endpoint else num
    step = (stop - start) / (parts if parts > 0 else float("nan"))
    at = convert_to_tensor(np.arange(num), wide)
    rank = len((start + stop).shape)
    grid = tf.reshape(at, [-1] + [1] * rank)
    values = tf.expand_dims(start + tf.zeros_like(stop), 0) + grid * tf.expand_dims(step, 0) if parts > 0 else (
        tf.expand_dims(start + tf.zeros_like(stop), 0) + grid)
    if endpoint and num > 1:
        values = tf.concat([values[:-1], tf.expand_dims(stop + tf.zeros_like(start), 0)], axis=0)
    values = cast(moveaxis(values, 0, axis), kind)
    return (values, step) if retstep else values


def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    kind = dtype or result_type(getattr(start, "dtype", type(start)), getattr(stop, "dtype", type(stop)), float)
    at = linspace(start, stop, num, endpoint, dtype=None, axis=axis)
    return cast(tf.pow(convert_to_tensor(base, at.dtype), at), kind)


def array(x, dtype=None):
    return convert_to_tensor(x, dtype)


def copy(x):
    return tf.identity(convert_to_tensor(x))


def meshgrid(*x, indexing="xy"):
    return list(tf.meshgrid(*[tf.reshape(convert_to_tensor(v), [-1]) for v in x], indexing=indexing))


# --- form ---

def reshape(x, newshape):
    return tf.reshape(convert_to_tensor(x), [newshape] if isinstance(newshape, int) else list(newshape))


def ravel(x):
    return tf.reshape(convert_to_tensor(x), [-1])


def transpose(x, axes=None):
    return tf.transpose(convert_to_tensor(x), None if axes is None else list(axes))


def moveaxis(x, source, destination):
    x = convert_to_tensor(x)
    rank = len(x.shape)
    source = [canonicalize_axis(a, rank) for a in to_tuple_or_list(source)]
    destination = [canonicalize_axis(a, rank) for a in to_tuple_or_list(destination)]
    order = [i for i in range(rank) if i not in source]
    for to, of in sorted(zip(destination, source)):
        order.insert(to, of)
    return x if order == list(range(rank)) else tf.transpose(x, order)


def swapaxes(x, axis1, axis2):
    x = convert_to_tensor(x)
    order = list(range(len(x.shape)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return tf.transpose(x, order)


def expand_dims(x, axis):
    x = convert_to_tensor(x)
    axes = to_tuple_or_list(axis)
    rank = len(x.shape) + len(axes)
    for a in sorted(canonicalize_axis(a, rank) for a in axes):
        x = tf.expand_dims(x, a)
    return x


def squeeze(x, axis=None):
    x = convert_to_tensor(x)
    axes = None if axis is None else [canonicalize_axis(a, len(x.shape)) for a in to_tuple_or_list(axis)]
    if axes:
        for a in axes:
            if x.shape[a] != 1:
                raise ValueError(f"Cannot squeeze axis={axis}, because the dimension is not 1.")
    return tf.squeeze(x, axis=axes)


def broadcast_to(x, shape):
    return tf.broadcast_to(convert_to_tensor(x), list(shape))


def concatenate(xs, axis=0):
    xs = [convert_to_tensor(x) for x in xs]
    kind = result_type(*[x.dtype for x in xs])
    return tf.concat([cast(x, kind) for x in xs], axis=axis)


def append(x1, x2, axis=None):
    x1, x2 = _both(x1, x2)
    return concatenate([ravel(x1), ravel(x2)]) if axis is None else concatenate([x1, x2], axis)


def stack(x, axis=0):
    xs = [convert_to_tensor(v) for v in (x if isinstance(x, (list, tuple)) else tf.unstack(convert_to_tensor(x)))]
    kind = result_type(*[v.dtype for v in xs])
    return tf.stack([cast(v, kind) for v in xs], axis=axis)


def _at_least(x, rank):
    x = convert_to_tensor(x)
    if len(x.shape) == 0:
        return tf.reshape(x, [1] * rank)
    if len(x.shape) == 1 and rank > 1:
        x = tf.expand_dims(x, 0)
    return tf.expand_dims(x, -1) if len(x.shape) == 2 and rank == 3 else x


def hstack(xs):
    xs = [_at_least(x, 1) for x in xs]
    return concatenate(xs, 0 if len(xs[0].shape) == 1 else 1)


def vstack(xs):
    return concatenate([_at_least(x, 2) for x in xs], 0)


def dstack(xs):
    return concatenate([_at_least(x, 3) for x in xs], 2)


def split(x, indices_or_sections, axis=0):
    x = convert_to_tensor(x)
    n = x.shape[axis]
    if isinstance(indices_or_sections, int):
        return list(tf.split(x, indices_or_sections, axis=axis))
    at = [0] + [int(i) for i in np.asarray(known(indices_or_sections))] + [n]
    at = [builtins.min(i if i >= 0 else i + n, n) for i in at]
    return list(tf.split(x, [builtins.max(b - a, 0) for a, b in zip(at, at[1:])], axis=axis))


def array_split(x, indices_or_sections, axis=0):
    x = convert_to_tensor(x)
    if not isinstance(indices_or_sections, int):
        return split(x, indices_or_sections, axis)
    size, more = divmod(x.shape[axis], indices_or_sections)
    return list(tf.split(x, [size + (i < more) for i in range(indices_or_sections)], axis=axis))


def hsplit(x, indices_or_sections):
    x = convert_to_tensor(x)
    return split(x, indices_or_sections, 0 if len(x.shape) == 1 else 1)


def vsplit(x, indices_or_sections):
    return split(x, indices_or_sections, 0)


def dsplit(x, indices_or_sections):
    return split(x, indices_or_sections, 2)


def flip(x, axis=None):
    x = convert_to_tensor(x)
    return tf.reverse(x, axis=list(range(len(x.shape))) if axis is None else list(to_tuple_or_list(axis)))


def fliplr(x):
    return flip(x, 1)


def flipud(x):
    return flip(x, 0)


def rot90(array, k=1, axes=(0, 1)):
    array = convert_to_tensor(array)
    if len(array.shape) < 2:
        raise ValueError(f"Input array must have at least 2 dimensions. Received: array.ndim={len(array.shape)}")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    k %= 4
    if k == 2:
        return flip(flip(array, axes[0]), axes[1])
    if k == 1:
        return swapaxes(flip(array, axes[1]), *axes)
    return flip(swapaxes(array, *axes), axes[1]) if k == 3 else array


def roll(x, shift, axis=None):
    x = convert_to_tensor(x)
    if axis is None:
        return tf.reshape(tf.roll(tf.reshape(x, [-1]), shift, 0), x.shape)
    if isinstance(axis, int) and isinstance(shift, (list, tuple)):
        shift = builtins.sum(shift)
    return tf.roll(x, shift, axis)


def repeat(x, repeats, axis=None):
    x = convert_to_tensor(x)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    repeats = known(repeats)
    repeats = np.asarray(repeats)
    if repeats.size == 1:
        return tf.repeat(x, int(repeats.reshape(-1)[0]), axis=axis)
    return tf.gather(x, np.repeat(np.arange(x.shape[axis]), repeats).astype("int32"), axis=axis)


def tile(x, repeats):
    x = convert_to_tensor(x)
    repeats = [int(r) for r in np.asarray(known(repeats)).reshape(-1)]
    rank = builtins.max(len(repeats), len(x.shape))
    x = tf.reshape(x, [1] * (rank - len(x.shape)) + list(x.shape))
    return tf.tile(x, [1] * (rank - len(repeats)) + repeats)


def pad(x, pad_width, mode="constant", constant_values=None):
    x = convert_to_tensor(x)
    if constant_values is not None and mode != "constant":
        raise ValueError("Argument `constant_values` can only be provided when `mode == 'constant'`. "
                         f"Received: mode={mode}")
    width = np.broadcast_to(np.asarray(known(pad_width)), (len(x.shape), 2)).tolist()
    if mode not in ("constant", "reflect", "symmetric"):
        return by_numpy("numpy", "pad")(x, pad_width, mode)
    kind = _dtype(x)
    wide = cast(x, "int32") if kind == "bool" else x
    value = 0 if constant_values is None else constant_values
    return cast(tf.pad(wide, width, mode=mode.upper(), constant_values=value), kind)


def take(x, indices, axis=None):
    x, indices = convert_to_tensor(x), convert_to_tensor(indices)
    if _dtype(indices) not in ("int32", "int64"):
        indices = cast(indices, "int32")
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    axis = canonicalize_axis(axis, len(x.shape))
    indices = tf.where(tf.less(indices, tf.zeros_like(indices)), indices + x.shape[axis], indices)
    return tf.gather(x, indices, axis=axis)


def take_along_axis(x, indices, axis=None):
    x, indices = convert_to_tensor(x), convert_to_tensor(indices, "int32")
    if axis is None:
        if len(indices.shape) != 1:
            raise ValueError("`indices` must be 1D if axis=None. Received: indices.shape={}".format(indices.shape))
        return take_along_axis(tf.reshape(x, [-1]), indices, 0)
    rank = len(x.shape)
    axis = canonicalize_axis(axis, rank)
    lengths = np.broadcast_shapes(*[tuple(1 if i == axis else n for i, n in enumerate(t.shape)) for t in (x, indices)])
    x = tf.broadcast_to(x, [x.shape[axis] if i == axis else n for i, n in enumerate(lengths)])
    indices = tf.broadcast_to(indices, [indices.shape[axis] if i == axis else n for i, n in enumerate(lengths)])
    indices = tf.where(tf.less(indices, tf.zeros_like(indices)), indices + x.shape[axis], indices)
    rest = [n for i, n in enumerate(lengths) if i != axis]
    rows, at = (tf.reshape(moveaxis(t, axis, -1), [-1, t.shape[axis]]) for t in (x, indices))
    found = tf.gather(rows, at, axis=1, batch_dims=1)
    return moveaxis(tf.reshape(found, rest + [indices.shape[axis]]), -1, axis)


def where(condition, x1=None, x2=None):
    condition = _truth(condition)
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("`x1` and `x2` either both should be `None` or both should have non-None value.")
    return tf.where(condition, *_both(x1, x2))


def nonzero(x):
    return tuple(convert_to_tensor(v, "int32") for v in np.nonzero(np.asarray(known(convert_to_tensor(x)))))


def select(condlist, choicelist, default=0):
    kind = result_type(*[getattr(x, "dtype", type(x)) for x in list(choicelist) + [default]])
    result = convert_to_tensor(default, kind)
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        result = tf.where(_truth(condition), convert_to_tensor(choice, kind), result)
    return result


def searchsorted(sorted_sequence, values, side="left"):
    if len(convert_to_tensor(sorted_sequence).shape) != 1:
        raise ValueError("`searchsorted` only supports 1-D sorted sequences. You can use `keras.ops.vectorized_map` to "
                         "extend it to N-D sequences. Received: sorted_sequence.shape="
                         f"{convert_to_tensor(sorted_sequence).shape}")
    a, b = _both(sorted_sequence, values)
    found = tf.searchsorted(a, tf.reshape(b, [-1]), side=side)
    return cast(tf.reshape(found, b.shape), "int32")


def digitize(x, bins):
    x, bins = convert_to_tensor(x), convert_to_tensor(bins)
    return cast(searchsorted(bins, x, side="right"), "int32")


# --- diagonals ---

def diag(x, k=0):
    x = convert_to_tensor(x)
    if len(x.shape) == 1:
        return tf.diag(x, k=k)
    if len(x.shape) == 2:
        return diagonal(x, k)
    raise ValueError(f"`x` must be 1d or 2d. Received: x.shape={x.shape}")


def diagflat(x, k=0):
    return tf.diag(ravel(x), k=k)


def diagonal(x, offset=0, axis1=0, axis2=1):
    x = moveaxis(convert_to_tensor(x), (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2], x.shape[-1]
    n = builtins.max(0, builtins.min(rows + builtins.min(offset, 0), columns - builtins.max(offset, 0)))
    at = np.arange(n)
    flat = (at - builtins.min(offset, 0)) * columns + at + builtins.max(offset, 0)
    return tf.gather(tf.reshape(x, list(x.shape)[:-2] + [rows * columns]), flat.astype("int32"), axis=-1)


def _triangle(x, k, lower):
    x = convert_to_tensor(x)
    mask = np.tri(x.shape[-2], x.shape[-1], k if lower else k - 1, dtype=bool)
    return tf.where(tf.constant(mask if lower else ~mask), x, tf.zeros_like(x))


def tril(x, k=0):
    return _triangle(x, k, True)


def triu(x, k=0):
    return _triangle(x, k, False)


# --- the rest ---

def ndim(x):
    return len(convert_to_tensor(x).shape)


def size(x):
    return tf.size(convert_to_tensor(x))


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    x = convert_to_tensor(x)
    if "float" not in _dtype(x):
        return x
    limits = _dtype_limits(x.dtype)
    for mask, value in ((_nan(x), nan), (isposinf(x), limits[1] if posinf is None else posinf),
                        (isneginf(x), limits[0] if neginf is None else neginf)):
        x = tf.where(mask, convert_to_tensor(value, x.dtype), x)
    return x


def _dtype_limits(dtype):
    """The least and the greatest number of a floating dtype."""
    if dtype == tf.bfloat16:
        return -3.3895313892515355e38, 3.3895313892515355e38
    limits = np.finfo(dtype.as_numpy_dtype)
    return float(limits.min), float(limits.max)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = _floating(y)
    y = moveaxis(y, axis, -1)
    if x is not None:
        x = cast(convert_to_tensor(x), y.dtype)
        dx = diff(moveaxis(x, axis, -1) if len(x.shape) > 1 else x)
    return tf.reduce_sum((y[..., 1:] + y[..., :-1]) * dx / 2.0, axis=-1)
