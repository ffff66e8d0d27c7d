# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def do_not_convert(func: Any = None) -> Any: ...
