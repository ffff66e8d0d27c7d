"""Names of Keras that programs import beside layers and models: what inputs a layer takes, its kinds of tensors, wrappers."""
import contextlib

import numpy as np

from .. import _core, _modules
from .._convert import convert_to_tensor, refuse
from .._dtypes import as_dtype
from . import _objects
from ._layers import Layer


class InputSpec:
    """What inputs a layer takes: dtype, shape (None for any length), rank, or lengths of axes. It is not enforced."""

    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None, allow_last_axis_squeeze=False,
                 name=None, optional=False):
        self.dtype = None if dtype is None else as_dtype(dtype).name
        self.shape = None if shape is None else tuple(shape)
        self.ndim = ndim if shape is None else len(self.shape)
        self.max_ndim, self.min_ndim, self.name, self.optional = max_ndim, min_ndim, name, optional
        self.axes = {int(axis): length for axis, length in (axes or {}).items()}
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        most = self.ndim if self.ndim is not None else max_ndim
        if most is not None and self.axes and max(self.axes) >= most:
            raise ValueError(f"InputSpec: axis {max(self.axes)} is none of {most}")

    def get_config(self):
        """What the object was made with."""
        return {name: getattr(self, name) for name in ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")}

    def __repr__(self):
        return f"InputSpec({', '.join(f'{k}={v}' for k, v in self.get_config().items() if v)})"


class _IsSymbolic(type):
    def __instancecheck__(cls, instance):
        return is_keras_tensor(instance)


class KerasTensor(metaclass=_IsSymbolic):
    """What Input() gives and what layers make of it; for isinstance()."""

    def __init__(self):
        raise TypeError("KerasTensor: symbolic tensors are made by keras.Input")


def is_keras_tensor(x):
    """Whether x stands for a value of a functional model."""
    from ._text_inputs import SymbolicText
    return isinstance(x, SymbolicText) or isinstance(x, _core.Tensor) and bool(_core.layer_name_of(x))


@contextlib.contextmanager
def name_scope(name, **_options):
    """A context for names, which are not used."""
    yield name


def version():
    """The version of Keras that is meant."""
    return "3.15.1"


class Wrapper(Layer):
    """A layer around another one, `layer`; a class of one's own overrides `call`."""

    def __init__(self, layer, **kwargs):
        if not isinstance(layer, Layer):
            raise ValueError(f"Wrapper: {layer!r} is no layer")
        super().__init__(**kwargs)
        self.layer = layer


class MeanMetricWrapper(_objects.Metric):
    """The mean of what a function makes of labels and predictions."""

    def __init__(self, fn, name=None, dtype=None, **kwargs):
        super().__init__(name=name or getattr(fn, "__name__", "mean_metric_wrapper"))
        self._fn, self._fn_kwargs, self._mean = fn, kwargs, _objects.METRICS["Mean"](dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds examples."""
        self._mean.update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight)

    def result(self):
        """The mean so far."""
        return self._mean.result()

    def reset_state(self):
        """As before the first update."""
        self._mean.reset_state()

    @property
    def variables(self):
        return self._mean.variables


def smart_resize(x, size, interpolation="bilinear", data_format="channels_last", backend_module=None):
    """Images of another size, cut in the middle so that nothing is stretched."""
    refuse("smart_resize", data_format=(data_format, None, "channels_last"), backend_module=(backend_module, None))
    images = convert_to_tensor(x)
    height, width = images.shape[-3:-1]
    rows, columns = (int(n) for n in size)
    crop_height = min(height, int(width * rows / columns))
    crop_width = min(width, int(height * columns / rows))
    top, left = (height - crop_height) // 2, (width - crop_width) // 2
    cut = images[..., top:top + crop_height, left:left + crop_width, :]
    resized = _modules.image.resize(cut, [rows, columns], interpolation)
    return resized.numpy() if isinstance(x, np.ndarray) else resized


def standardize_dtype(dtype):
    """The name of a dtype; of None that of floatx()."""
    return _core.floatx().name if dtype is None else as_dtype(dtype).name
