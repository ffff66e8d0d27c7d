"""Shapes: tuples of lengths, made in C, with the methods of tf.TensorShape."""
from ._core import TensorShape


def _method(function):
    setattr(TensorShape, function.__name__, function)
    return function


@_method
def as_list(self):
    """The lengths as a list."""
    return list(self)


@_method
def num_elements(self):
    """The number of elements, None if a length is open."""
    if None in self:
        return None
    count = 1
    for length in self:
        count *= length
    return count


@_method
def is_fully_defined(self):
    """Whether no length is open."""
    return None not in self


@_method
def is_compatible_with(self, other):
    """Whether both could be the shape of one tensor."""
    other = TensorShape(other)
    return len(self) == len(other) and all(a is None or b is None or a == b for a, b in zip(self, other))


@_method
def assert_is_compatible_with(self, other):
    """Raises ValueError unless both could be the shape of one tensor."""
    if not is_compatible_with(self, other):
        raise ValueError(f"Shapes {tuple(self)} and {tuple(TensorShape(other))} are incompatible")


@_method
def assert_has_rank(self, rank):
    """Raises ValueError for another rank."""
    if len(self) != rank:
        raise ValueError(f"Shape {tuple(self)} must have rank {rank}")


@_method
def concatenate(self, other):
    """The lengths of both."""
    return TensorShape(tuple(self) + tuple(TensorShape(other)))


def _add(self, other):
    return TensorShape(tuple(self) + tuple(other))


def _radd(self, other):
    return TensorShape(tuple(other) + tuple(self))


TensorShape.__add__, TensorShape.__radd__ = _add, _radd
TensorShape.__repr__ = lambda self: f"TensorShape({list(self)})"
TensorShape.__str__ = lambda self: str(tuple(self))
TensorShape.__reduce__ = lambda self: (TensorShape, (tuple(self),))
TensorShape.rank = TensorShape.ndims = property(len)
TensorShape.dims = property(list)
