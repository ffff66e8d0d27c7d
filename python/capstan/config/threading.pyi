# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def get_intra_op_parallelism_threads() -> Any:
    """How many threads an op may use."""
    ...
def set_inter_op_parallelism_threads(num_threads: Any) -> Any:
    """Changes nothing: ops run one after the other."""
    ...
def set_intra_op_parallelism_threads(num_threads: Any) -> Any:
    """How many threads an op may use."""
    ...
