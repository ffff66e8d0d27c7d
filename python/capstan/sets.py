"""tf.sets: what the last axes of two tensors have, taken as sets."""
import numpy as np

from . import _core, _texts
from ._convert import convert_to_tensor
from .sparse import SparseTensor


def _sets_of(x, what):
    """The sets of a tensor or a SparseTensor by their places, and the lengths of the axes before the last."""
    if isinstance(x, SparseTensor):
        found = {}
        for place, value in zip(x._indices[:, :-1], np.asarray(x.values)):
            found.setdefault(tuple(place.tolist()), set()).add(value)
        return found, tuple(int(n) for n in x._shape[:-1]), x.dtype
    x = _texts.texts_or_tensor(x)
    array = np.asarray(x)
    if array.ndim < 2:
        raise _core.ShapeError(f"sets.{what}: the sets are along the last of two or more axes, not of {array.ndim}")
    return {place: set(array[place].tolist()) for place in np.ndindex(array.shape[:-1])}, array.shape[:-1], x.dtype


def _combined(what, a, b, join):
    (a, shape, dtype), (b, other, _) = _sets_of(a, what), _sets_of(b, what)
    if shape != other:
        raise _core.ShapeError(f"sets.{what}: the axes before the last differ, {list(shape)} and {list(other)}")
    places, values = [], []
    for place in np.ndindex(shape):
        for i, value in enumerate(sorted(join(a.get(place, set()), b.get(place, set())))):
            places.append([*place, i])
            values.append(value)
    longest = max((place[-1] + 1 for place in places), default=0)
    return SparseTensor(places, _texts.tensor_from_values(values, [len(values)], dtype), [*shape, longest])


def union(a, b, validate_indices=True):
    """What either has, in rising order."""
    return _combined("union", a, b, set.union)


def intersection(a, b, validate_indices=True):
    """What both have, in rising order."""
    return _combined("intersection", a, b, set.intersection)


def difference(a, b, aminusb=True, validate_indices=True):
    """What the first has and the second has not, or with `aminusb=False` the other way round; in rising order."""
    return _combined("difference", *((a, b) if aminusb else (b, a)), set.difference)


def size(a, validate_indices=True):
    """How many different elements each set of a SparseTensor has, int32."""
    found, shape, _ = _sets_of(a, "size")
    counts = np.zeros(shape, np.int32)
    for place, values in found.items():
        counts[place] = len(values)
    return convert_to_tensor(counts)


__all__ = ["difference", "intersection", "size", "union"]
