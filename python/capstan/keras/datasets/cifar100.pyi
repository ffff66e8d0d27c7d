# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def load_data(label_mode: _b.str | Any = 'fine') -> Any:
    """Pictures of 100 classes in their binary form, from the folder CAPSTAN_CIFAR100 or `cifar-100-binary`."""
    ...
