"""keras.ops.math: the functions of capstan/keras/_operations, and what NumPy does for dtypes that the library lacks."""
from ..keras._operations import _math
from ._reference import share

share("math", _math, globals())
