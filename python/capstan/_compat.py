"""Modules of names that scripts use beside the computation: tf.autograph, tf.compat, tf.test, and a few functions."""
import time

import numpy as np

from . import _core, _ops
from .keras import initializers
from ._autograph import to_code, to_graph
from ._modules import make_module


def do_not_convert(func=None):
    """The function, whose statements stay Python's in traced functions."""
    if func is None:
        return do_not_convert
    func._ag_done = True
    return func


def set_verbosity(level, alsologtostdout=False):
    """Changes nothing: the conversion of functions writes no log."""
    del level, alsologtostdout


def as_bytes(bytes_or_text, encoding="utf-8"):
    """A text as bytes."""
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes(bytes_or_text)


def as_text(bytes_or_text, encoding="utf-8"):
    """A text as str."""
    return bytes_or_text if isinstance(bytes_or_text, str) else bytes(bytes_or_text).decode(encoding)


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    """False: there is one device, the processor."""
    del cuda_only, min_cuda_compute_capability
    return False


def gpu_device_name():
    """The empty text: there is no such device."""
    return ""


def is_built_with_cuda():
    """False."""
    return False


def histogram_fixed_width_bins(values, value_range, nbins=100, dtype="int32", name=None):
    """The number of the bin that each value lies in, of `nbins` of equal width; those outside in the first or last."""
    values = _ops.convert_to_tensor(values)
    low, high = (float(v) for v in np.asarray(value_range))
    if not low < high:
        raise ValueError(f"histogram_fixed_width_bins: value_range {[low, high]} must rise")
    places = _ops.floor(_ops.cast(values, "float64") * (int(nbins) / (high - low)) - low * int(nbins) / (high - low))
    return _ops.cast(_ops.clip_by_value(places, 0, int(nbins) - 1), dtype)


def broadcast_static_shape(shape_x, shape_y):
    """The shape that two shapes broadcast to."""
    return _core.TensorShape(np.broadcast_shapes(tuple(_core.TensorShape(shape_x)), tuple(_core.TensorShape(shape_y))))


def broadcast_dynamic_shape(shape_x, shape_y):
    """The shape that two shapes broadcast to, as a tensor."""
    shapes = [[int(n) for n in np.asarray(_ops.known(_ops.convert_to_tensor(s)))] for s in (shape_x, shape_y)]
    return _ops.convert_to_tensor(list(np.broadcast_shapes(*map(tuple, shapes))), dtype="int32")


def timestamp(name=None):
    """The seconds since 1970 in UTC, float64. A traced function that asks runs without a trace."""
    _ops._refuse_traces("timestamp")
    return _ops.convert_to_tensor(time.time(), dtype="float64")


class constant_initializer(initializers.Constant):  # noqa: N801
    """Makes a tensor of given values: one for all elements, or as many as there are, in their order."""

    def __call__(self, shape, dtype=None):
        value = _ops.convert_to_tensor(self.value, dtype=dtype)
        many = value.shape.num_elements() != 1
        return _ops.OPS["reshape"](value, list(shape)) if many else _ops.fill(list(shape), _ops.OPS["reshape"](value, []))


def install(tf):
    """Puts the functions where TensorFlow has them."""
    experimental = make_module("autograph.experimental", {"do_not_convert": do_not_convert}, "tf.autograph.experimental")
    tf.autograph = make_module("autograph", {"experimental": experimental, "set_verbosity": set_verbosity,
                                             "to_code": to_code, "to_graph": to_graph}, "tf.autograph")
    tf.compat = make_module("compat", {"as_bytes": as_bytes, "as_text": as_text, "as_str": as_text}, "tf.compat")
    tf.test = make_module("test", {f.__name__: f for f in (is_gpu_available, gpu_device_name, is_built_with_cuda)}, "tf.test")
    for function in (histogram_fixed_width_bins, broadcast_static_shape, broadcast_dynamic_shape,
                     timestamp, constant_initializer):
        setattr(tf, function.__name__, function)
    tf.as_string = tf.strings.as_string
