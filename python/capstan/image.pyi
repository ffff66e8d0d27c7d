# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor

class ResizeMethod:
    """The names of methods of resize()."""
    def __init__(self) -> None: ...
    AREA: Any
    BICUBIC: Any
    BILINEAR: Any
    GAUSSIAN: Any
    LANCZOS3: Any
    LANCZOS5: Any
    MITCHELLCUBIC: Any
    NEAREST_NEIGHBOR: Any
def adjust_brightness(image: Any, delta: Any, name: _b.str | None = None) -> Tensor:
    """The image and a number added to it."""
    ...
def adjust_contrast(images: Any, contrast_factor: Any, name: _b.str | None = None) -> Tensor:
    """Each channel's distance from its mean, multiplied."""
    ...
def adjust_gamma(image: Any, gamma: _b.float | Any = 1.0, gain: _b.float | Any = 1.0, name: _b.str | None = None) -> Tensor:
    """The image to a power, multiplied."""
    ...
def adjust_hue(image: Any, delta: Any, name: _b.str | None = None) -> Tensor:
    """The image with its hue turned."""
    ...
def adjust_saturation(image: Any, saturation_factor: Any, name: _b.str | None = None) -> Tensor:
    """The image with its saturation multiplied."""
    ...
def affine_transform(images: Any, transform: Any, interpolation: Any = None, fill_mode: Any = None, fill_value: _b.float | Any = 0.0, name: _b.str | None = None) -> Tensor:
    """Images looked up at the places that a projective map leads to."""
    ...
def central_crop(image: Any, central_fraction: Any, name: _b.str | None = None) -> Tensor:
    """The middle part of the image."""
    ...
def convert_image_dtype(image: Any, dtype: Any, saturate: _b.bool = False, name: _b.str | None = None) -> Tensor:
    """The image in another dtype, with the largest number of an integer dtype for 1."""
    ...
def crop_and_resize(image: Any, boxes: Any, box_indices: Any, crop_size: Any, method: Any = None, extrapolation_value: _b.float | Any = 0.0, name: _b.str | None = None) -> Tensor:
    """Boxes cut out of images, each resized."""
    ...
def crop_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any, name: _b.str | None = None) -> Tensor:
    """The part of the image in a box."""
    ...
def extract_patches(images: Any, sizes: Any, strides: Any = ..., rates: Any = ..., padding: _b.str | Any = 'VALID', name: _b.str | None = None) -> Tensor:
    """Patches of images, each as one pixel with the channels of all its pixels."""
    ...
def flip_left_right(image: Any, name: _b.str | None = None) -> Tensor:
    """The image mirrored, left to right."""
    ...
def flip_up_down(image: Any, name: _b.str | None = None) -> Tensor:
    """The image upside down."""
    ...
def grayscale_to_rgb(images: Any, name: _b.str | None = None) -> Tensor:
    """Three equal channels of one."""
    ...
def hsv_to_rgb(images: Any, name: _b.str | None = None) -> Tensor:
    """Colours of a hue, saturation and value."""
    ...
def image_gradients(image: Any, name: _b.str | None = None) -> _b.tuple[Tensor, Tensor]:
    """The differences to the next row and to the next column."""
    ...
def pad_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any, name: _b.str | None = None) -> Tensor:
    """The image in a larger one of zeros."""
    ...
def per_image_standardization(image: Any, name: _b.str | None = None) -> Tensor:
    """Each image with mean 0 and deviation 1."""
    ...
def psnr(a: Any, b: Any, max_val: Any, name: _b.str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of two images in decibels."""
    ...
def random_brightness(image: Any, max_delta: Any, seed: Any = None) -> Any:
    """The image with a number added that is drawn between -max_delta and max_delta."""
    ...
def random_contrast(image: Any, lower: Any, upper: Any, seed: Any = None) -> Any:
    """The image with its distance from the mean times a number that is drawn."""
    ...
def random_crop(value: Any, size: Any, seed: Any = None, name: _b.str | None = None) -> Any:
    """A part of this size at a place that is drawn."""
    ...
def random_flip_left_right(image: Any, seed: Any = None) -> Any:
    """The image, or each image of a batch, mirrored with a chance of a half."""
    ...
def random_flip_up_down(image: Any, seed: Any = None) -> Any:
    """The image, or each image of a batch, upside down with a chance of a half."""
    ...
def resize(images: Any, size: Any, method: Any = None, preserve_aspect_ratio: _b.bool = False, antialias: _b.bool = False, name: _b.str | None = None) -> Tensor:
    """Images in another size, by weighted means of neighbouring pixels."""
    ...
def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any, name: _b.str | None = None) -> Tensor:
    """The image cropped or padded evenly to a size."""
    ...
def resize_with_pad(image: Any, target_height: Any, target_width: Any, method: _b.str | Any = 'bilinear', antialias: _b.bool = False) -> Any:
    """The image resized without distortion, with zeros around it."""
    ...
def rgb_to_grayscale(images: Any, name: _b.str | None = None) -> Tensor:
    """The brightness of colours."""
    ...
def rgb_to_hsv(images: Any, name: _b.str | None = None) -> Tensor:
    """Hue, saturation and value of colours."""
    ...
def rgb_to_yuv(images: Any) -> Any:
    """Brightness and two colours."""
    ...
def rot90(image: Any, k: _b.int | Any = 1, name: _b.str | None = None) -> Tensor:
    """The image after quarter turns, counter-clockwise."""
    ...
def rotate(images: Any, angles: Any, interpolation: Any = None, fill_mode: Any = None, fill_value: _b.float | Any = 0.0, name: _b.str | None = None) -> Tensor:
    """Images turned around their centre."""
    ...
def sobel_edges(image: Any, name: _b.str | None = None) -> Tensor:
    """Sobel's derivatives along columns and rows."""
    ...
def ssim(img1: Any, img2: Any, max_val: Any, filter_size: _b.int | Any = 11, filter_sigma: _b.float | Any = 1.5, k1: _b.float | Any = 0.01, k2: _b.float | Any = 0.03, return_index_map: _b.bool = False, name: _b.str | None = None) -> Tensor:
    """The structural similarity of two images."""
    ...
def total_variation(images: Any, name: _b.str | None = None) -> Tensor:
    """The sum of absolute differences between neighbouring pixels."""
    ...
def transpose(image: Any, name: _b.str | None = None) -> Tensor:
    """The image with rows and columns exchanged."""
    ...
def yuv_to_rgb(images: Any) -> Any:
    """Red, green and blue again."""
    ...
