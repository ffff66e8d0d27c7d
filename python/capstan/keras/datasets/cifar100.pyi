# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def load_data(label_mode: _b.str | Any = 'fine') -> Any: ...
