# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import DType as DType

def dtype_policy() -> Any:
    """The policy of layers that are given none: that of floatx() until it is set."""
    ...
def epsilon() -> Any:
    """The small number that Keras's formulas keep away from zero with."""
    ...
def floatx() -> Any:
    """The name of the dtype of floating numbers that nothing else decides."""
    ...
def image_data_format() -> Any:
    """Where the channels of images are: the last axis."""
    ...
def set_dtype_policy(policy: Any) -> Any:
    """Changes the policy of the layers that come: a name ("mixed_bfloat16"), a dtype or a DTypePolicy."""
    ...
def set_floatx(value: Any) -> Any:
    """Changes floatx()."""
    ...
