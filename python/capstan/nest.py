"""Structures: lists, tuples, named tuples and dicts, as tf.nest has them."""
from . import _core


def is_nested(seq):
    """Whether something is a structure rather than a leaf."""
    return _core.is_nested(seq)


def flatten(structure, expand_composites=False):
    """The leaves as a list; those of dicts in the order of their keys."""
    return _core.flatten(structure)


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """The leaves of a list in a structure."""
    return _core.pack_sequence_as(structure, list(flat_sequence))


def map_structure(func, *structure, check_types=True, expand_composites=False):
    """Applies a function to the leaves of structures that are alike."""
    if not structure:
        raise ValueError("map_structure: a structure is needed")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    lists = [flatten(s) for s in structure]
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*lists)])


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """Raises ValueError or TypeError unless both have the same form."""
    first, second = is_nested(nest1), is_nested(nest2)
    if first != second:
        raise ValueError("The two structures don't have the same nested structure.\n\n"
                         f"First structure: {nest1}\n\nSecond structure: {nest2}")
    if not first:
        return
    if check_types and type(nest1) is not type(nest2) and not (
            isinstance(nest1, dict) and isinstance(nest2, dict)):
        raise TypeError("The two structures don't have the same sequence type: "
                        f"{type(nest1).__name__} and {type(nest2).__name__}")
    if isinstance(nest1, dict):
        if set(nest1) != set(nest2):
            raise ValueError(f"The two dictionaries don't have the same set of keys: {list(nest1)} and {list(nest2)}")
        pairs = [(nest1[k], nest2[k]) for k in nest1]
    else:
        if len(nest1) != len(nest2):
            raise ValueError("The two structures don't have the same number of elements: "
                             f"{len(nest1)} and {len(nest2)}")
        pairs = zip(nest1, nest2)
    for a, b in pairs:
        assert_same_structure(a, b, check_types)
