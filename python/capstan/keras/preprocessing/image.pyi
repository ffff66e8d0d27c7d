# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def img_to_array(img: Any, data_format: Any = None, dtype: Any = None) -> Any:
    """An image as an array float32[height, width, channels]."""
    ...
def load_img(path: Any, color_mode: _b.str | Any = 'rgb', target_size: Any = None, interpolation: _b.str | Any = 'nearest', keep_aspect_ratio: _b.bool = False) -> Any:
    """A PNG or JPEG file as an array uint8[height, width, channels]."""
    ...
def save_img(path: Any, x: Any, data_format: Any = None, file_format: Any = None, scale: _b.bool = True) -> Any:
    """Writes an array [height, width, channels] as a PNG or JPEG file, by the end of the path; with `scale` from its"""
    ...
