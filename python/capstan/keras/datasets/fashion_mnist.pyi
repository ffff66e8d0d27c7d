# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def load_data() -> Any:
    """Pictures of clothes, from the folder CAPSTAN_FASHION_MNIST or Keras's `fashion-mnist`."""
    ...
