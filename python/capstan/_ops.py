"""Ops: every op of the library by the table, and the functions of TensorFlow that are none of our ops."""
import builtins
import collections
import functools
import sys

import numpy as np

from . import _core, _dtypes, _table
from ._convert import constant, convert_to_tensor, dims, is_tensor, refuse
from ._core import Tensor, Variable
from ._dtypes import as_dtype, float32, int32, int64
from ._known import known, remember
from .ragged import RaggedTensor

OPS = {name: _core.bind(name, name, parameters)
       for name, parameters in _table.read(_table.TABLE, _core.list_ops()).items()}


def _exported(names):
    return {name: OPS[name] for name in names.split()}


@functools.cache
def _named(op, names):
    """A class of tuples, made when it is needed: each takes a third of a millisecond."""
    return collections.namedtuple(op, names)


def _with_names(op, names):
    """The op whose results have names, as those of TensorFlow do, beside their places."""
    plain = OPS[op]

    @functools.wraps(plain)
    def call(*args, **kwargs):
        return _named(op, names)(*plain(*args, **kwargs))

    return call


OPS |= {op: _with_names(op, names) for op, names in (
    ("unique", "y idx"), ("unique_with_counts", "y idx count"), ("qr", "q r"), ("lu", "lu p"),
    ("slogdet", "sign log_abs_determinant"))}


_PLAIN = _exported("""
    add subtract multiply divide divide_no_nan multiply_no_nan floordiv floormod truncatediv truncatemod pow maximum
    minimum squared_difference atan2 xlogy xlog1py xdivy abs sign negative square sqrt rsqrt reciprocal reciprocal_no_nan
    exp expm1 log log1p floor ceil round rint erf erfc lgamma digamma erfinv ndtri igamma igammac polygamma zeta betainc
    lbeta sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh less less_equal greater greater_equal equal
    not_equal logical_and logical_or logical_not is_nan is_inf is_finite sigmoid identity stop_gradient complex real
    imag conj angle reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_any reduce_all reduce_logsumexp
    reduce_variance reduce_std reduce_euclidean_norm count_nonzero argmax argmin cumsum cumprod cumulative_logsumexp
    unsorted_segment_sum unsorted_segment_mean unsorted_segment_sqrt_n unsorted_segment_prod unsorted_segment_max
    unsorted_segment_min segment_sum segment_mean segment_prod segment_max segment_min dynamic_partition
    sort argsort top_k in_top_k searchsorted unique unique_with_counts histogram_fixed_width
    reverse_sequence space_to_batch batch_to_space reshape expand_dims squeeze broadcast_to
    size rank pad tile repeat roll linspace embedding_lookup gather_nd scatter_nd tensor_scatter_nd_add
    tensor_scatter_nd_sub tensor_scatter_nd_update tensor_scatter_nd_max tensor_scatter_nd_min one_hot boolean_mask
    slice tensordot norm global_norm clip_by_norm clip_by_value l2_normalize ensure_shape bias_add
    cholesky det inv trace diag diag_part log_sigmoid softplus softsign relu relu6 elu selu gelu leaky_relu silu
    squareplus crelu l2_loss conv1d conv2d conv3d depthwise_conv2d
    conv2d_transpose separable_conv2d max_pool2d avg_pool2d max_pool1d avg_pool1d max_pool3d avg_pool3d
    max_pool_with_argmax log_softmax moments weighted_cross_entropy_with_logits
    invert_permutation expint dawsn spence fresnel_cos fresnel_sin bessel_i0 bessel_i0e bessel_i1 bessel_i1e hypot
    nextafter cross band_part set_diag adjoint matrix_transpose""")
globals().update(_PLAIN)
logical_xor, bitwise_and, bitwise_or, bitwise_xor = (OPS[n] for n in (
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"))
mod, floor_div, neg, realdiv = floormod, floordiv, negative, divide  # noqa: F821


def truediv(x, y, name=None):
    """x / y, of integers in float64, of uint8 in float32."""
    return convert_to_tensor(x) / y


def add_n(inputs, name=None):
    """The sum of a list of tensors, or of the rows of a tensor."""
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) or convert_to_tensor(inputs).shape.rank else [inputs]
    result = OPS["add_n"](inputs)
    numbers = known(inputs) if result.is_symbolic else []
    if numbers and all(isinstance(n, builtins.int) for n in numbers):
        remember(result, sum(numbers))
    return result


def reshape(tensor, shape, name=None):
    """The same elements in another shape, of which one length may be -1."""
    try:
        return OPS["reshape"](tensor, shape)
    except _core.TraceError:
        return OPS["reshape"](tensor, known(shape))


def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """Rows that are one at these numbers. The dtype is that of the values, if they are given, else float32."""
    given = [v if v is None else convert_to_tensor(v, dtype) for v in (on_value, off_value)]
    dtypes = [v.dtype for v in given if v is not None]
    if len(set(dtypes)) > 1:
        raise TypeError(f"one_hot: on_value is {dtypes[0].name}, but off_value is {dtypes[1].name}")
    given = [v if v is None else known(cast(v, "float64")) for v in given]
    dtype = dtypes[0] if dtypes else None if dtype is None else as_dtype(dtype)
    return OPS["one_hot"](indices, known(depth), *given, axis, dtype)


def _dtype_name(dtype, default=None):
    return as_dtype(dtype if dtype is not None else default)


def zeros(shape, dtype=float32, name=None, layout=None):
    """A tensor of zeros."""
    return OPS["zeros"](dims(shape), as_dtype(dtype))


def ones(shape, dtype=float32, name=None, layout=None):
    """A tensor of ones."""
    return OPS["ones"](dims(shape), as_dtype(dtype))


def zeros_like(input, dtype=None, name=None, layout=None):
    """Zeros in the shape of a tensor."""
    return _cast_if(OPS["zeros_like"](input), dtype)


def ones_like(input, dtype=None, name=None, layout=None):
    """Ones in the shape of a tensor."""
    return _cast_if(OPS["ones_like"](input), dtype)


def _cast_if(x, dtype):
    return x if dtype is None or x.dtype == dtype else OPS["cast"](x, as_dtype(dtype))


def fill(dims, value, name=None, layout=None):
    """A tensor that has one value everywhere."""
    return OPS["fill"](convert_to_tensor(value), _lengths(dims))


def _lengths(shape):
    return dims(shape)


def shape(input, out_type=int32, name=None):
    """The lengths of a tensor, as a tensor."""
    input = convert_to_tensor(input)
    result = OPS["shape"](input, as_dtype(out_type))
    return remember(result, list(input.shape)) if result.is_symbolic else result


def size(input, out_type=int32, name=None):
    """The number of elements, as a tensor."""
    if isinstance(input, RaggedTensor):
        return OPS["size"](input, as_dtype(out_type))
    input = convert_to_tensor(input)
    result = OPS["size"](input, as_dtype(out_type))
    return remember(result, input.shape.num_elements()) if result.is_symbolic else result


def shape_n(input, out_type=int32, name=None):
    """The lengths of several tensors."""
    return [shape(x, out_type) for x in input]


def cast(x, dtype, name=None):
    """The same numbers in another dtype."""
    x = x if isinstance(x, (Tensor, Variable, RaggedTensor)) else convert_to_tensor(x)
    dtype = as_dtype(dtype)
    if x.dtype is dtype and not isinstance(x, RaggedTensor):
        return x if isinstance(x, Tensor) else x.value()
    return OPS["cast"](x, dtype)


def saturate_cast(value, dtype, name=None):
    """The same numbers in another dtype, those beyond its range at its ends."""
    return OPS["saturate_cast"](value, as_dtype(dtype))


def dynamic_stitch(indices, data, name=None):
    """Rows of several tensors in one, each at the place that its index says."""
    return OPS["dynamic_stitch"]([*indices, *data])


def to_float(x, name=None):
    """The same numbers in float32."""
    return cast(x, float32)


def _hint(*values):
    return next((v.dtype for v in values if isinstance(v, (Tensor, Variable))), None)


def where(condition, x=None, y=None, name=None):
    """x where the condition holds, else y; without both the coordinates where it holds."""
    if isinstance(condition, RaggedTensor):
        return OPS["where"](condition, x, y)
    condition = cast(convert_to_tensor(condition), _dtypes.bool)
    if x is None and y is None:
        return OPS["where_indices"](condition)
    if x is None or y is None:
        raise ValueError("where: x and y must both be given, or neither")
    hint = _hint(x, y)
    return OPS["where"](condition, convert_to_tensor(x, dtype_hint=hint), convert_to_tensor(y, dtype_hint=hint))


def range(start, limit=None, delta=1, dtype=None, name="range"):
    """Numbers from `start` up to `limit`, in steps of `delta`."""
    if limit is None:
        start, limit = 0, start
    given = (start, limit, delta)
    dtype = dtype or _hint(*given)
    given = start, limit, delta = tuple(known(v) for v in given)
    if dtype is None:
        hint = _hint(*given)
        is_float = any(isinstance(v, builtins.float) for v in given)
        dtype = hint or (float32 if is_float else int32)
    dtype = as_dtype(dtype)
    if any(isinstance(v, Tensor) and v.is_symbolic for v in given):
        start, limit, delta = (cast(convert_to_tensor(v, dtype_hint=dtype), dtype) for v in given)
        return OPS["range_of"](start, limit, delta)
    plain = [v.item() if isinstance(v, np.generic) else v.numpy().item() if is_tensor(v) else v for v in given]
    start, limit, delta = plain
    if dtype is float32 and delta != 0:
        # How many there are is computed in float32, as TensorFlow does.
        single = np.float32
        count = np.ceil((single(limit) - single(start)) / single(delta))
        limit = start + (builtins.float(count) - 0.5) * delta if count > 0 else limit
    return OPS["range"](start=start, limit=limit, delta=delta, dtype=dtype)


def linspace(start, stop, num, name=None, axis=0):
    """Evenly spaced numbers between two ends."""
    start = convert_to_tensor(start, dtype_hint=_hint(stop))
    return OPS["linspace"](start, convert_to_tensor(stop, dtype_hint=start.dtype), int(num), axis)


def concat(values, axis, name="concat"):
    """Tensors one behind the other along an axis."""
    return OPS["concat"](values if isinstance(values, (list, tuple)) else [values], int(axis))


def stack(values, axis=0, name="stack"):
    """Tensors side by side along a new axis."""
    return OPS["stack"](list(values), axis)


def unstack(value, num=None, axis=0, name="unstack"):
    """The slices of a tensor along an axis, as a list."""
    return OPS["unstack"](value, num, axis)


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Parts of a tensor along an axis: as many equal ones, or of the sizes given."""
    value = convert_to_tensor(value)
    sizes = known(num_or_size_splits)
    axis = int(axis)
    if is_tensor(sizes) or isinstance(sizes, np.ndarray):
        sizes = np.asarray(sizes).tolist()
    length = value.shape[axis]
    if isinstance(sizes, (list, tuple)):
        sizes = [int(s) for s in sizes]
        if sizes.count(-1) == 1:
            rest = length - sum(s for s in sizes if s != -1)
            sizes = [rest if s == -1 else s for s in sizes]
    else:
        count = int(sizes)
        if count <= 0 or length % count:
            raise ValueError(f"split: an axis of length {length} has no {count} equal parts")
        sizes = [length // count] * count
    return OPS["split"](value, sizes, axis)


def transpose(a, perm=None, conjugate=False, name="transpose"):
    """The axes in another order; reversed unless given."""
    return OPS["transpose"](a, perm, conjugate)


def matmul(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, a_is_sparse=False,
           b_is_sparse=False, output_type=None, grad_a=False, grad_b=False, name=None):
    """The product of matrices, over leading axes that broadcast."""
    if output_type is not None:
        refuse("matmul", output_type=(output_type, None))
    return OPS["matmul"](a, b, transpose_a, transpose_b, adjoint_a, adjoint_b)


_svd = OPS["svd"]


def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """Singular values and vectors, s, u and v; with compute_uv=False the values alone."""
    found = _svd(tensor, full_matrices, compute_uv)
    return found if compute_uv else found[0]


OPS["svd"] = svd


def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """The product of a matrix and a vector."""
    return squeeze(matmul(a, expand_dims(b, -1), transpose_a, adjoint_a=adjoint_a), [-1])  # noqa: F821


def einsum(equation, *inputs, optimize=None, name=None):
    """A sum of products, as the equation says."""
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = inputs[0]
    return OPS["einsum"](list(inputs), equation)


def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    """The rows of these numbers."""
    if axis is None:
        axis = batch_dims
    return OPS["gather"](params, indices, None, int(axis), int(batch_dims))


def reverse(tensor, axis, name=None):
    """A tensor back to front along axes."""
    return OPS["reverse"](tensor, axis)


def meshgrid(*args, indexing="xy", name=None):
    """Grids of coordinates."""
    return OPS["meshgrid"](list(args), indexing)


def eye(num_rows, num_columns=None, batch_shape=None, dtype=float32, name=None):
    """The identity matrix."""
    return OPS["eye"](int(num_rows), None if num_columns is None else int(num_columns),
                      None if batch_shape is None else dims(batch_shape), as_dtype(dtype))


def strided_slice(input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
                  shrink_axis_mask=0, var=None, name=None):
    """Elements from `begin` to `end` in steps of `strides`; masks as in TensorFlow."""
    begin = dims(begin)
    strides = [1] * len(begin) if strides is None else dims(strides)
    return OPS["strided_slice"](input_, begin, dims(end), strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask,
                                shrink_axis_mask)


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """Tensors scaled so that their common norm is at most `clip_norm`, and the norm that they had."""
    present = [t for t in t_list if t is not None]
    norm_ = OPS["global_norm"](present) if use_norm is None else convert_to_tensor(use_norm)
    if not present:
        return list(t_list), norm_
    scale = clip_norm / maximum(norm_, convert_to_tensor(clip_norm, dtype_hint=norm_.dtype))  # noqa: F821
    # A norm that is not finite makes everything NaN, as in TensorFlow, rather than zero.
    scale = scale + (norm_ - norm_)
    return [None if t is None else t * scale for t in t_list], norm_


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """The sum of tensors of one shape."""
    refuse("accumulate_n", shape=(shape, None), tensor_dtype=(tensor_dtype, None))
    return add_n(inputs)


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=int32, name=None, axis=None, binary_output=False):
    """How often each number occurs, over all axes or with axis -1 in each row; or the sum of its weights, or with
    `binary_output` whether it does."""
    if weights is None and axis in (None, 0) and not binary_output:
        return OPS["bincount"](arr, minlength, maxlength, as_dtype(dtype))
    if axis not in (None, 0, -1):
        raise ValueError(f"bincount: axis must be None, 0 or -1, not {axis}")
    if weights is not None and binary_output:
        raise ValueError("bincount: binary_output takes no weights")
    numbers = cast(convert_to_tensor(arr), "int64")
    counted = ones(numbers.shape, dtype) if weights is None else convert_to_tensor(weights)
    if counted.shape != numbers.shape:
        raise ValueError(f"bincount: weights have the shape {counted.shape}, arr {numbers.shape}")
    if axis == -1 and numbers.shape.rank not in (1, 2):
        raise ValueError(f"bincount: with axis=-1 arr has one or two axes, not {numbers.shape.rank}")
    least = 0 if minlength is None else int(minlength)
    bins = max(least, int(known(OPS["reduce_max"](numbers))) + 1) if numbers.shape.num_elements() else least
    bins = bins if maxlength is None else min(bins, int(maxlength))
    if numbers.shape.num_elements() and int(known(OPS["reduce_min"](numbers))) < 0:
        raise ValueError("bincount: arr has a negative number")
    rows = numbers.shape[0] if axis == -1 and numbers.shape.rank == 2 else 1
    places = where(numbers < bins, numbers, -rows * bins)  # what is negative is dropped
    if rows > 1:
        places = places + range(rows, dtype="int64")[:, None] * bins
    sums = OPS["unsorted_segment_sum"](reshape(counted, [-1]), reshape(places, [-1]), rows * bins)
    sums = cast(OPS["minimum"](sums, ones_like(sums)), sums.dtype) if binary_output else sums
    return reshape(sums, [rows, bins]) if axis == -1 and numbers.shape.rank == 2 else sums


def sequence_mask(lengths, maxlen=None, dtype=_dtypes.bool, name=None):
    """True for the steps before each length."""
    return OPS["sequence_mask"](lengths, None if maxlen is None else int(maxlen), as_dtype(dtype))


def confusion_matrix(labels, predictions, num_classes=None, weights=None, dtype=int32, name=None):
    """How often each class was taken for which."""
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    if weights is None:
        return OPS["confusion_matrix"](labels, predictions, num_classes, as_dtype(dtype))
    if num_classes is None:
        num_classes = builtins.max(int(reduce_max(x)) for x in (labels, predictions)) + 1  # noqa: F821
    indices = stack([labels, predictions], axis=-1)
    return OPS["scatter_nd"](indices, cast(weights, dtype), [int(num_classes)] * 2)


def equal(x, y, name=None):
    """Whether elements are equal."""
    return OPS["equal"](x, y)


def not_equal(x, y, name=None):
    """Whether elements differ."""
    return OPS["not_equal"](x, y)


def softmax(logits, axis=-1, name=None):
    """Probabilities along an axis."""
    return OPS["softmax"](logits, -1 if axis is None else axis)


def softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None):
    """The cross entropy of labels that are probabilities and of logits."""
    return OPS["softmax_cross_entropy_with_logits"](labels, logits, axis)


def sparse_softmax_cross_entropy_with_logits(labels, logits, name=None):
    """The cross entropy of class numbers and of logits."""
    return OPS["sparse_softmax_cross_entropy_with_logits"](labels, logits)


def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None):
    """The cross entropy of labels between 0 and 1 and of logits."""
    return OPS["sigmoid_cross_entropy_with_logits"](labels, logits)


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """Normalizes by mean and variance."""
    factor = OPS["rsqrt"](variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    shift = -mean * factor if offset is None else offset - mean * factor
    return x * factor + shift


def swish(features, beta=1.0):
    """x * sigmoid(beta * x)."""
    return OPS["silu"](features, float(beta))


silu = swish


def top_k(input, k=1, sorted=True, index_type=int32, name=None):
    """The largest elements of each row, and where they are."""
    values, places = OPS["top_k"](input, int(k), sorted)
    return _named("top_k", "values indices")(values, _cast_if(places, as_dtype(index_type)))


def no_op(name=None):
    """Nothing."""


def print_(*inputs, output_stream=None, summarize=3, sep=" ", end="\n", name=None):
    """Prints texts, numbers and tensors to stderr, or to a stream; in a traced function at every call of it."""
    stream = sys.stderr if output_stream is None else output_stream
    items = [item if is_tensor(item) else str(item) for item in inputs]
    _core.print(items, stream.write, sep, end)


def _refuse_traces(function):
    """A call back to Python cannot be part of a trace: the traced function runs without one."""
    if _core.inside_function():
        raise _core.UntraceableError(f"{function}: a trace cannot call back to Python each time that it runs")


def numpy_function(func, inp, Tout, stateful=True, name=None):
    """Calls a function of arrays. A traced function that calls it runs without a trace."""
    _refuse_traces("numpy_function")
    return _results("numpy_function", func, [np.asarray(x) for x in inp], Tout)


def py_function(func=None, inp=None, Tout=None, name=None):
    """Calls a function of tensors that may read their values. Tapes see what it does. A traced function that calls it runs
    without a trace. Without a function it is a decorator, of one that is called with the tensors."""
    if func is None:
        return lambda function: lambda *tensors: py_function(function, tensors, Tout)
    _refuse_traces("py_function")
    return _results("py_function", func, [convert_to_tensor(x) for x in inp or ()], Tout)


def _results(where, func, arguments, dtypes):
    """What a function gives, as tensors of these dtypes: one, or a list of them."""
    result = func(*arguments)
    if not isinstance(dtypes, (list, tuple)):
        return None if dtypes is None else convert_to_tensor(result, dtype=dtypes)
    results = list(result) if isinstance(result, (list, tuple)) else [] if result is None else [result]
    if len(results) != len(dtypes):
        raise ValueError(f"{where}: the function gave {len(results)} results for {len(dtypes)} dtypes")
    return [convert_to_tensor(value, dtype=dtype) for value, dtype in zip(results, dtypes)]


def ensure_shape(x, shape, name=None):
    """x, if it has this shape, whose lengths may be None."""
    return OPS["ensure_shape"](x, dims(shape))


def group_of(names):
    """Functions of this file by their names, for the modules that TensorFlow has them in."""
    return {n: globals()[n] for n in names.split()}
