"""keras.ops.numpy: the array functions of capstan/keras/_operations, and what NumPy does for dtypes that the library lacks."""
import capstan as tf

from ..keras._operations import _numpy
from ._reference import share

share("numpy", _numpy, globals())


def vectorize(pyfunc, *, excluded=None, signature=None):
    from keras.src.backend.common.backend_utils import vectorize_impl
    return vectorize_impl(pyfunc, tf.vectorized_map, excluded=excluded, signature=signature)
