# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import DType as DType
from capstan.keras import DTypePolicy as DTypePolicy
from capstan.keras import DTypePolicy as Policy

def dtype_policy() -> Any:
    """The policy of layers that are given none: that of floatx() until it is set."""
    ...
def global_policy() -> Any:
    """The policy of layers that are given none: that of floatx() until it is set."""
    ...
def set_dtype_policy(policy: Any) -> Any:
    """Changes the policy of the layers that come: a name ("mixed_bfloat16"), a dtype or a DTypePolicy."""
    ...
def set_global_policy(policy: Any) -> Any:
    """Changes the policy of the layers that come: a name ("mixed_bfloat16"), a dtype or a DTypePolicy."""
    ...
