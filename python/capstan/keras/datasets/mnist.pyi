# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def load_data(path: _b.str | Any = 'mnist.npz') -> Any: ...
