# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras import Regularizer as Regularizer
from capstan.keras.layers import deserialize as deserialize
from capstan.keras.regularizers import L1 as l1, L1L2 as l1_l2, L2 as l2

class L1(Regularizer):
    """`l1` times the sum of absolute values."""
    def __init__(self, l1: _b.float | Any = 0.01) -> None: ...
class L1L2(Regularizer):
    """`l1` times the sum of absolute values and `l2` times that of squares."""
    def __init__(self, l1: _b.float | Any = 0.0, l2: _b.float | Any = 0.0) -> None: ...
class L2(Regularizer):
    """`l2` times the sum of squares."""
    def __init__(self, l2: _b.float | Any = 0.01) -> None: ...
class OrthogonalRegularizer(Regularizer):
    """Costs what the rows or the columns of a matrix have in common."""
    def __init__(self, factor: _b.float | Any = 0.01, mode: _b.str | Any = 'rows') -> None: ...
def get(identifier: Any) -> Any: ...
def serialize(regularizer: Any) -> Any: ...
