"""keras.ops.nn: the functions of capstan/keras/_operations, and what NumPy does for dtypes that the library lacks."""
from ..keras._operations import _nn
from ._reference import share

share("nn", _nn, globals())
