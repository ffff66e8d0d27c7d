# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor

def bitwise_and(x: Any, y: Any, name: _b.str | None = None) -> Tensor:
    """The bits that are set in both."""
    ...
def bitwise_or(x: Any, y: Any, name: _b.str | None = None) -> Tensor:
    """The bits that are set in one or both."""
    ...
def bitwise_xor(x: Any, y: Any, name: _b.str | None = None) -> Tensor:
    """The bits that are set in exactly one."""
    ...
def invert(x: Any, name: _b.str | None = None) -> Tensor:
    """Bitwise NOT."""
    ...
def left_shift(x: Any, y: Any, name: _b.str | None = None) -> Tensor:
    """The bits of x moved to the left by y places."""
    ...
def right_shift(x: Any, y: Any, name: _b.str | None = None) -> Tensor:
    """The bits of x moved to the right by y places."""
    ...
