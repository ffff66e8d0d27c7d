# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor, bitwise_and as bitwise_and, bitwise_or as bitwise_or, bitwise_xor as bitwise_xor

def invert(x: Any, name: _b.str | None = None) -> Tensor:
    """Bitwise NOT."""
    ...
def left_shift(x: Any, y: Any, name: _b.str | None = None) -> Tensor:
    """The bits of x moved to the left by y places."""
    ...
def right_shift(x: Any, y: Any, name: _b.str | None = None) -> Tensor:
    """The bits of x moved to the right by y places."""
    ...
