# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def assert_same_structure(nest1: Any, nest2: Any, check_types: _b.bool = True, expand_composites: _b.bool = False) -> Any:
    """Raises ValueError or TypeError unless both have the same form."""
    ...
def flatten(structure: Any, expand_composites: _b.bool = False) -> Any:
    """The leaves as a list; those of dicts in the order of their keys."""
    ...
def is_nested(seq: Any) -> Any:
    """Whether something is a structure rather than a leaf."""
    ...
def map_structure(func: Any, *structure: Any, check_types: _b.bool = True, expand_composites: _b.bool = False) -> Any:
    """Applies a function to the leaves of structures that are alike."""
    ...
def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: _b.bool = False) -> Any:
    """The leaves of a list in a structure."""
    ...
