# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def load_data(path: _b.str | Any = 'mnist.npz') -> Any:
    """The digits, from `path`, the folder CAPSTAN_MNIST, or Keras's folder of datasets. Nothing is downloaded."""
    ...
