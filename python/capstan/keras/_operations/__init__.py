"""tf.keras.ops: functions of tensors with Keras's names, arguments and rules for dtypes.

A number of Python takes the dtype of the tensor beside it; an integer tensor becomes floatx where a result is floating.
Arguments may be tensors, arrays, lists, numbers, and the symbolic tensors of functional models.
"""
import types

from ... import _modules
from . import _core, _image, _image_warps, _linalg, _math, _more, _nn, _numpy
from ._by_numpy import by_numpy


def _names(module):
    """The public functions of a module."""
    found = {}
    for name, value in vars(module).items():
        is_own = isinstance(value, (types.FunctionType, type)) and value.__module__ == module.__name__
        if not name.startswith("_") and (is_own or isinstance(value, by_numpy) and value.is_here):
            if value.__doc__ is None:
                value.__doc__ = f"As keras.ops.{name}."
            found[name] = value
    return found


_PARTS = {"core": _names(_core), "numpy": _names(_numpy) | _more.NUMPY, "nn": _names(_nn) | _more.NN, "math": _names(_math),
          "linalg": _names(_linalg) | _more.LINALG, "image": _names(_image) | _names(_image_warps) | _more.IMAGE}
_CORE_ALONE = ("convert_to_tensor", "convert_to_numpy", "is_tensor", "shape", "dtype", "cast", "saturate_cast",
               "stop_gradient", "cond", "switch", "vectorized_map", "map", "scan", "while_loop", "fori_loop", "scatter",
               "scatter_update", "slice", "slice_update", "unstack", "custom_gradient")
_PARTS["core"] = {name: _PARTS["core"][name] for name in _CORE_ALONE}


def make():
    """The module, with one part for each of Keras's."""
    everything = {}
    for part in ("core", "math", "linalg", "nn", "numpy"):
        everything |= {name: value for name, value in _PARTS[part].items() if name not in everything}
    parts = {name: _modules.make_module(f"keras.ops.{name}", _PARTS[name], f"tf.keras.ops.{name}") for name in ("numpy", "nn", "linalg", "image")}
    return _modules.make_module("keras.ops", everything | _more.OTHERS | parts, "tf.keras.ops")
