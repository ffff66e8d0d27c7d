# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.backend import dtype_policy as dtype_policy, epsilon as epsilon, floatx as floatx, image_data_format as image_data_format, set_dtype_policy as set_dtype_policy, set_floatx as set_floatx

