"""keras.ops.linalg: the functions of capstan/keras/_operations, and what NumPy does for dtypes that the library lacks."""
from ..keras._operations import _linalg
from ._reference import share

share("linalg", _linalg, globals())
