"""A backend of Keras 3: `KERAS_BACKEND=capstan` runs Keras's models, `fit` included, on Capstan.

Keras imports it. It finds it through `_capstan_keras.py`, which the package installs beside itself;
`capstan.install_as_keras_backend()` before `import keras` does the same in one process. Each file has the functions of the
module of the same name in Keras's own backends. What is asked for rarely and has no gradient is computed by Keras's NumPy
backend (`_reference.py`).
"""
import sys

if "keras.src.backend" not in sys.modules:
    raise ImportError("capstan.keras_backend is imported by Keras\n"
                      "  help: write import capstan; capstan.install_as_keras_backend(); import keras")

from keras.src.backend.common.name_scope import name_scope  # noqa: E402

from . import core, image, linalg, math, nn, numpy, random  # noqa: E402
from .core import (IS_THREAD_SAFE, SUPPORTS_COMPLEX_DTYPES, SUPPORTS_RAGGED_TENSORS, SUPPORTS_SPARSE_TENSORS,  # noqa: E402
                   Variable, cast, compute_output_spec, cond, convert_to_numpy, convert_to_tensor, device_scope,
                   is_tensor, random_seed_dtype, shape, vectorized_map)
from .rnn import bidirectional_gru, bidirectional_lstm, cudnn_ok, gru, lstm, rnn  # noqa: E402

distribution_lib = None

__all__ = [name for name in dir() if not name.startswith("_")]
