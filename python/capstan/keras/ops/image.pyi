# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def affine_transform(images: Any, transform: Any, interpolation: _b.str | Any = 'bilinear', fill_mode: _b.str | Any = 'constant', fill_value: _b.int | Any = 0, data_format: Any = None) -> Any:
    """As keras.ops.affine_transform."""
    ...
def crop_images(images: Any, top_cropping: Any = None, left_cropping: Any = None, bottom_cropping: Any = None, right_cropping: Any = None, target_height: Any = None, target_width: Any = None, data_format: Any = None) -> Any:
    """Images without their borders, so many rows and columns or down to a size."""
    ...
def extract_patches(images: Any, size: Any, strides: Any = None, dilation_rate: _b.int | Any = 1, padding: _b.str | Any = 'valid', data_format: Any = None) -> Any:
    """Windows of images, each a row of its numbers."""
    ...
def hsv_to_rgb(images: Any, data_format: Any = None) -> Any:
    """As keras.ops.hsv_to_rgb."""
    ...
def pad_images(images: Any, top_padding: Any = None, left_padding: Any = None, bottom_padding: Any = None, right_padding: Any = None, target_height: Any = None, target_width: Any = None, data_format: Any = None) -> Any:
    """Images with zeros around them, so many or up to a size."""
    ...
def resize(images: Any, size: Any, interpolation: _b.str | Any = 'bilinear', antialias: _b.bool = False, crop_to_aspect_ratio: _b.bool = False, pad_to_aspect_ratio: _b.bool = False, fill_mode: _b.str | Any = 'constant', fill_value: _b.float | Any = 0.0, data_format: Any = None) -> Any:
    """As keras.ops.resize."""
    ...
def rgb_to_grayscale(images: Any, data_format: Any = None) -> Any:
    """As keras.ops.rgb_to_grayscale."""
    ...
def rgb_to_hsv(images: Any, data_format: Any = None) -> Any:
    """As keras.ops.rgb_to_hsv."""
    ...
def sobel_edges(images: Any, data_format: Any = None) -> Any:
    """The steps of images downwards and to the right, as a last axis of two."""
    ...
