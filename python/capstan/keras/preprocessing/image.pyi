# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.utils import array_to_img as array_to_img, img_to_array as img_to_array, load_img as load_img, save_img as save_img

def smart_resize(x: Any, size: Any, interpolation: _b.str | Any = 'bilinear', data_format: _b.str | Any = 'channels_last', backend_module: Any = None) -> Any: ...
