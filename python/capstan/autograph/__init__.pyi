# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.autograph import experimental as experimental

def set_verbosity(level: Any, alsologtostdout: _b.bool = False) -> Any: ...
