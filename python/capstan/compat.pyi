# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def as_bytes(bytes_or_text: Any, encoding: _b.str | Any = 'utf-8') -> Any: ...
def as_str(bytes_or_text: Any, encoding: _b.str | Any = 'utf-8') -> Any: ...
as_text = as_str
