# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

AUTOTUNE: _b.int
INFINITE_CARDINALITY: _b.int
UNKNOWN_CARDINALITY: _b.int
def assert_cardinality(expected_cardinality: Any) -> Any:
    """A function for Dataset.apply that says how many elements there are, which a pass checks."""
    ...
def cardinality(dataset: Any) -> Any:
    """The number of elements, -1 for a dataset without end, -2 if only a pass tells; int64."""
    ...
def get_single_element(dataset: Any) -> Any:
    """The element of a dataset that has one."""
    ...
def ignore_errors(log_warning: _b.bool = False) -> Any:
    """A function for Dataset.apply that leaves out elements at which a function of Python raises."""
    ...
