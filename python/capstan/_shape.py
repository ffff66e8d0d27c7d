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
def assert_is_fully_defined(self):
    """Raises ValueError if a length is open."""
    if None in self:
        raise ValueError(f"Shape {tuple(self)} is not fully defined")


@_method
def assert_same_rank(self, other):
    """Raises ValueError unless both have one rank."""
    if len(self) != len(TensorShape(other)):
        raise ValueError(f"Shapes {tuple(self)} and {tuple(TensorShape(other))} must have the same rank")


@_method
def with_rank(self, rank):
    """The shape itself. Raises ValueError for another rank."""
    assert_has_rank(self, rank)
    return self


@_method
def with_rank_at_least(self, rank):
    """The shape itself. Raises ValueError for a lower rank."""
    if len(self) < rank:
        raise ValueError(f"Shape {tuple(self)} must have rank at least {rank}")
    return self


@_method
def with_rank_at_most(self, rank):
    """The shape itself. Raises ValueError for a higher rank."""
    if len(self) > rank:
        raise ValueError(f"Shape {tuple(self)} must have rank at most {rank}")
    return self


@_method
def merge_with(self, other):
    """The lengths that either has. Raises ValueError unless both could be the shape of one tensor."""
    assert_is_compatible_with(self, other)
    return TensorShape([b if a is None else a for a, b in zip(self, TensorShape(other))])


@_method
def most_specific_compatible_shape(self, other):
    """The lengths that both have."""
    assert_same_rank(self, other)
    return TensorShape([a if a == b else None for a, b in zip(self, TensorShape(other))])


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
