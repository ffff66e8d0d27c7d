"""Functions without a gradient that are asked for rarely: Keras's NumPy backend computes them."""

import numpy as np
from keras.src import tree

import capstan as tf


def known(x):
    """An array of what a tensor holds. A tensor of a function that is traced holds nothing yet."""
    if isinstance(x, tf.Tensor):
        if x.is_symbolic:
            raise NotImplementedError("the values of this tensor are needed, and inside of a function it has none yet\n"
                                      "  help: compile the model with run_eagerly=True")
        return x.numpy()
    if hasattr(x, "_value") and isinstance(x._value, tf.Variable):
        return x.numpy()
    return x


def _tensor(x):
    from .core import convert_to_tensor
    if not isinstance(x, (np.ndarray, np.generic)):
        return x
    return convert_to_tensor(x)


def by_numpy(module, name):
    """The function of Keras's NumPy backend, from tensors to tensors."""
    def computed(*args, **kwargs):
        import importlib
        function = getattr(importlib.import_module(f"keras.src.backend.numpy.{module}"), name)
        args, kwargs = tree.map_structure(known, (list(args), kwargs))
        return tree.map_structure(_tensor, function(*args, **kwargs))
    return _named(computed, name)


def _named(function, name):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "See keras.ops; computed by NumPy, without a gradient."
    return function
