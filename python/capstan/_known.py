"""Numbers that are symbolic in a trace but follow from lengths, which the trace knows.

tf.shape(x), tf.size(x) and their items are tensors in a trace, so that one program may serve many lengths. Where a plain
number is needed (a shape, the limit of a range, a depth) the length of the trace is taken. The library compares traces
of different lengths and so finds out that such a program serves one length only.
"""
import weakref

from . import _core
from ._core import Tensor

_numbers = {}  # by the ids of tensors, which are weak


def remember(tensor, number):
    """Notes what a symbolic tensor is."""
    key = id(tensor)
    _numbers[key] = (weakref.ref(tensor, lambda _: _numbers.pop(key, None)), number)
    return tensor


def known(value):
    """The number or list that a symbolic tensor is, if that is known; any other value as it is, lists item by item."""
    if isinstance(value, Tensor):
        return _numbers.get(id(value), (None, value))[1] if value.is_symbolic else value
    if isinstance(value, (list, tuple)) and not isinstance(value, _core.TensorShape):
        return [known(item) for item in value]
    return value


def _item(tensor, key, item):
    numbers = known(tensor)
    if isinstance(numbers, list) and isinstance(key, (int, slice)):
        remember(item, numbers[key])


_core.set_item_hooks(_item, known)
