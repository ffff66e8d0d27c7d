"""Of tf.signal what is composed of ops: cosine transforms and what sound needs, mel scales, cepstra, windows."""
import math as _math

import numpy as np

from . import _ops
from ._convert import convert_to_tensor, refuse
from ._dtypes import as_dtype, float32


def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The discrete cosine transform of types 1 to 4, of the last axis."""
    refuse("dct", n=(n, None), axis=(axis, -1), norm=(norm, None, "ortho"))
    x = convert_to_tensor(input)
    length = x.shape[-1]
    rows = _ops.OPS["matmul"](_ops.OPS["reshape"](x, [-1, length]), _cosines(length, type, norm, x.dtype), False, True)
    return _ops.OPS["reshape"](rows, list(x.shape))


def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The inverse of dct(), up to the factor that TensorFlow leaves out without `norm`."""
    return dct(input, {1: 1, 2: 3, 3: 2}.get(type, type), n, axis, norm)


def _cosines(n, type, norm, dtype):
    k, i = np.arange(n)[:, None], np.arange(n)[None, :]
    if type == 1 and norm is None and n > 1:
        weights = np.where((i == 0) | (i == n - 1), 1.0, 2.0)
        matrix = weights * np.cos(_math.pi * k * i / (n - 1))
    elif type == 2:
        matrix = 2 * np.cos(_math.pi * k * (2 * i + 1) / (2 * n))
        if norm == "ortho":
            matrix *= np.where(k == 0, _math.sqrt(1 / (4 * n)), _math.sqrt(1 / (2 * n)))
    elif type == 3:
        matrix = np.where(i == 0, 1.0, 2 * np.cos(_math.pi * i * (2 * k + 1) / (2 * n)))
        if norm == "ortho":
            matrix = np.where(i == 0, _math.sqrt(1 / n), _math.sqrt(2 / n) * np.cos(_math.pi * i * (2 * k + 1) / (2 * n)))
    elif type == 4:
        matrix = 2 * np.cos(_math.pi * (2 * k + 1) * (2 * i + 1) / (4 * n)) * (_math.sqrt(1 / (2 * n)) if norm else 1)
    else:
        raise ValueError(f"dct: type {type} with norm {norm!r} is not supported; types are 1 (without norm) to 4")
    return convert_to_tensor(matrix.astype(dtype.as_numpy_dtype))


def _mel_of(hertz):
    return 1127.0 * np.log(1.0 + np.asarray(hertz, np.float64) / 700.0)


def linear_to_mel_weight_matrix(num_mel_bins=20, num_spectrogram_bins=129, sample_rate=8000, lower_edge_hertz=125.0,
                                upper_edge_hertz=3800.0, dtype=float32, name=None):
    """The matrix [num_spectrogram_bins, num_mel_bins] that turns spectra into mel spectra: triangles on HTK's mel scale."""
    if num_mel_bins <= 0 or num_spectrogram_bins <= 0 or sample_rate <= 0:
        raise ValueError(f"linear_to_mel_weight_matrix: num_mel_bins {num_mel_bins}, num_spectrogram_bins "
                         f"{num_spectrogram_bins} and sample_rate {sample_rate} must be positive")
    if not 0 <= lower_edge_hertz < upper_edge_hertz <= sample_rate / 2:
        raise ValueError(f"linear_to_mel_weight_matrix: the edges {lower_edge_hertz} and {upper_edge_hertz} must rise from 0 "
                         f"to {sample_rate / 2}")
    # The first bin, of frequency 0, is in no band.
    bins = _mel_of(np.linspace(0.0, sample_rate / 2, num_spectrogram_bins)[1:, None])
    edges = np.linspace(_mel_of(lower_edge_hertz), _mel_of(upper_edge_hertz), num_mel_bins + 2)
    lower, center, upper = edges[None, :-2], edges[None, 1:-1], edges[None, 2:]
    rising, falling = (bins - lower) / (center - lower), (upper - bins) / (upper - center)
    weights = np.maximum(0.0, np.minimum(rising, falling))
    return convert_to_tensor(np.pad(weights, [[1, 0], [0, 0]]), dtype=as_dtype(dtype))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """Cepstral coefficients [..., num_mel_bins]: the cosine transform of type 2, scaled as HTK's."""
    spectra = convert_to_tensor(log_mel_spectrograms)
    return dct(spectra, 2) / _math.sqrt(2.0 * spectra.shape[-1])


def _window(values, dtype):
    return convert_to_tensor(values, dtype=as_dtype(dtype))


def kaiser_window(window_length, beta=12.0, dtype=float32, name=None):
    """A window of Kaiser's."""
    return _window(np.kaiser(int(window_length), float(beta)), dtype)


def vorbis_window(window_length, dtype=float32, name=None):
    """The power complementary window of Vorbis."""
    place = np.arange(int(window_length), dtype=np.float64)
    return _window(np.sin(np.pi / 2 * np.sin(np.pi / window_length * (place + 0.5)) ** 2), dtype)


def kaiser_bessel_derived_window(window_length, beta=12.0, dtype=float32, name=None):
    """The power complementary window that is made of the sums of a Kaiser window."""
    half = int(window_length) // 2
    sums = np.cumsum(np.kaiser(half + 1, float(beta)))
    rising = np.sqrt(sums[:-1] / sums[-1])
    return _window(np.concatenate([rising, rising[::-1]]), dtype)


def inverse_stft_window_fn(frame_step, forward_window_fn=None, name=None):
    """A function of a length and a dtype that makes the window with which inverse_stft undoes stft."""
    def inverse_window(frame_length, dtype=float32):
        make = _ops.OPS["hann_window"] if forward_window_fn is None else forward_window_fn
        window = np.asarray(make(frame_length, dtype=dtype), np.float64)
        overlaps = -(-int(frame_length) // int(frame_step))
        squares = np.pad(window ** 2, [0, overlaps * int(frame_step) - int(frame_length)]).reshape(overlaps, -1)
        return _window(window / np.tile(squares.sum(0), overlaps)[:int(frame_length)], dtype)
    return inverse_window


def _windowed(frames, window_fn):
    if window_fn is None:
        return frames * _math.sqrt(0.5)
    return frames * convert_to_tensor(window_fn(frames.shape[-1], dtype=frames.dtype))


def mdct(signals, frame_length, window_fn=vorbis_window, pad_end=False, norm=None, name=None):
    """The modified cosine transform [..., frames, frame_length / 2] of signals, in windows that overlap by half."""
    half = _half_of("mdct", frame_length, norm)
    frames = _windowed(_ops.OPS["frame"](convert_to_tensor(signals), 2 * half, half, bool(pad_end)), window_fn)
    a, b, c, d = _ops.split(frames, 4, -1)
    return dct(_ops.concat([-_ops.reverse(c, [-1]) - d, a - _ops.reverse(b, [-1])], -1), 4, norm=norm)


def inverse_mdct(mdcts, window_fn=vorbis_window, norm=None, name=None):
    """The signals of which mdct made this, but for their first and last half frames."""
    mdcts = convert_to_tensor(mdcts)
    half = _half_of("inverse_mdct", 2 * mdcts.shape[-1], norm)
    a, b = _ops.split(dct(mdcts, 4, norm=norm) * (1.0 if norm else 0.5 / half), 2, -1)
    frames = _ops.concat([b, -_ops.reverse(b, [-1]), -_ops.reverse(a, [-1]), -a], -1)
    return _ops.OPS["overlap_and_add"](_windowed(frames, window_fn), half)


def _half_of(op, frame_length, norm):
    if norm not in (None, "ortho"):
        raise ValueError(f"{op}: norm must be None or 'ortho', not {norm!r}")
    if int(frame_length) <= 0 or int(frame_length) % 4:
        raise ValueError(f"{op}: frame_length must be a positive multiple of 4, not {frame_length}")
    return int(frame_length) // 2


NAMES = {f.__name__: f for f in (dct, idct, kaiser_window, linear_to_mel_weight_matrix, mfccs_from_log_mel_spectrograms, vorbis_window,
                                 kaiser_bessel_derived_window, inverse_stft_window_fn, mdct, inverse_mdct)}
