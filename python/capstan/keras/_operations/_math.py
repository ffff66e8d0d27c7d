"""keras.ops.math."""
import numpy as np

import capstan as tf

from ._by_numpy import by_numpy, known
from ._core import convert_to_tensor
from ._numpy import _float_unary, _floating
from ._rules import standardize_dtype

istft = by_numpy("math", "istft")
for _name in ("rsqrt", "erf", "erfc", "erfinv"):
    globals()[_name] = _float_unary(_name, getattr(tf, _name))
    globals()[_name].__module__ = __name__


# The extremum of a segment without elements.
_OF_NOTHING = {"max": -float("inf"), "min": float("inf")}


def _segments(name):
    def reduce(data, segment_ids, num_segments=None, sorted=False):
        del sorted  # ids may come in any order
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids, "int32")
        if num_segments is None:
            num_segments = int(known(tf.reduce_max(segment_ids))) + 1
        found = getattr(tf, "unsorted_segment_" + name)(data, segment_ids, num_segments)
        if name not in _OF_NOTHING or "float" not in standardize_dtype(data.dtype):
            return found
        count = tf.unsorted_segment_sum(tf.ones_like(segment_ids), segment_ids, num_segments)
        there = tf.reshape(tf.greater(count, 0), [-1] + [1] * (len(data.shape) - 1))
        return tf.where(there, found, convert_to_tensor(_OF_NOTHING[name], data.dtype))
    reduce.__name__ = reduce.__qualname__ = "segment_" + name
    return reduce


segment_sum, segment_max, segment_min, segment_prod = (_segments(n) for n in ("sum", "max", "min", "prod"))


def top_k(x, k, sorted=True):
    return tf.top_k(convert_to_tensor(x), k, sorted=sorted)


def in_top_k(targets, predictions, k):
    return tf.in_top_k(convert_to_tensor(targets, "int32"), convert_to_tensor(predictions), k)


def logsumexp(x, axis=None, keepdims=False):
    x = _floating(x)
    return tf.reduce_logsumexp(x, axis=None if axis is None else list(np.atleast_1d(axis).tolist()), keepdims=keepdims)


def cdist(x, y):
    x, y = _floating(x), _floating(y)
    return tf.sqrt(tf.reduce_sum(tf.square(tf.expand_dims(x, -2) - tf.expand_dims(y, -3)), axis=-1))


def extract_sequences(x, sequence_length, sequence_stride):
    return tf.signal.frame(convert_to_tensor(x), sequence_length, sequence_stride, axis=-1, pad_end=False)


def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    x = convert_to_tensor(x)
    if standardize_dtype(x.dtype) not in ("float32", "float64"):
        raise TypeError(f"Invalid input type. Expected `float32` or `float64`. Received: input type={x.dtype}")
    if fft_length < sequence_length:
        raise ValueError("`fft_length` must equal or larger than `sequence_length`. Received: "
                         f"sequence_length={sequence_length}, fft_length={fft_length}")
    if isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError('If a string is passed to `window`, it must be one of `"hann"`, `"hamming"`. '
                             f"Received: window={window}")
        window = getattr(tf.signal, window + "_window")(sequence_length, periodic=True)
    elif window is None:
        window = tf.ones([sequence_length])
    window = convert_to_tensor(window, x.dtype)
    if tuple(window.shape) != (sequence_length,):
        raise ValueError("The shape of `window` must be equal to [sequence_length]. "
                         f"Received: window shape={window.shape}")
    left = (fft_length - sequence_length) // 2
    if center:
        x = tf.pad(x, [[0, 0]] * (len(x.shape) - 1) + [[fft_length // 2] * 2], mode="REFLECT")
    window = tf.pad(window, [[left, fft_length - sequence_length - left]])
    spectrum = tf.signal.rfft(tf.signal.frame(x, fft_length, sequence_stride, axis=-1) * window)
    return tf.math.real(spectrum), tf.math.imag(spectrum)


def _complex(x):
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError("Input `x` should be a tuple of two tensors - real and imaginary. "
                         f"Received: x={x}")
    re, im = convert_to_tensor(x[0]), convert_to_tensor(x[1])
    if tuple(re.shape) != tuple(im.shape):
        raise ValueError("Input `x` should be a tuple of two tensors - real and imaginary. Both the real and imaginary "
                         f"parts should have the same shape. Received: x[0].shape = {re.shape}, x[1].shape = {im.shape}")
    if "float" not in standardize_dtype(re.dtype):
        raise ValueError("At least one tensor in input `x` is not of type float. "
                         f"Received: x={x}.")
    return tf._ops.OPS["complex"](re, im)


# Under this name keras.ops.nn.polar looks for it.
_get_complex_tensor_from_tuple = _complex


def _parts(z):
    return tf.real(z), tf.imag(z)


def fft(x):
    return _parts(tf.signal.fft(_complex(x)))


def fft2(x):
    return _parts(tf.signal.fft2d(_complex(x)))


def ifft2(x):
    return _parts(tf.signal.ifft2d(_complex(x)))


def rfft(x, fft_length=None):
    return _parts(tf.signal.rfft(_floating(x), None if fft_length is None else [fft_length]))


def irfft(x, fft_length=None):
    return tf.signal.irfft(_complex(x), None if fft_length is None else [fft_length])


def logdet(x):
    return tf.linalg.logdet(convert_to_tensor(x))


def norm(x, ord=None, axis=None, keepdims=False):
    from ._linalg import norm as of
    return of(x, ord, axis, keepdims)

