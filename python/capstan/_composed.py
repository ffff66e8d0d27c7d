"""Functions of TensorFlow that are composed of ops: of images, of signals, of systems, of checks."""
import math as _math

import numpy as np

from . import _audio, _boxes, _candidates, _ctc, _core, _image_draws, _modules, _ops
from ._convert import convert_to_tensor, dims, refuse
from ._dtypes import as_dtype, float32
from ._known import known

OPS = _ops.OPS


# --- tf ---

def group(*inputs, name=None):
    """Nothing: what is given has run when this is called."""


def tuple_(tensors, control_inputs=None, name=None):
    """The tensors as a list."""
    return [None if t is None else convert_to_tensor(t) for t in tensors]


def identity_n(input, name=None):
    """The tensors as a list."""
    return [OPS["identity"](t) for t in input]


def unravel_index(indices, dims, name=None):
    """The coordinates of flat indices in a shape, one row for each axis.

    Indices outside of the shape are refused where they are known; in a function, whose values are not, they give
    coordinates of another element.
    """
    lengths = [int(n) for n in np.asarray(known(dims)).reshape(-1)]
    rest, rows = convert_to_tensor(indices), []
    if not rest.is_symbolic:
        values, size = rest.numpy(), _math.prod(lengths)
        outside = values[(values < 0) | (values >= size)]
        if outside.size:
            raise ValueError(f"unravel_index: the index {outside[0]} is outside of the shape {lengths}, which has "
                             f"{size} elements")
    for n in reversed(lengths):
        rows.append(OPS["floormod"](rest, n))
        rest = OPS["floordiv"](rest, n)
    return _ops.stack(rows[::-1])


# --- math and nn ---

def zero_fraction(value, name=None):
    """The share of elements that are zero."""
    value = convert_to_tensor(value)
    return OPS["reduce_mean"](_ops.cast(_ops.equal(value, _ops.zeros_like(value)), float32))


def polyval(coeffs, x, name=None):
    """A polynomial, the coefficient of the highest power first."""
    x = convert_to_tensor(x)
    result = _ops.zeros_like(x)
    for c in coeffs:
        result = result * x + c
    return result


def _neighbours(x):
    flat = OPS["reshape"](convert_to_tensor(x), [-1])
    return flat[:-1], flat[1:]


def is_non_decreasing(x, name=None):
    """Whether no element is less than the one before."""
    a, b = _neighbours(x)
    return OPS["reduce_all"](a <= b)


def is_strictly_increasing(x, name=None):
    """Whether each element is larger than the one before."""
    a, b = _neighbours(x)
    return OPS["reduce_all"](a < b)


def convolution(input, filters, strides=None, padding="VALID", data_format=None, dilations=None, name=None):
    """A convolution over one to three axes."""
    input = convert_to_tensor(input)
    rank = input.shape.rank - 2
    if rank not in (1, 2, 3):
        raise ValueError(f"convolution: the input has {rank + 2} axes; it must have 3 to 5")
    strides = [1] * rank if strides is None else strides
    dilations = [1] * rank if dilations is None else dilations
    return OPS[f"conv{rank}d"](input, filters, strides, padding, data_format, dilations)


def conv_transpose(input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None, name=None):
    """The transpose of a convolution over one to three axes."""
    input = convert_to_tensor(input)
    rank = input.shape.rank - 2
    if rank not in (1, 2, 3):
        raise ValueError(f"conv_transpose: the input has {rank + 2} axes; it must have 3 to 5")
    dilations = [1] * rank if dilations is None else dilations
    return getattr(_modules.nn, f"conv{rank}d_transpose")(input, filters, output_shape, strides, padding, data_format, dilations)


def sufficient_statistics(x, axes, shift=None, keepdims=False, name=None):
    """Of the elements over axes: their number, their sum, the sum of their squares, both less `shift`, and the shift."""
    x = convert_to_tensor(x)
    axes = [axis % x.shape.rank for axis in dims(axes)]
    count = _ops.constant(_math.prod(x.shape[axis] for axis in axes), dtype=x.dtype)
    moved = x if shift is None else x - shift
    return (count, OPS["reduce_sum"](moved, axes, keepdims), OPS["reduce_sum"](moved * moved, axes, keepdims), shift)


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """Mean and variance of what sufficient_statistics() gives."""
    shifted_mean = mean_ss / counts
    variance = variance_ss / counts - shifted_mean * shifted_mean
    return (shifted_mean if shift is None else shifted_mean + shift), variance


def _square(op, numbers, what):
    numbers = [int(n) for n in numbers]
    if len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
        raise ValueError(f"{op}: {what} {numbers} must be [1, height, width, 1]")
    return numbers[1:3]


def dilation2d(input, filters, strides, padding, data_format, dilations, name=None):
    """The largest sum of an image's elements and those of a filter [height, width, channels] in each window."""
    refuse("dilation2d", data_format=(data_format, "NHWC"), padding=(padding, "SAME", "VALID"))
    x, filters = convert_to_tensor(input), convert_to_tensor(filters)
    steps, gaps = _square("dilation2d", strides, "strides"), _square("dilation2d", dilations, "dilations")
    if padding == "SAME":
        missing = [max((-(-n // step) - 1) * step + (k - 1) * gap + 1 - n, 0)
                   for n, k, step, gap in zip(x.shape[1:3], filters.shape[:2], steps, gaps)]
        x = OPS["pad"](x, [[0, 0], *([n // 2, n - n // 2] for n in missing), [0, 0]], "CONSTANT", x.dtype.min)
    height, width, channels = filters.shape
    patches = _modules.image.extract_patches(x, [1, height, width, 1], strides, dilations, "VALID")
    patches = OPS["reshape"](patches, [*patches.shape[:3], height * width, channels])
    return OPS["reduce_max"](patches + OPS["reshape"](filters, [height * width, channels]), 3)


def erosion2d(value, filters, strides, padding, data_format, dilations, name=None):
    """The smallest difference of an image's elements and those of a filter [height, width, channels] in each window."""
    return -dilation2d(-convert_to_tensor(value), OPS["reverse"](filters, [0, 1]), strides, padding, data_format, dilations)


def atrous_conv2d(value, filters, rate, padding, name=None):
    """A convolution with filters that have gaps."""
    return OPS["conv2d"](value, filters, [1, 1], padding, "NHWC", [int(rate)] * 2)


def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """The sum of losses over the size of the batch."""
    loss = convert_to_tensor(per_example_loss)
    if sample_weight is not None:
        loss = loss * _ops.cast(sample_weight, loss.dtype)
    size = loss.shape[0] if global_batch_size is None else global_batch_size
    return OPS["reduce_sum"](loss) / float(size)


def scale_regularization_loss(regularization_loss):
    """The sum of losses: there is one replica."""
    return OPS["reduce_sum"](convert_to_tensor(regularization_loss))


# --- linalg ---

def _unit_lower(lu):
    """The lower part, with ones on the diagonal."""
    lower = OPS["band_part"](lu, -1, 0)
    return lower - OPS["band_part"](lower, 0, 0) + _ops.eye(lu.shape[-1], dtype=lu.dtype)


def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
    """The matrix that lu() took apart."""
    refuse("lu_reconstruct", validate_args=(validate_args, False))
    lu = convert_to_tensor(lower_upper)
    product = OPS["matmul"](_unit_lower(lu), OPS["band_part"](lu, 0, -1))
    inverse = OPS["argsort"](convert_to_tensor(perm), -1)
    return OPS["gather"](product, inverse, None, product.shape.rank - 2, product.shape.rank - 2)


def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
    """The solution of a system whose matrix lu() took apart."""
    refuse("lu_solve", validate_args=(validate_args, False))
    lu, rhs = convert_to_tensor(lower_upper), convert_to_tensor(rhs)
    rank = lu.shape.rank - 2
    b = OPS["gather"](rhs, convert_to_tensor(perm), None, rank, rank)
    return OPS["triangular_solve"](lu, OPS["triangular_solve"](_unit_lower(lu), b, True), False)


# --- image ---

def convert_image_dtype(image, dtype, saturate=False, name=None):
    """The image in another dtype, where the largest integer is 1.0.

    An array of an integer dtype that tensors do not have, such as uint16, is scaled by its own largest number; to
    another integer dtype it is refused.
    """
    if isinstance(image, np.ndarray) and image.dtype.name in ("int8", "int16", "uint16", "uint32", "uint64"):
        if not as_dtype(dtype).is_floating:
            raise TypeError(f"convert_image_dtype: an array of {image.dtype} cannot become {as_dtype(dtype).name}\n"
                            "  help: convert it to tf.float32 first")
        return _ops.cast(convert_to_tensor(image / np.float64(np.iinfo(image.dtype).max)), dtype)
    return OPS["image_convert_image_dtype"](image, dtype, saturate)


def resize_with_pad(image, target_height, target_width, method="bilinear", antialias=False):
    """The image resized without distortion, with zeros around it."""
    image = convert_to_tensor(image)
    # In float32, as TensorFlow does: where that rounds down, the image is one pixel smaller than it could be.
    height, width = np.float32(image.shape[-3]), np.float32(image.shape[-2])
    target_height, target_width = np.float32(target_height), np.float32(target_width)
    ratio = max(height / target_height, width / target_width)
    high, wide = height / ratio, width / ratio
    resized = _modules.image.resize(image, [int(high), int(wide)], method=method, antialias=antialias)
    top, left = max(0, int((target_height - high) / 2)), max(0, int((target_width - wide) / 2))
    return OPS["image_pad_to_bounding_box"](resized, top, left, int(target_height), int(target_width))


class ResizeMethod:
    """The names of methods of resize()."""
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"
    LANCZOS3, LANCZOS5, GAUSSIAN, MITCHELLCUBIC = "lanczos3", "lanczos5", "gaussian", "mitchellcubic"


_YUV = np.array([[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]])


def rgb_to_yuv(images):
    """Brightness and two colours."""
    images = convert_to_tensor(images)
    return OPS["tensordot"](images, convert_to_tensor(_YUV, dtype=images.dtype), [[-1], [0]])


def yuv_to_rgb(images):
    """Red, green and blue again."""
    images = convert_to_tensor(images)
    inverse = np.array([[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]])
    return OPS["tensordot"](images, convert_to_tensor(inverse, dtype=images.dtype), [[-1], [0]])


# --- random ---

def gamma(shape, alpha, beta=None, dtype=float32, seed=None, name=None):
    """Draws of gamma distributions, [shape, alpha's shape]."""
    alpha = _ops.cast(convert_to_tensor(alpha), as_dtype(dtype))
    drawn = OPS["random_gamma"](alpha, list(dims(shape)), *([] if seed is None else [int(seed)]))
    return drawn if beta is None else drawn / _ops.cast(convert_to_tensor(beta), as_dtype(dtype))


def poisson(shape, lam, dtype=float32, seed=None, name=None):
    """Draws of Poisson distributions, [shape, lam's shape]."""
    lam = _ops.cast(convert_to_tensor(lam), float32)
    drawn = OPS["random_poisson"](lam, list(dims(shape)), *([] if seed is None else [as_dtype(dtype), int(seed)]))
    return _ops.cast(drawn, as_dtype(dtype))


# --- debugging ---

def assert_rank(x, rank, message=None, name=None):
    """Raises unless x has so many axes."""
    x = convert_to_tensor(x)
    if x.shape.rank != int(rank):
        raise ValueError(f"{message or ''} Static rank {x.shape.rank} is not {int(rank)}".strip())


def assert_rank_at_least(x, rank, message=None, name=None):
    """Raises unless x has at least so many axes."""
    x = convert_to_tensor(x)
    if x.shape.rank < int(rank):
        raise ValueError(f"{message or ''} Static rank {x.shape.rank} is less than {int(rank)}".strip())


def assert_rank_in(x, ranks, message=None, name=None):
    """Raises unless the number of axes is one of these."""
    x = convert_to_tensor(x)
    if x.shape.rank not in [int(r) for r in ranks]:
        raise ValueError(f"{message or ''} Static rank {x.shape.rank} is none of {list(ranks)}".strip())


def assert_scalar(tensor, message=None, name=None):
    """Raises unless a tensor is a scalar; gives it."""
    tensor = convert_to_tensor(tensor)
    if tensor.shape.rank != 0:
        raise ValueError(f"{message or 'Expected scalar shape'}, saw shape: {tuple(tensor.shape)}.")
    return tensor


def assert_type(tensor, tf_type, message=None, name=None):
    """Raises unless a tensor has this dtype."""
    tensor = convert_to_tensor(tensor)
    if tensor.dtype != as_dtype(tf_type):
        raise TypeError(f"{message or ''} tensor must be of type {as_dtype(tf_type)}; got {tensor.dtype}".strip())


def assert_integer(x, message=None, name=None):
    """Raises unless a tensor is one of integers."""
    x = convert_to_tensor(x)
    if not x.dtype.is_integer:
        raise TypeError(f"{message or ''} Expected x to be integer, and it has type {x.dtype}".strip())


def assert_same_float_dtype(tensors=None, dtype=None):
    """The floating dtype that all tensors have; raises if they have not."""
    found = {as_dtype(dtype)} if dtype is not None else set()
    found |= {convert_to_tensor(t).dtype for t in tensors or ()}
    if len(found) > 1 or any(not d.is_floating for d in found):
        raise ValueError(f"Expected one floating dtype, got {sorted(d.name for d in found)}")
    return found.pop() if found else float32


def assert_shapes(shapes, data=None, summarize=None, message=None, name=None):
    """Raises unless tensors have these shapes, in which a letter is the same length everywhere."""
    lengths = {}
    for x, shape in shapes.items() if isinstance(shapes, dict) else shapes:
        have = tuple(convert_to_tensor(x.deref() if hasattr(x, "deref") else x).shape)
        wanted = (shape,) if isinstance(shape, (int, str)) else tuple(shape)
        if len(have) != len(wanted):
            raise ValueError(f"{message or ''} The shape {have} has another rank than {wanted}".strip())
        for n, want in zip(have, wanted):
            known_length = want if isinstance(want, int) else lengths.setdefault(want, n) if want not in (None, ".") else n
            if n != known_length:
                raise ValueError(f"{message or ''} The shape {have} does not fit {wanted}: {n} is not {known_length}".strip())


def check_numerics(tensor, message, name=None):
    """The tensor; raises if an element is NaN or infinite."""
    tensor = convert_to_tensor(tensor)
    _core.debugging.assert_all_finite(tensor, message)
    return tensor


def install(tf):
    """Puts the functions where TensorFlow has them."""
    for module, names in (
            (tf, "group identity_n unravel_index"), (tf.math, "zero_fraction polyval is_non_decreasing "
             "is_strictly_increasing"), (tf.nn, "zero_fraction convolution atrous_conv2d compute_average_loss "
             "scale_regularization_loss conv_transpose sufficient_statistics normalize_moments dilation2d erosion2d"),
            (tf.linalg, "lu_reconstruct lu_solve"), (tf.random, "gamma poisson"),
            (tf.image, "convert_image_dtype resize_with_pad ResizeMethod rgb_to_yuv yuv_to_rgb"),
            (tf.debugging, "assert_rank assert_rank_at_least assert_rank_in assert_scalar assert_type assert_integer "
             "assert_same_float_dtype assert_shapes check_numerics")):
        for name in names.split():
            setattr(module, name, globals()[name])
    for module, functions in ((tf.random, _candidates.SAMPLERS), (tf.nn, {**_candidates.SAMPLERS, **_candidates.LOSSES})):
        for name, function in functions.items():
            setattr(module, name, function)
    for module, functions in ((tf.signal, _audio.NAMES), (tf.nn, _ctc.NAMES)):
        for name, function in functions.items():
            setattr(module, name, function)
    for name, function in {**_image_draws.NAMES, **_boxes.NAMES}.items():
        setattr(tf.image, name, function)
    tf.tuple, tf.scalar_mul = tuple_, tf.math.scalar_mul
    tf.assert_rank = assert_rank
    for name in ("zeros", "ones", "constant", "random_normal", "random_uniform"):
        setattr(tf, name + "_initializer", getattr(tf.keras.initializers, name))
