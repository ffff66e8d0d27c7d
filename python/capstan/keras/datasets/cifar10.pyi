# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def load_data() -> Any:
    """Pictures of 10 classes in their binary form, from the folder CAPSTAN_CIFAR10 or `cifar-10-batches-bin`."""
    ...
