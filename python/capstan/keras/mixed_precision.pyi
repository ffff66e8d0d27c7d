# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras import DTypePolicy as DTypePolicy, DTypePolicy as Policy
from capstan.keras.backend import dtype_policy as dtype_policy, dtype_policy as global_policy, set_dtype_policy as set_dtype_policy, set_dtype_policy as set_global_policy

