"""What Keras makes of other functions of keras.ops."""
import numpy as np

import capstan as tf

from ..._ctc import ctc_decode
from . import _nn, _numpy as knp
from ._by_numpy import numpy_results
from ._core import convert_to_tensor
from ._image_warps import _images_of
from ._nn import _channels_last
from ._numpy import _floating
from ._rules import epsilon as default_epsilon, standardize_data_format


def normalize(x, axis=-1, order=2, epsilon=None):
    """The tensor over its norm along an axis, which is at least `epsilon`."""
    x = _floating(x)
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"Argument `order` must be an int >= 1. Received: order={order}")
    least = default_epsilon() if epsilon is None else epsilon
    axes = axis if axis is None else list(knp.to_tuple_or_list(axis))
    if order == 2:
        squares = tf.reduce_sum(tf.square(x), axis=axes, keepdims=True)
        return x * tf.math.rsqrt(tf.maximum(squares, convert_to_tensor(least, x.dtype) ** 2))
    sums = tf.reduce_sum(tf.pow(tf.abs(x), convert_to_tensor(float(order), x.dtype)), axis=axes, keepdims=True)
    return x / tf.maximum(tf.pow(sums, convert_to_tensor(1.0 / order, x.dtype)), convert_to_tensor(least, x.dtype))


def view_as_complex(x):
    """Complex numbers from a last axis of real and imaginary parts."""
    x = convert_to_tensor(x)
    if len(x.shape) < 1 or x.shape[-1] != 2:
        raise ValueError(f"Last dimension must be of size 2 (real and imaginary). Received shape: {tuple(x.shape)}")
    return tf.complex(x[..., 0], x[..., 1])


def view_as_real(x):
    """Real and imaginary parts of complex numbers as a last axis."""
    x = convert_to_tensor(x)
    return tf.stack([tf.math.real(x), tf.math.imag(x)], axis=-1)


def _spans(length, before, target, after, names):
    """How much is left out, or added, before and after, of which one is given beside the target or both are."""
    given = [value is not None for value in (before, target, after)]
    if sum(given) != 2:
        raise ValueError("Must specify exactly two of {}. Received: {}={}, {}={}, {}={}".format(
            ", ".join(names), *[item for pair in zip(names, (before, after, target)) for item in pair]))
    if before is None:
        return length - target - after, after
    return before, length - target - before if after is None else after


def _placed(images, top, left, bottom, right, height, width, data_format, is_crop):
    sign, kind = (1, "cropping") if is_crop else (-1, "padding")

    def spans(length, before, target, after, names):
        if target is not None:
            before, after = (before if before is None else sign * before, after if after is None else sign * after)
            first, last = _spans(length, before, target, after, names)
            return sign * first, sign * last
        if before is None or after is None:
            _spans(length, before, target, after, names)
        return before, after

    def placed(x):
        rows, columns = x.shape[1], x.shape[2]
        above, below = spans(rows, top, height, bottom, (f"top_{kind}", f"bottom_{kind}", "target_height"))
        before, after = spans(columns, left, width, right, (f"left_{kind}", f"right_{kind}", "target_width"))
        if min(above, before, below, after) < 0:
            raise ValueError(f"{kind} must be >= 0. Received: top={above}, bottom={below}, left={before}, right={after}")
        if not is_crop:
            return tf.pad(x, [[0, 0], [above, below], [before, after], [0, 0]])
        if above + below >= rows or before + after >= columns:
            raise ValueError(f"the cropping leaves nothing of images of {rows} x {columns}")
        return x[:, above:rows - below, before:columns - after, :]
    return _images_of(placed, images, data_format)


def pad_images(images, top_padding=None, left_padding=None, bottom_padding=None, right_padding=None, target_height=None,
               target_width=None, data_format=None):
    """Images with zeros around them, so many or up to a size."""
    return _placed(images, top_padding, left_padding, bottom_padding, right_padding, target_height, target_width,
                   data_format, False)


def crop_images(images, top_cropping=None, left_cropping=None, bottom_cropping=None, right_cropping=None,
                target_height=None, target_width=None, data_format=None):
    """Images without their borders, so many rows and columns or down to a size."""
    return _placed(images, top_cropping, left_cropping, bottom_cropping, right_cropping, target_height, target_width,
                   data_format, True)


def extract_patches(images, size, strides=None, dilation_rate=1, padding="valid", data_format=None):
    """Windows of images, each a row of its numbers."""
    size = [size] * 2 if isinstance(size, int) else list(size)
    steps = size if strides is None else [strides] * 2 if isinstance(strides, int) else list(strides)
    rates = [dilation_rate] * 2 if isinstance(dilation_rate, int) else list(dilation_rate)
    return _images_of(lambda x: tf.image.extract_patches(x, [1, *size, 1], [1, *steps, 1], [1, *rates, 1], padding.upper()),
                      images, data_format)


def rms_normalization(x, scale=None, axis=-1, epsilon=None):
    """The tensor over the root of the mean of its squares along axes."""
    x = _floating(x)
    axes = list(knp.to_tuple_or_list(axis))
    squares = tf.reduce_mean(tf.square(x), axis=axes, keepdims=True)
    y = x * tf.math.rsqrt(squares + convert_to_tensor(default_epsilon() if epsilon is None else epsilon, x.dtype))
    return y if scale is None else y * convert_to_tensor(scale, x.dtype)


def layer_normalization(x, gamma=None, beta=None, axis=-1, epsilon=None):
    """The tensor less its mean along axes, over its deviation."""
    x = _floating(x)
    axes = list(knp.to_tuple_or_list(axis))
    centred = x - tf.reduce_mean(x, axis=axes, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=axes, keepdims=True)
    y = centred * tf.math.rsqrt(variance + convert_to_tensor(default_epsilon() if epsilon is None else epsilon, x.dtype))
    y = y if gamma is None else y * convert_to_tensor(gamma, x.dtype)
    return y if beta is None else y + convert_to_tensor(beta, x.dtype)


def get_item(x, key):
    """x[key]"""
    return convert_to_tensor(x)[key]


def polar(abs_, angle):
    """Complex numbers of these absolute values and angles."""
    size, angle = _floating(abs_), _floating(angle)
    return tf.complex(size * tf.cos(angle), size * tf.sin(angle))


def vectorize(pyfunc, *, excluded=None, signature=None):
    """A function of numbers as one of arrays, which are brought to one shape."""
    if excluded is not None or signature is not None:
        raise NotImplementedError("keras.ops.vectorize: `excluded` and `signature` are not supported\n"
                                  "  help: write the function with keras.ops.vectorized_map")

    def vectorized(*args):
        tensors = [convert_to_tensor(arg) for arg in args]
        zeros = [tf.zeros_like(x, tf.float32) for x in tensors]
        shape = tf.add_n([tf.broadcast_to(z, tf.shape(sum(zeros))) for z in zeros]).shape
        rows = tuple(tf.reshape(tf.broadcast_to(x, shape), [-1]) for x in tensors)
        results = tf.vectorized_map(lambda row: pyfunc(*row), rows)
        return tf.nest.map_structure(lambda y: tf.reshape(y, list(shape) + list(y.shape)[1:]), results)
    return vectorized


def unique(x, sorted=True, return_index=False, return_inverse=False, return_counts=False, axis=None, size=None,
           fill_value=None):
    """The numbers that a tensor has, each once, in their order."""
    if sorted is not True or size is not None or fill_value is not None:
        raise NotImplementedError("keras.ops.unique: `sorted=False`, `size` and `fill_value` are not supported")
    return numpy_results(np.unique, [convert_to_tensor(x)], {"return_index": return_index, "return_inverse": return_inverse,
                                                             "return_counts": return_counts, "axis": axis})


def slogdet(x):
    """The sign and the logarithm of the absolute value of the determinants."""
    return tuple(tf.linalg.slogdet(_floating(x)))


def eig(x):
    """Eigenvalues and eigenvectors, complex, of matrices."""
    return tuple(tf.linalg.eig(_floating(x)))


def lstsq(a, b, rcond=None):
    """The x that brings a x nearest to b."""
    if rcond is not None:
        raise NotImplementedError("keras.ops.lstsq: `rcond` is not supported")
    a, b = _floating(a), _floating(b)
    if len(b.shape) == len(a.shape) - 1:
        return tf.squeeze(tf.linalg.lstsq(a, tf.expand_dims(b, -1)), axis=[-1])
    return tf.linalg.lstsq(a, b)


def sobel_edges(images, data_format=None):
    """The steps of images downwards and to the right, as a last axis of two."""
    images = convert_to_tensor(images)
    single = len(images.shape) == 3
    x, _ = _channels_last(tf.expand_dims(images, 0) if single else images, data_format)
    y = tf.image.sobel_edges(x)
    if standardize_data_format(data_format) == "channels_first":
        y = tf.transpose(y, [0, 3, 1, 2, 4])
    return tf.squeeze(y, axis=[0]) if single else y


NN = {f.__name__: f for f in (normalize, rms_normalization, layer_normalization, polar)}
NN |= {"ctc_decode": ctc_decode, "swish": _nn.silu, "hard_swish": _nn.hard_silu}
LINALG = {f.__name__: f for f in (eig, lstsq)}
IMAGE = {f.__name__: f for f in (pad_images, crop_images, extract_patches, sobel_edges)}
OTHERS = {f.__name__: f for f in (view_as_complex, view_as_real)}
NUMPY = {f.__name__: f for f in (get_item, vectorize, slogdet, unique)}
