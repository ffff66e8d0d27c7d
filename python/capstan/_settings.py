"""Settings and enumerations that scripts touch beside the computation: tf.config.experimental, tf.errors, tf.get_logger."""
import collections
import enum

from . import _core, _modules
from ._convert import TensorSpec, convert_to_tensor

PhysicalDevice = collections.namedtuple("PhysicalDevice", ["name", "device_type"])
PhysicalDevice.__doc__ = "A device of the machine."
LogicalDevice = collections.namedtuple("LogicalDevice", ["name", "device_type"])
LogicalDevice.__doc__ = "A device as programs name it."


def _devices(kind, prefix, device_type):
    return [kind(f"/{prefix}:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def list_physical_devices(device_type=None):
    """The devices of a kind, "CPU" or "GPU": there is the processor."""
    return _devices(PhysicalDevice, "physical_device", device_type)


def list_logical_devices(device_type=None):
    """The devices of a kind, "CPU" or "GPU": there is the processor."""
    return _devices(LogicalDevice, "device", device_type)


def set_visible_devices(devices, device_type=None):
    """Accepts what there is: no GPU, and the processor."""
    named = devices if isinstance(devices, (list, tuple)) else [devices]
    if any(device.device_type != "CPU" for device in named) or not named and device_type != "GPU":
        raise ValueError("config.set_visible_devices: the processor is the only device, and is always visible")


def _memory_growth(device):
    raise ValueError(f"config.experimental: {device} has no memory of its own that grows; only a GPU has")


def set_memory_growth(device, enable):
    """Raises: there is no GPU, whose memory this is about."""
    del enable
    _memory_growth(device)


def get_memory_growth(device):
    """Raises: there is no GPU, whose memory this is about."""
    _memory_growth(device)


def set_soft_device_placement(enabled):
    """Changes nothing: there is one device."""
    del enabled


def get_soft_device_placement():
    """True: whatever is asked for, ops run on the processor."""
    return True


def set_jit(enabled):
    """Changes nothing: functions are always compiled."""
    del enabled


def get_logger():
    """The logger "tensorflow", whose level scripts set; the package warns by `warnings`."""
    import logging
    return logging.getLogger("tensorflow")


class VariableAggregation(enum.Enum):
    """How replicas' values of a variable become one; there is one replica."""
    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)


class VariableSynchronization(enum.Enum):
    """When they do."""
    AUTO, NONE, ON_WRITE, ON_READ = range(4)


def is_symbolic_tensor(tensor):
    """Whether it stands for a value of a function that is traced."""
    return isinstance(tensor, _core.Tensor) and tensor.is_symbolic


def type_spec_from_value(value):
    """The shape and the dtype of a tensor, or of what becomes one."""
    value = convert_to_tensor(value)
    return TensorSpec(value.shape, value.dtype)


def get_experimental_options():
    """No options: functions are always optimised."""
    return {}


def get_current_name_scope():
    """The empty text: names are not scoped."""
    return ""


def _nothing(name, text, *parameters):
    return _modules._setting(lambda *_given: None, name, text, *parameters)


_CODES = """OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED
    RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS
    UNAUTHENTICATED"""


def install(tf):
    """Puts the names where TensorFlow has them."""
    config = tf.config
    for function in (list_physical_devices, list_logical_devices, set_visible_devices, set_soft_device_placement,
                     get_soft_device_placement):
        setattr(config, function.__name__, function)
    config.get_visible_devices = list_physical_devices
    config.PhysicalDevice, config.LogicalDevice = PhysicalDevice, LogicalDevice
    config.experimental_run_functions_eagerly = config.run_functions_eagerly
    config.experimental_functions_run_eagerly = config.functions_run_eagerly
    config.experimental = _modules.make_module("config.experimental", {f.__name__: f for f in (
        list_physical_devices, list_logical_devices, set_visible_devices, set_memory_growth, get_memory_growth)} | {
            "get_visible_devices": list_physical_devices}, "tf.config.experimental")
    config.optimizer = _modules.make_module("config.optimizer", {
        "set_jit": set_jit, "set_experimental_options": _nothing(
            "set_experimental_options", "Changes nothing: functions are always optimised.", "options"),
        "get_experimental_options": get_experimental_options}, "tf.config.optimizer")
    for code, name in enumerate(_CODES.split()):
        setattr(tf.errors, name, code)
    tf.errors.OperatorNotAllowedInGraphError = _core.TraceError
    for name, text in (("enable_traceback_filtering", "Changes nothing: tracebacks are whole."),
                       ("disable_traceback_filtering", "Changes nothing: tracebacks are whole.")):
        setattr(tf.debugging, name, _nothing(name, text))
    tf.debugging.is_traceback_filtering_enabled = _modules._setting(
        lambda: False, "is_traceback_filtering_enabled", "False: tracebacks are whole.")
    tf.debugging.set_log_device_placement = _nothing(
        "set_log_device_placement", "Changes nothing: all ops run on the processor.", "enabled")
    for value in (get_logger, VariableAggregation, VariableSynchronization, is_symbolic_tensor, type_spec_from_value,
                  get_current_name_scope):
        setattr(tf, value.__name__, value)
