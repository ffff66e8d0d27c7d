# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def set_experimental_options(options: Any) -> Any:
    """Changes nothing: functions are always optimised."""
    ...
def set_jit(enabled: Any) -> Any: ...
