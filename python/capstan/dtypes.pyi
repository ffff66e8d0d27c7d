# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import DType as DType
from capstan import Tensor as Tensor

def as_dtype(type_value: Any) -> Any:
    """The dtype that `type_value` is: a DType, its name, or a type of Python or NumPy."""
    ...
bfloat16: DType
bool: DType
def cast(x: Any, dtype: Any, name: _b.str | None = None) -> Tensor:
    """The same numbers in another dtype."""
    ...
complex128: DType
complex64: DType
float32: DType
float64: DType
int32: DType
int64: DType
def saturate_cast(value: Any, dtype: Any, name: _b.str | None = None) -> Tensor:
    """The same numbers in another dtype, those beyond its range at its ends."""
    ...
uint8: DType
