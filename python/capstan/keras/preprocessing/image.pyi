# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.utils import img_to_array as img_to_array, load_img as load_img, save_img as save_img

