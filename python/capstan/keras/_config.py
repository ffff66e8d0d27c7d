"""keras.config and keras.mixed_precision: dtypes that layers have unless they are given one."""
from .. import _core
from .._convert import refuse


class DTypePolicy:
    """The dtypes of a layer: `compute_dtype` of inputs and results, `variable_dtype` of weights."""

    def __init__(self, name="float32"):
        self.name = getattr(name, "name", name)
        self.compute_dtype, self.variable_dtype = (dtype.name for dtype in _core.dtypes_of_policy(self.name))

    def get_config(self):
        """What the policy is made of."""
        return {"name": self.name}

    @classmethod
    def from_config(cls, config):
        """A policy of what get_config() gave."""
        return cls(**config)

    def __eq__(self, other):
        return isinstance(other, DTypePolicy) and self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f'<DTypePolicy "{self.name}">'


def dtype_policy():
    """The policy of layers that are given none: that of floatx() until it is set."""
    return DTypePolicy(_core.dtype_policy())


def set_dtype_policy(policy):
    """Changes the policy of the layers that come: a name ("mixed_bfloat16"), a dtype or a DTypePolicy."""
    _core.set_dtype_policy(DTypePolicy(policy).name)


def floatx():
    """The name of the dtype of floating numbers that nothing else decides."""
    return _core.floatx().name


def set_floatx(value):
    """Changes floatx()."""
    _core.set_floatx(value)


def epsilon():
    """The small number that Keras's formulas keep away from zero with."""
    return 1e-7


def image_data_format():
    """Where the channels of images are: the last axis."""
    return "channels_last"


def set_epsilon(value):
    """Raises for another number than epsilon()."""
    refuse("set_epsilon", value=(float(value), epsilon()))


def set_image_data_format(data_format):
    """Raises for another than image_data_format(); layers have `data_format`."""
    refuse("set_image_data_format", data_format=(data_format, image_data_format()))


def backend():
    """The name of what computes."""
    return "capstan"


_progress = {"is_interactive": True}


def enable_interactive_logging():
    """The progress of fit() and its like goes to the terminal, as it does from the start."""
    _progress["is_interactive"] = True


def disable_interactive_logging():
    """The progress of fit() and its like goes to the logger "keras"."""
    _progress["is_interactive"] = False


def is_interactive_logging_enabled():
    """Whether progress goes to the terminal."""
    return _progress["is_interactive"]


LOGGING = {f.__name__: f for f in (enable_interactive_logging, disable_interactive_logging, is_interactive_logging_enabled)}
CONFIG = {f.__name__: f for f in (dtype_policy, set_dtype_policy, floatx, set_floatx, epsilon, set_epsilon, image_data_format,
                                  set_image_data_format, backend)}
MIXED_PRECISION = {"DTypePolicy": DTypePolicy, "Policy": DTypePolicy, "dtype_policy": dtype_policy,
                   "global_policy": dtype_policy, "set_dtype_policy": set_dtype_policy,
                   "set_global_policy": set_dtype_policy}
