# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def gpu_device_name() -> Any:
    """The empty text: there is no such device."""
    ...
def is_built_with_cuda() -> Any:
    """False."""
    ...
def is_gpu_available(cuda_only: _b.bool = False, min_cuda_compute_capability: Any = None) -> Any:
    """False: there is one device, the processor."""
    ...
