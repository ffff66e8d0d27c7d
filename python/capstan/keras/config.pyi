# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.backend import backend as backend, dtype_policy as dtype_policy, epsilon as epsilon, floatx as floatx, image_data_format as image_data_format, set_dtype_policy as set_dtype_policy, set_epsilon as set_epsilon, set_floatx as set_floatx, set_image_data_format as set_image_data_format
from capstan.keras.utils import disable_interactive_logging as disable_interactive_logging, enable_interactive_logging as enable_interactive_logging, is_interactive_logging_enabled as is_interactive_logging_enabled

