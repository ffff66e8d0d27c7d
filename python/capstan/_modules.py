"""Modules of names: tf.math, tf.nn, tf.linalg and their like, which hold functions that are defined elsewhere."""
import sys
import types

from . import _core, _dtypes, _ops, _streams
from ._convert import convert_to_tensor, dims, refuse
from ._dtypes import as_dtype, float32, int32


class _Module(types.ModuleType):
    """A module that is no file. Its names may be added to."""

    @property
    def __all__(self):
        return sorted(n for n in vars(self) if not n.startswith("_"))


def make_module(name, names, text):
    """A module of the package, with a dictionary of names; it can be imported under its full name."""
    module = _Module(f"{__package__}.{name}", text)
    module.__dict__.update(names)
    sys.modules[module.__name__] = module
    return module


_MATH = """
    add subtract multiply divide divide_no_nan multiply_no_nan floordiv floormod mod pow maximum minimum
    squared_difference atan2 xlogy xlog1py xdivy abs sign negative square sqrt rsqrt reciprocal reciprocal_no_nan exp
    expm1 log log1p floor ceil round rint erf erfc lgamma digamma erfinv ndtri igamma igammac polygamma zeta betainc
    lbeta sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh less less_equal greater greater_equal equal
    not_equal logical_and logical_or logical_xor logical_not is_nan is_inf is_finite sigmoid real imag conj angle
    reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_any reduce_all reduce_logsumexp reduce_variance
    reduce_std reduce_euclidean_norm count_nonzero argmax argmin cumsum cumprod cumulative_logsumexp
    unsorted_segment_sum unsorted_segment_mean unsorted_segment_sqrt_n unsorted_segment_prod unsorted_segment_max
    unsorted_segment_min segment_sum segment_mean segment_prod segment_max segment_min top_k in_top_k bincount
    confusion_matrix log_sigmoid softplus softsign l2_normalize add_n accumulate_n truediv softmax log_softmax
    invert_permutation nextafter scalar_mul"""
_NN = """
    relu relu6 elu selu gelu leaky_relu silu swish softplus softsign log_softmax softmax sigmoid tanh crelu l2_loss
    bias_add l2_normalize moments conv1d conv2d conv3d conv2d_transpose depthwise_conv2d separable_conv2d
    max_pool2d avg_pool2d max_pool1d avg_pool1d max_pool3d avg_pool3d max_pool_with_argmax top_k in_top_k
    softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits sigmoid_cross_entropy_with_logits
    weighted_cross_entropy_with_logits embedding_lookup batch_normalization log_sigmoid"""


def _scalar_mul(scalar, x, name=None):
    """The product of a scalar and a tensor."""
    return scalar * x


def _adopt(pairs):
    return {name: _ops.OPS[op] for name, op in (p.split(":") if ":" in p else (p, p) for p in pairs.split())}


_ops.scalar_mul = _scalar_mul
math = make_module("math", {**_ops.group_of(_MATH), **_adopt(
    "erfcinv bessel_i0 bessel_i0e bessel_i1 bessel_i1e")}, "tf.math")
special = make_module("math.special", _adopt(
    "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 "
    "bessel_y1 dawsn expint fresnel_cos fresnel_sin spence"), "tf.math.special")
math.special = special


def _max_pool_channels(input, ksize, strides):
    size, channels = ksize[-1], input.shape[-1]
    strides = list(strides) if isinstance(strides, (list, tuple)) else strides
    if set(ksize[:-1]) != {1} or strides != ksize or channels % size:
        raise _core.InvalidArgumentError(
            f"max_pool: channels are pooled alone and in whole groups, with strides like ksize; there are {channels}, "
            f"ksize is {ksize} and strides are {strides}")
    result = input[..., 0::size]
    for i in range(1, size):
        result = _ops.OPS["maximum"](result, input[..., i::size])
    return result


def _max_pool(input, ksize, strides, padding, data_format=None, name=None):
    """The largest element of each window, over one to three axes, or of each group of channels: ksize=[1, 1, 1, 3]."""
    input = convert_to_tensor(input)
    rank = input.shape.rank - 2
    lengths = list(ksize) if isinstance(ksize, (list, tuple)) else []
    if len(lengths) == rank + 2 and lengths[-1] > 1 and data_format in (None, "NWC", "NHWC", "NDHWC"):
        return _max_pool_channels(input, lengths, strides)
    return _ops.OPS[f"max_pool{rank}d"](input, ksize, strides, padding, data_format)


def _avg_pool(input, ksize, strides, padding, data_format=None, name=None):
    """The mean of each window, over one to three axes."""
    rank = convert_to_tensor(input).shape.rank - 2
    return _ops.OPS[f"avg_pool{rank}d"](input, ksize, strides, padding, data_format)


def _dropout(x, rate, noise_shape=None, seed=None, name=None):
    """Elements at random set to zero and the others divided by 1 - rate; `noise_shape` has 1 where a choice is shared."""
    seeds = [] if seed is None else [int(seed)]
    if noise_shape is None:
        return _ops.OPS["dropout"](x, float(rate), *seeds)
    x = convert_to_tensor(x)
    kept = _ops.OPS["dropout"](_ops.ones(dims(noise_shape), x.dtype), float(rate), *seeds)
    return _ops.OPS["where"](kept > 0, x * kept, _ops.zeros_like(x))


def _fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC",
                      is_training=True, name=None, exponential_avg_factor=1.0):
    """Batch normalisation over all axes but the last: the result, the mean and the variance."""
    refuse("fused_batch_norm", data_format=(data_format, "NHWC", "NDHWC"),
           exponential_avg_factor=(float(exponential_avg_factor), 1.0))
    if is_training:
        return _ops.OPS["fused_batch_norm_training"](x, scale, offset, float(epsilon))
    result = _ops.OPS["fused_batch_norm_inference"](x, scale, offset, mean, variance, float(epsilon))
    return result, mean, variance


nn = make_module("nn", {**_ops.group_of(_NN), "max_pool": _max_pool, "avg_pool": _avg_pool,
                        "fused_batch_norm": _fused_batch_norm, "dropout": _dropout, **_adopt(
    "conv1d_transpose conv3d_transpose weighted_moments pool local_response_normalization lrn:local_response_normalization ctc_loss log_poisson_loss space_to_depth "
    "depth_to_space atrous_pool:pool fractional_max_pool fractional_avg_pool")}, "tf.nn")

linalg = make_module("linalg", {**_ops.group_of(
    "matmul matvec einsum tensordot eye norm global_norm l2_normalize diag diag_part trace det inv cholesky adjoint "
    "band_part set_diag matrix_transpose cross"), **_adopt(
        "cholesky_solve logdet solve triangular_solve pinv lstsq slogdet qr lu svd eigh eigvalsh eig eigvals "
        "matrix_rank expm sqrtm logm tensor_diag tensor_diag_part normalize kron outer")}, "tf.linalg")
bitwise = make_module("bitwise", _adopt("bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"),
                      "tf.bitwise")
signal = make_module("signal", _adopt(
    "fft ifft fft2d ifft2d fft3d ifft3d rfft irfft fftshift ifftshift frame overlap_and_add hann_window hamming_window "
    "stft inverse_stft rfft2d irfft2d"), "tf.signal")
image = make_module("image", {name[6:]: op for name, op in _ops.OPS.items()
                              if name.startswith("image_") and not name.endswith("_adjoint")}, "tf.image")


# --- random numbers ---

def _seeded(op, shape, *numbers, dtype, seed):
    return _ops.OPS[op](dims(shape), *[float(n) if not isinstance(n, int) else n for n in numbers], as_dtype(dtype),
                        *([] if seed is None else [int(seed)]))


def normal(shape, mean=0.0, stddev=1.0, dtype=float32, seed=None, name=None):
    """Draws of a normal distribution."""
    return _seeded("random_normal", shape, float(mean), float(stddev), dtype=dtype, seed=seed)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=float32, seed=None, name=None):
    """Draws of a normal distribution, those beyond two deviations drawn again."""
    return _seeded("random_truncated_normal", shape, float(mean), float(stddev), dtype=dtype, seed=seed)


def uniform(shape, minval=0, maxval=None, dtype=float32, seed=None, name=None):
    """Draws of a uniform distribution; of integers `maxval` must be given and is left out."""
    dtype = as_dtype(dtype)
    if maxval is None:
        if dtype.is_integer:
            raise ValueError("random.uniform: maxval must be given for integers")
        maxval = 1
    number = int if dtype.is_integer else float
    return _seeded("random_uniform", shape, number(minval), number(maxval), dtype=dtype, seed=seed)


def shuffle(value, seed=None, name=None):
    """The rows of a tensor in another order."""
    return _ops.OPS["random_shuffle"](value, *([] if seed is None else [int(seed)]))


def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """Draws of class numbers."""
    return _ops.OPS["random_categorical"](logits, int(num_samples), as_dtype(dtype or "int64"),
                                          *([] if seed is None else [int(seed)]))


def set_seed(seed):
    """Starts all streams of random numbers of the process."""
    _core.set_seed(int(seed))


random = make_module("random", {"normal": normal, "truncated_normal": truncated_normal, "uniform": uniform,
                                "shuffle": shuffle, "categorical": categorical, "set_seed": set_seed,
                                **_streams.NAMES}, "tf.random")

# --- checks ---

def _comparison(name):
    check = getattr(_core.debugging, name)

    def compare(x, y, message=None, summarize=None, name=None):
        check(x, y, message or "")
    compare.__name__, compare.__doc__ = name, f"Raises unless {name[7:].replace('_', ' ')} holds of all elements."
    return compare


def _check(name):
    check = getattr(_core.debugging, name)

    def checked(x, message=None, summarize=None, name=None):
        check(x, message or "")
        return x
    checked.__name__, checked.__doc__ = name, f"Raises unless all elements are {name[7:].replace('_', ' ')}."
    return checked


def _assert_none_equal(x, y, summarize=None, message=None, name=None):
    """Raises if an element of x is equal to the one of y."""
    _core.debugging.assert_none_equal(x, y, message or "")


def _assert_near(x, y, rtol=None, atol=None, message=None, summarize=None, name=None):
    """Raises unless x and y are close."""
    _core.debugging.assert_near(x, y, None if rtol is None else float(rtol), None if atol is None else float(atol),
                                message or "")


def _assert(condition, data, summarize=None, name=None):
    """Raises unless the condition holds, and shows the data."""
    tensors = [d for d in (data if isinstance(data, (list, tuple)) else [data]) if not isinstance(d, str)]
    texts = " ".join(d for d in (data if isinstance(data, (list, tuple)) else [data]) if isinstance(d, str))
    _core.debugging.assert_true(condition, tensors, texts)


debugging = make_module("debugging", {
    **{n: _comparison(n) for n in ("assert_equal", "assert_less", "assert_less_equal", "assert_greater",
                                   "assert_greater_equal")},
    **{n: _check(n) for n in ("assert_positive", "assert_negative", "assert_non_positive", "assert_non_negative",
                              "assert_all_finite")},
    "assert_none_equal": _assert_none_equal, "assert_near": _assert_near, "Assert": _assert}, "tf.debugging")

# --- settings ---

def _setting(function, name, text, *parameters):
    """A function of the library with a signature, which compiled functions do not show."""
    lines = [f"def {name}({', '.join(parameters)}):", f"    {text!r}",
             f"    return function({', '.join(p.partition('=')[0] for p in parameters)})"]
    names = {"function": function}
    exec("\n".join(lines), names)  # noqa: S102
    return names[name]


debugging.enable_check_numerics = _setting(
    lambda stack_height_limit, path_length_limit: _core.debugging.enable_check_numerics(), "enable_check_numerics",
    "From now on an op that gives NaN or an infinity raises, and says which.", "stack_height_limit=30",
    "path_length_limit=50")
debugging.disable_check_numerics = _setting(
    _core.debugging.disable_check_numerics, "disable_check_numerics", "Ends what enable_check_numerics() began.")
config = make_module("config", {
    "run_functions_eagerly": _setting(_core.run_functions_eagerly, "run_functions_eagerly",
                                      "Whether functions run as Python does, op by op.", "run_eagerly"),
    "functions_run_eagerly": _setting(_core.functions_run_eagerly, "functions_run_eagerly",
                                      "What run_functions_eagerly() has set.")}, "tf.config")
threading = make_module("config.threading", {
    "set_intra_op_parallelism_threads": _setting(
        _core.set_num_threads, "set_intra_op_parallelism_threads", "How many threads an op may use.", "num_threads"),
    "get_intra_op_parallelism_threads": _setting(
        _core.num_threads, "get_intra_op_parallelism_threads", "How many threads an op may use."),
    "set_inter_op_parallelism_threads": _setting(
        lambda num_threads: None, "set_inter_op_parallelism_threads", "Changes nothing: ops run one after the other.",
        "num_threads")}, "tf.config.threading")
config.threading = threading
# What the library raises, and names that scripts catch beside them.
errors = make_module("errors", {
    "InvalidArgumentError": _core.InvalidArgumentError, "OpError": _core.Error, "NotFoundError": _core.IoError,
    "DataLossError": _core.IoError, "PermissionDeniedError": _core.IoError,
    **{name: type(name, (_core.Error,), {"__doc__": "Not raised by the library."}) for name in (
        "AbortedError", "AlreadyExistsError", "CancelledError", "DeadlineExceededError", "FailedPreconditionError",
        "InternalError", "OutOfRangeError", "ResourceExhaustedError", "UnauthenticatedError", "UnavailableError",
        "UnimplementedError", "UnknownError")}}, "tf.errors")
dtypes = make_module("dtypes", {"as_dtype": as_dtype, "cast": _ops.cast, "saturate_cast": _ops.saturate_cast,
                                **{name: getattr(_dtypes, name) for name in (
                                    "DType", "float32", "float64", "bfloat16", "int32", "int64", "uint8", "bool",
                                    "complex64", "complex128", "string")}}, "tf.dtypes")
