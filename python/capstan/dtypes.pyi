# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import DType as DType, as_dtype as as_dtype, cast as cast, saturate_cast as saturate_cast

bfloat16: DType
bool: DType
complex128: DType
complex64: DType
float32: DType
float64: DType
int32: DType
int64: DType
string: DType
uint8: DType
