# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.config import get_visible_devices as get_visible_devices, get_visible_devices as list_physical_devices, list_logical_devices as list_logical_devices, set_visible_devices as set_visible_devices

def get_memory_growth(device: Any) -> Any: ...
def set_memory_growth(device: Any, enable: Any) -> Any: ...
