"""keras.ops.image: sizes and colours. What draws, and edges, need Keras's own package."""
import numpy as np

import capstan as tf

from ._by_numpy import by_numpy
from ._core import cast, convert_to_tensor
from ._image_warps import _images_of, _in_floats, _warped
from ._rules import is_float_dtype, settings, standardize_data_format, standardize_dtype

elastic_transform = by_numpy("image", "elastic_transform")
_RESIZES = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")


def rgb_to_grayscale(images, data_format=None):
    shape = convert_to_tensor(images).shape
    axis = -1 if standardize_data_format(data_format) == "channels_last" else -3
    if len(shape) in (3, 4) and shape[axis] not in (1, 3):
        raise ValueError("Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received input with shape: "
                         f"images.shape={shape}")
    if len(shape) in (3, 4) and shape[axis] == 1:
        return convert_to_tensor(images)
    return _images_of(tf.image.rgb_to_grayscale, images, data_format)


def rgb_to_hsv(images, data_format=None):
    images = convert_to_tensor(images)
    if not is_float_dtype(images.dtype):
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={standardize_dtype(images.dtype)}")
    return _images_of(tf.image.rgb_to_hsv, images, data_format)


def hsv_to_rgb(images, data_format=None):
    images = convert_to_tensor(images)
    if not is_float_dtype(images.dtype):
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={standardize_dtype(images.dtype)}")
    return _images_of(tf.image.hsv_to_rgb, images, data_format)


def _fitted(x, size, crops, fill_value):
    """Images cut in their middle to the ratio of a size, or with a border so that they have it."""
    height, width = x.shape[1], x.shape[2]
    # In float32, as Keras computes these lengths.
    high = int(np.float32(width * size[0]) / np.float32(size[1]))
    wide = int(np.float32(height * size[1]) / np.float32(size[0]))
    if crops:
        high, wide = max(min(height, high), 1), max(min(width, wide), 1)
        top, left = (height - high) // 2, (width - wide) // 2
        return x[:, top:top + high, left:left + wide, :]
    top, left = (max(height, high) - height) // 2, (max(width, wide) - width) // 2
    return tf.pad(x, [[0, 0], [top, top], [left, left], [0, 0]], constant_values=fill_value)


def resize(images, size, interpolation="bilinear", antialias=False, crop_to_aspect_ratio=False, pad_to_aspect_ratio=False,
           fill_mode="constant", fill_value=0.0, data_format=None):
    if interpolation not in _RESIZES:
        raise ValueError(f"Invalid value for argument `interpolation`. Expected of one {_RESIZES}. Received: "
                         f"interpolation={interpolation}")
    if fill_mode != "constant":
        raise ValueError("Invalid value for argument `fill_mode`. Only `'constant'` is supported. Received: "
                         f"fill_mode={fill_mode}")
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")
    if len(size) != 2:
        raise ValueError("Argument `size` must be a tuple of two elements (height, width). Received: "
                         f"size={tuple(size)}")

    def to_size(x):
        if crop_to_aspect_ratio or pad_to_aspect_ratio:
            x = _fitted(x, size, crop_to_aspect_ratio, fill_value)
        return tf.image.resize(x, list(size), method=interpolation, antialias=antialias)
    return _images_of(lambda x: _in_floats(to_size, x, rounds=interpolation != "nearest"), images, data_format)


def affine_transform(images, transform, interpolation="bilinear", fill_mode="constant", fill_value=0, data_format=None):
    # What is refused is for the reference, and "wrap", where Keras's other backends differ from TensorFlow.
    is_theirs = fill_mode not in ("constant", "nearest", "reflect", "wrap") or interpolation not in ("bilinear", "nearest") or (
        len(convert_to_tensor(images).shape) not in (3, 4)) or len(convert_to_tensor(transform).shape) not in (1, 2)
    if is_theirs or fill_mode == "wrap" and settings.reference is not None:
        return by_numpy("image", "affine_transform")(images, transform, interpolation, fill_mode, fill_value,
                                                     data_format)
    transform = convert_to_tensor(transform, "float32")
    return _images_of(lambda x: _warped(x, transform, interpolation, fill_mode, fill_value), images, data_format)


sobel_edges = by_numpy("image", "sobel_edges")

