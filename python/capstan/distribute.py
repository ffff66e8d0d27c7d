"""tf.distribute for the one device that there is: every strategy has one replica, which runs what it is given."""
import contextlib
import enum
import threading

from . import _ops, nest
from ._convert import convert_to_tensor, refuse

__all__ = ["CrossDeviceOps", "DistributedValues", "HierarchicalCopyAllReduce", "InputContext", "InputOptions",
           "MirroredStrategy", "MultiWorkerMirroredStrategy", "NcclAllReduce", "OneDeviceStrategy", "ReduceOp",
           "ReductionToOneDevice", "ReplicaContext", "RunOptions", "Strategy", "StrategyExtended", "get_replica_context",
           "get_strategy", "has_strategy", "in_cross_replica_context"]


class ReduceOp(enum.Enum):
    """How values of replicas become one."""
    SUM = "SUM"
    MEAN = "MEAN"


def _reduced(op, value, axis):
    """What becomes of the value of the only replica: itself, or its sum or mean along an axis."""
    op = ReduceOp(op.upper() if isinstance(op, str) else op)
    if axis is None:
        return value
    along = _ops.OPS["reduce_sum" if op is ReduceOp.SUM else "reduce_mean"]
    return nest.map_structure(lambda v: along(convert_to_tensor(v), axis), value)


class CrossDeviceOps:
    """How devices exchange values; there is one device."""

    def __init__(self, num_packs=1):
        self.num_packs = num_packs


class HierarchicalCopyAllReduce(CrossDeviceOps):
    """As CrossDeviceOps."""


class NcclAllReduce(CrossDeviceOps):
    """As CrossDeviceOps."""


class ReductionToOneDevice(CrossDeviceOps):
    """As CrossDeviceOps."""


class InputContext:
    """What a function of datasets is told of the place where it runs."""

    def __init__(self, num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1):
        self.num_input_pipelines, self.input_pipeline_id = num_input_pipelines, input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size):
        """The part of a batch that each replica gets."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                             f"{self.num_replicas_in_sync}")
        return global_batch_size // self.num_replicas_in_sync


class InputOptions:
    """How datasets are given to replicas; with one of them it is all the same."""

    def __init__(self, experimental_fetch_to_device=None, experimental_replication_mode=None,
                 experimental_place_dataset_on_device=False, experimental_per_replica_buffer_size=1):
        self.experimental_fetch_to_device = experimental_fetch_to_device
        self.experimental_replication_mode = experimental_replication_mode
        self.experimental_place_dataset_on_device = experimental_place_dataset_on_device
        self.experimental_per_replica_buffer_size = experimental_per_replica_buffer_size


class RunOptions:
    """How replicas run; with one of them it is all the same."""

    def __init__(self, experimental_enable_dynamic_batch_size=True, experimental_bucketizing_dynamic_shape=False,
                 experimental_xla_options=None):
        self.experimental_enable_dynamic_batch_size = experimental_enable_dynamic_batch_size
        self.experimental_bucketizing_dynamic_shape = experimental_bucketizing_dynamic_shape
        self.experimental_xla_options = experimental_xla_options


class DistributedValues:
    """What replicas hold. Nothing here gives one: the value of the only replica stands for itself."""


class ReplicaContext:
    """The replica in which a function of Strategy.run() runs."""
    num_replicas_in_sync = 1
    replica_id_in_sync_group = 0

    def __init__(self, strategy):
        self.strategy = strategy

    def all_reduce(self, reduce_op, value, options=None):
        """The sum or mean over the replicas: the value."""
        refuse("all_reduce", options=(options, None))
        return _reduced(reduce_op, value, None)

    def all_gather(self, value, axis, options=None):
        """The values of all replicas, joined: the value."""
        refuse("all_gather", options=(options, None))
        if not 0 <= axis < convert_to_tensor(value).shape.rank:
            raise ValueError(f"all_gather: axis {axis} is not one of the value's")
        return value

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """Calls a function of the strategy outside of the replica."""
        with _entered(self.strategy, None):
            return merge_fn(self.strategy, *args, **(kwargs or {}))


class StrategyExtended:
    """Further methods of a strategy."""

    def __init__(self, strategy):
        self._strategy = strategy
        self.worker_devices = self.parameter_devices = ("/job:localhost/replica:0/task:0/device:CPU:0",)

    def reduce_to(self, reduce_op, value, destinations, options=None):
        """The sum or mean over the replicas: the value."""
        refuse("reduce_to", options=(options, None))
        del destinations  # the device
        return _reduced(reduce_op, value, None)

    def update(self, var, fn, args=(), kwargs=None, group=True):
        """Calls a function of a variable."""
        result = fn(var, *args, **(kwargs or {}))
        return result if group else nest.map_structure(lambda r: (r,), result)

    def colocate_vars_with(self, colocate_with_variable):
        """A context in which variables are made beside another one."""
        return contextlib.nullcontext(colocate_with_variable)


class Strategy:
    """One replica. `run` calls a function in it; variables are as they are anywhere."""
    num_replicas_in_sync = 1
    cluster_resolver = None

    def __init__(self, extended=None):
        self.extended = StrategyExtended(self) if extended is None else extended

    def scope(self):
        """A context in which this is the strategy."""
        return _entered(self, None)

    def run(self, fn, args=(), kwargs=None, options=None):
        """What a function gives, called in the replica."""
        if options is not None and not isinstance(options, RunOptions):
            raise TypeError(f"run: options are RunOptions, not {options!r}")
        with _entered(self, ReplicaContext(self)):
            return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op, value, axis):
        """The value of the replica, or its sum or mean along an axis."""
        return _reduced(reduce_op, value, axis)

    def gather(self, value, axis):
        """The values of the replicas, joined: the value."""
        return ReplicaContext(self).all_gather(value, axis)

    def experimental_local_results(self, value):
        """The values of the replicas of this process, as a tuple."""
        return (value,)

    def experimental_distribute_dataset(self, dataset, options=None):
        """The part of a dataset that the replica gets: all of it."""
        if options is not None and not isinstance(options, InputOptions):
            raise TypeError(f"experimental_distribute_dataset: options are InputOptions, not {options!r}")
        return dataset

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        """The dataset that a function gives, which is called with an InputContext."""
        return self.experimental_distribute_dataset(dataset_fn(InputContext()), options)

    def experimental_distribute_values_from_function(self, value_fn):
        """What a function gives, which is called with a context that has the number of the replica."""
        return value_fn(ReplicaContext(self))


def _check_devices(strategy, devices):
    devices = [devices] if isinstance(devices, str) else list(devices or ())
    if len(devices) > 1:
        raise ValueError(f"{strategy}: there is one device, so it cannot have {len(devices)}: {devices}\n  help: run several "
                         "processes to use more cores")


class MirroredStrategy(Strategy):
    """A replica on each device: one."""

    def __init__(self, devices=None, cross_device_ops=None):
        _check_devices("MirroredStrategy", devices)
        if cross_device_ops is not None and not isinstance(cross_device_ops, CrossDeviceOps):
            raise ValueError(f"cross_device_ops must be an instance of CrossDeviceOps, not {cross_device_ops!r}")
        super().__init__()


class OneDeviceStrategy(Strategy):
    """A replica on one device."""

    def __init__(self, device):
        _check_devices("OneDeviceStrategy", device)
        super().__init__()


class MultiWorkerMirroredStrategy(Strategy):
    """A replica in each process: one, unless TF_CONFIG says that there are more, which is refused."""

    def __init__(self, cluster_resolver=None, communication_options=None):
        refuse("MultiWorkerMirroredStrategy", cluster_resolver=(cluster_resolver, None),
               communication_options=(communication_options, None))
        import json
        import os
        workers = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {}).get("worker", [])
        if len(workers) > 1:
            raise ValueError(f"MultiWorkerMirroredStrategy: TF_CONFIG names {len(workers)} workers; there can be one")
        super().__init__()


_default = Strategy()
_default_replica = ReplicaContext(_default)


class _Contexts(threading.local):
    """The strategies and replicas that a thread is in."""

    def __init__(self):
        self.entered = []


_contexts = _Contexts()


@contextlib.contextmanager
def _entered(strategy, replica):
    _contexts.entered.append((strategy, replica))
    try:
        yield strategy
    finally:
        _contexts.entered.pop()


def get_strategy():
    """The strategy whose scope the program is in; outside of them one with a replica as any other."""
    return _contexts.entered[-1][0] if _contexts.entered else _default


def has_strategy():
    """Whether the program is in the scope of a strategy."""
    return bool(_contexts.entered)


def get_replica_context():
    """The replica that the program is in; None in the scope of a strategy, outside of run()."""
    return _contexts.entered[-1][1] if _contexts.entered else _default_replica


def in_cross_replica_context():
    """Whether the program is in the scope of a strategy and in none of its replicas."""
    return get_replica_context() is None
