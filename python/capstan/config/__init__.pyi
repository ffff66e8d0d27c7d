# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.config import threading as threading

def functions_run_eagerly() -> Any:
    """What run_functions_eagerly() has set."""
    ...
def get_visible_devices(device_type: Any = None) -> Any:
    """The devices of a kind: an empty list, because there is only the processor."""
    ...
def list_logical_devices(device_type: Any = None) -> Any:
    """The devices of a kind: an empty list, because there is only the processor."""
    ...
def list_physical_devices(device_type: Any = None) -> Any:
    """The devices of a kind: an empty list, because there is only the processor."""
    ...
def run_functions_eagerly(run_eagerly: Any) -> Any:
    """Whether functions run as Python does, op by op."""
    ...
