# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def set_random_seed(seed: Any) -> Any:
    """Seeds Python, NumPy and the library."""
    ...
def to_categorical(x: Any, num_classes: Any = None) -> Any:
    """One-hot rows, as an array."""
    ...
