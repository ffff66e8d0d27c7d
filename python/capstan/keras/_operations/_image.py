"""keras.ops.image. Resizing, colours and edges have gradients; the rest needs Keras's own package."""
import capstan as tf

from ._by_numpy import by_numpy
from ._core import cast, convert_to_tensor
from ._nn import _channels_last
from ._rules import is_float_dtype, standardize_data_format, standardize_dtype

for _name in """perspective_transform compute_homography_matrix map_coordinates gaussian_blur
        elastic_transform scale_and_translate""".split():
    globals()[_name] = by_numpy("image", _name)


def _images(function, images, data_format):
    images = convert_to_tensor(images)
    if len(images.shape) not in (3, 4):
        raise ValueError("Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). Received "
                         f"input with shape: images.shape={images.shape}")
    single = len(images.shape) == 3
    x, back = _channels_last(tf.expand_dims(images, 0) if single else images, data_format)
    y = back(function(x))
    return tf.squeeze(y, axis=[0]) if single else y


def rgb_to_grayscale(images, data_format=None):
    shape = convert_to_tensor(images).shape
    axis = -1 if standardize_data_format(data_format) == "channels_last" else -3
    if len(shape) in (3, 4) and shape[axis] not in (1, 3):
        raise ValueError("Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received input with shape: "
                         f"images.shape={shape}")
    if len(shape) in (3, 4) and shape[axis] == 1:
        return convert_to_tensor(images)
    return _images(tf.image.rgb_to_grayscale, images, data_format)


def rgb_to_hsv(images, data_format=None):
    images = convert_to_tensor(images)
    if not is_float_dtype(images.dtype):
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={standardize_dtype(images.dtype)}")
    return _images(tf.image.rgb_to_hsv, images, data_format)


def hsv_to_rgb(images, data_format=None):
    images = convert_to_tensor(images)
    if not is_float_dtype(images.dtype):
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={standardize_dtype(images.dtype)}")
    return _images(tf.image.hsv_to_rgb, images, data_format)


def resize(images, size, interpolation="bilinear", antialias=False, crop_to_aspect_ratio=False, pad_to_aspect_ratio=False,
           fill_mode="constant", fill_value=0.0, data_format=None):
    simple = interpolation in ("nearest", "bilinear") and not (crop_to_aspect_ratio or pad_to_aspect_ratio)
    if not simple or len(size) != 2 or size[0] <= 0 or size[1] <= 0:
        return by_numpy("image", "resize")(images, size, interpolation, antialias, crop_to_aspect_ratio,
                                           pad_to_aspect_ratio, fill_mode, fill_value, data_format)
    kind = convert_to_tensor(images).dtype

    def to_size(x):
        wide = x if is_float_dtype(x.dtype) else cast(x, "float32")
        y = tf.image.resize(wide, list(size), method=interpolation, antialias=antialias)
        return cast(y if is_float_dtype(kind) or interpolation == "nearest" else tf.round(y), kind)
    return _images(to_size, images, data_format)


def affine_transform(images, transform, interpolation="bilinear", fill_mode="constant", fill_value=0, data_format=None):
    # What the library lacks, and what is refused, is for the reference.
    if interpolation not in ("bilinear", "nearest") or fill_mode not in ("constant", "nearest", "reflect") or (
            len(convert_to_tensor(images).shape) not in (3, 4)) or len(convert_to_tensor(transform).shape) not in (1, 2):
        return by_numpy("image", "affine_transform")(images, transform, interpolation, fill_mode, fill_value,
                                                     data_format)
    kind = convert_to_tensor(images).dtype
    transform = convert_to_tensor(transform, "float32")

    def warped(x):
        wide = x if x.dtype in (tf.float32, tf.float64) else cast(x, "float32")
        y = tf.image.affine_transform(wide, cast(transform, wide.dtype), interpolation, fill_mode, float(fill_value))
        return cast(y if is_float_dtype(kind) else tf.round(y), kind)
    return _images(warped, images, data_format)


sobel_edges = by_numpy("image", "sobel_edges")

