"""tf.GradientTape at the speed of C++: scripts written for TensorFlow run with another import line.

    import capstan as tf
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x ** 2
    tape.gradient(y, x)          # 6.0
"""
import contextlib as _contextlib
import os as _os
import sys as _sys

from . import _core

_core.set_package_folder(_os.path.dirname(_os.path.abspath(__file__)) + _os.sep)

from . import _dtypes, nest  # noqa: E402
from . import _shape  # noqa: E402,F401
from ._core import (DTypeError, Error, GradientError, GradientTape, IndexError_, InvalidArgumentError,  # noqa: E402,F401
                    IoError, ShapeError, Tensor, TensorShape, TraceError, ValueError_, Variable)
from ._dtypes import (DType, as_dtype, bfloat16, bool, complex64, complex128, double, float32, float64,  # noqa: E402
                      int32, int64, uint8)
from ._convert import (IndexedSlices, TensorSpec, asarray, constant, from_dlpack, convert_to_tensor,  # noqa: E402
                       get_static_value)
from . import _ops  # noqa: E402
from ._ops import *  # noqa: E402,F401,F403
from ._ops import print_ as print  # noqa: E402
from ._ops import bitwise_and, bitwise_or, bitwise_xor, logical_xor  # noqa: E402,F401
from ._control import (case, cond, custom_gradient, foldl, foldr, function, grad_pass_through, map_fn,  # noqa: E402
                       recompute_grad, scan, switch_case, vectorized_map, while_loop)
from ._tensor_array import TensorArray  # noqa: E402
from . import _texts  # noqa: E402
from ._texts import string  # noqa: E402
from ._forward import ForwardAccumulator, UnconnectedGradients, autodiff  # noqa: E402
from ._modules import (bitwise, config, debugging, dtypes, errors, image, linalg, math, nn, random, signal)  # noqa: E402

tensor_diag, tensor_diag_part = _ops.OPS["tensor_diag"], _ops.OPS["tensor_diag_part"]
newaxis = None
Assert = debugging.Assert
eig, eigvals, matrix_square_root = linalg.eig, linalg.eigvals, linalg.sqrtm
assert_equal, assert_less, assert_greater = (debugging.assert_equal, debugging.assert_less, debugging.assert_greater)
__version__ = "0.1.0"
version = type("version", (), {"VERSION": "2.21.0 (capstan 0.1.0)", "__doc__": "The version of TensorFlow that is meant."})


def executing_eagerly():
    """False while a function is traced."""
    return not _core.inside_function()


def init_scope():
    """A context in which ops run as they stand; nothing needs one here."""
    return _contextlib.nullcontext()


def control_dependencies(control_inputs):
    """A context in which ops run after others, as they do in any case: in the order in which they are written."""
    return _contextlib.nullcontext()


def device(device_name):
    """A context for a device; there is one."""
    return _contextlib.nullcontext()


@_contextlib.contextmanager
def name_scope(name, *args, **kwargs):
    """A context for names, which are not used."""
    yield name


def install_as_tensorflow():
    """From now on `import tensorflow` and `import keras` give this package and its keras in this process."""
    from . import as_tensorflow
    as_tensorflow.install()


def install_as_keras_backend():
    """From now on `import keras` gives Keras 3 on this package in this process, as KERAS_BACKEND=capstan does."""
    import _capstan_keras
    _os.environ["KERAS_BACKEND"] = "capstan"
    _capstan_keras.install()


from . import data, files, keras, summary, train  # noqa: E402
from . import distribute, io, lookup, ragged, saved_model, sparse, strings  # noqa: E402
from .ragged import RaggedTensor, is_tensor  # noqa: E402
from .sparse import SparseTensor  # noqa: E402
from . import _composites, sets  # noqa: E402
from .keras import initializers, losses, metrics, optimizers  # noqa: E402,F401
from . import _compat, _composed, _settings  # noqa: E402
from ._module import Module  # noqa: E402,F401

_composed.install(_sys.modules[__name__])
_compat.install(_sys.modules[__name__])
_settings.install(_sys.modules[__name__])

