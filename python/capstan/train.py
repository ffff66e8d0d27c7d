"""tf.train: checkpoints. Files are the library's, with checksums, whole at any moment; TensorFlow's are read as well."""
import os

from . import _core, _ops
from ._convert import refuse
from ._core import Variable
from ._module import Module
from ._streams import Generator
from ._examples import BytesList, Example, Feature, Features, FloatList, Int64List  # noqa: F401
from ._sequence_examples import FeatureList, FeatureLists, SequenceExample  # noqa: F401


# What an object of Python stands for, if that has state; losses and schedules have none.
_STATEFUL = (_core.OptimizerHandle, _core.MetricHandle, _core.DatasetCursor)


def _handle_of(value):
    """What the library saves of an object, None of one without state."""
    if isinstance(value, Variable):
        return value
    if hasattr(value, "_ensure_handle"):
        return value._ensure_handle()
    handle = getattr(value, "_handle", None)
    return handle if isinstance(handle, _STATEFUL) else None


def _named(name, value, of_module=None):
    """Pairs of a name and an object; those in a list, a dict or a module have their place after a dot.

    Of a module everything that has state is taken, each thing once; `of_module` is what has been.
    """
    if isinstance(value, Generator):
        value = value.state
    if of_module is not None:
        if id(value) in of_module:
            return []
        of_module.add(id(value))
    if isinstance(value, Module):
        taken = {id(value)} if of_module is None else of_module
        return [pair for key in sorted(vars(value)) for pair in _named(f"{name}.{key}", vars(value)[key], taken)]
    if isinstance(value, dict):
        return [pair for key in value for pair in _named(f"{name}.{key}", value[key], of_module)]
    if isinstance(value, (list, tuple)):
        return [pair for i, item in enumerate(value) for pair in _named(f"{name}.{i}", item, of_module)]
    handle = _handle_of(value)
    if handle is not None:
        return [(name, handle)]
    if of_module is not None:
        return []
    raise TypeError(f"Checkpoint: {name} is a {type(value).__name__}; variables, modules, layers, models, optimizers, metrics, "
                    "random generators and passes over datasets can be saved, and lists, tuples and dicts of them")


def _place(prefix):
    """A path whose folder is there, as TensorFlow makes it."""
    path = os.fspath(prefix)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    return path


class _Nothing:
    """The status of a restoration from no path: a training that begins."""

    def assert_consumed(self):
        """Raises: nothing was restored."""
        raise AssertionError("restore: there was no checkpoint")

    def assert_existing_objects_matched(self):
        """Raises: nothing was restored."""
        self.assert_consumed()

    def expect_partial(self):
        """The status itself."""
        return self


class _Status:
    """What a restoration found."""

    def __init__(self, handle):
        self._handle = handle

    def assert_consumed(self):
        """Raises AssertionError unless everything in the file was taken and nothing was missing; gives the status."""
        return self._asked(self._handle.assert_consumed)

    def assert_existing_objects_matched(self):
        """The same, but the file may have more."""
        return self._asked(self._handle.assert_existing_objects_matched)

    def _asked(self, check):
        try:
            check()
        except ValueError as error:
            raise AssertionError(str(error)) from None
        return self

    def expect_partial(self):
        """No warning: only a part was wanted; gives the status."""
        self._handle.expect_partial()
        return self


class Checkpoint:
    """Objects under names whose state is saved together, and restored.

        checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=tf.Variable(0))
        path = checkpoint.save("run/ckpt")
        checkpoint.restore(path).assert_consumed()

    Layers must have their weights when they are saved or restored. Attributes that are set later belong to it, too.
    """

    def __init__(self, root=None, **kwargs):
        object.__setattr__(self, "_objects", dict(kwargs))
        object.__setattr__(self, "_made", None)
        if root is not None:
            self._objects["root"] = root

    def __setattr__(self, name, value):
        self._objects[name] = value
        object.__setattr__(self, "_made", None)

    def __getattr__(self, name):
        if name in self.__dict__.get("_objects", {}):
            return self._objects[name]
        raise AttributeError(f"Checkpoint has no object {name!r}")

    @property
    def _handle(self):
        if self._made is None:
            pairs = [pair for name, value in self._objects.items() for pair in _named(name, value)]
            object.__setattr__(self, "_made", _core.CheckpointHandle(pairs))
        return self._made

    @property
    def save_counter(self):
        """How many times save() was called, in the runs before this one, too."""
        return self._handle.save_counter

    def write(self, file_prefix):
        """Writes a file and returns its path."""
        return self._handle.write(_place(file_prefix))

    def save(self, file_prefix):
        """Writes `file_prefix`-1, then -2 and so on, and names the latest in the file "checkpoint"; returns the path."""
        return self._handle.save(_place(file_prefix))

    def restore(self, save_path, skip_mismatch=False):
        """Takes over what a file has, written here or by TensorFlow; None stands for no checkpoint, and changes nothing."""
        if save_path is None:
            return _Nothing()
        path = os.fspath(save_path)
        of_tensorflow = os.path.exists(path + ".index")
        restore = self._handle.read_tensorflow if of_tensorflow else self._handle.restore
        return _Status(restore(path, skip_mismatch))

    read = restore

    def write_tensorflow(self, file_prefix):
        """Writes the files that TensorFlow's tf.train.Checkpoint with objects of these names restores."""
        return self._handle.write_tensorflow(_place(file_prefix))


class CheckpointManager:
    """Checkpoints in a directory, of which the latest are kept.

        manager = tf.train.CheckpointManager(checkpoint, "run", max_to_keep=3)
        checkpoint.restore(manager.latest_checkpoint)
        manager.save()
    """

    def __init__(self, checkpoint, directory, max_to_keep, keep_checkpoint_every_n_hours=None, checkpoint_name="ckpt",
                 step_counter=None, checkpoint_interval=None, init_fn=None, asynchronous=False):
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("CheckpointManager: checkpoint_interval needs a step_counter")
        self.checkpoint, self.directory, self.checkpoint_interval = checkpoint, os.fspath(directory), checkpoint_interval
        self._step_counter, self._last_step, self._init = step_counter, None, init_fn
        self._manager = _core.CheckpointManagerHandle(checkpoint._handle, self.directory, max_to_keep,
                                                      keep_checkpoint_every_n_hours, checkpoint_name, asynchronous)

    def save(self, checkpoint_number=None, check_interval=True):
        """Writes a checkpoint and returns its path, or None if it is too early."""
        if self.checkpoint_interval is not None:
            step = int(self._step_counter)
            if check_interval and self._last_step is not None and step - self._last_step < self.checkpoint_interval:
                return None
            self._last_step = step
        return self._manager.save(None if checkpoint_number is None else int(checkpoint_number))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.wait()

    def wait(self):
        """Waits until everything is written, if `asynchronous`."""
        self._manager.wait()

    @property
    def latest_checkpoint(self):
        """The path of the latest, or None."""
        return self._manager.latest_checkpoint

    @property
    def checkpoints(self):
        """Those that are kept, the oldest first."""
        return self._manager.checkpoints

    def restore_or_initialize(self):
        """Restores the latest and returns its path, or calls `init_fn` and returns None."""
        if self._manager.latest_checkpoint is None:
            if self._init is not None:
                self._init()
            return None
        return self._manager.restore_or_initialize()


def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The path of the latest checkpoint in a directory, or None."""
    if latest_filename not in (None, "checkpoint"):
        raise ValueError("latest_checkpoint: the file is called checkpoint")
    return _core.latest_checkpoint(os.fspath(checkpoint_dir))


class CheckpointReader:
    """What a checkpoint holds, by the names of its tensors: one of this library or of TensorFlow."""

    def __init__(self, path):
        path = os.fspath(path)
        if os.path.isdir(path):
            found = latest_checkpoint(path)
            if found is None:
                raise _core.IoError(f"load_checkpoint: the folder has no checkpoint\n  file: {path}")
            path = found
        is_tensorflow = os.path.exists(path + ".index")
        self._tensors = (_core.load_tensorflow_checkpoint if is_tensorflow else _core.load_checkpoint)(path)

    def get_variable_to_shape_map(self):
        """{name: lengths}."""
        return {name: list(tensor.shape) for name, tensor in self._tensors.items()}

    def get_variable_to_dtype_map(self):
        """{name: dtype}."""
        return {name: tensor.dtype for name, tensor in self._tensors.items()}

    def has_tensor(self, tensor_str):
        """Whether there is a tensor of this name."""
        return tensor_str in self._tensors

    def get_tensor(self, tensor_str):
        """A tensor as an array."""
        if tensor_str not in self._tensors:
            raise _core.IoError(f"Key {tensor_str} not found in checkpoint; there are {sorted(self._tensors)}")
        return self._tensors[tensor_str].numpy()


def load_checkpoint(ckpt_dir_or_file):
    """What a checkpoint holds, of this library or of TensorFlow; of a folder the latest."""
    return CheckpointReader(ckpt_dir_or_file)


def list_variables(ckpt_dir_or_file):
    """Pairs of the names and lengths of the tensors in a checkpoint."""
    return sorted(CheckpointReader(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file, name):
    """A tensor of a checkpoint as an array."""
    return CheckpointReader(ckpt_dir_or_file).get_tensor(name)


class ExponentialMovingAverage:
    """Averages of variables in which each update counts `1 - decay`, or more in the beginning if `num_updates` is given.

        averages = tf.train.ExponentialMovingAverage(decay=0.999)
        averages.apply(model.trainable_variables)      # after each step
        averages.average(variable)
    """

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        refuse("ExponentialMovingAverage", zero_debias=(zero_debias, False))
        self._decay, self._updates, self.name, self._averages = float(decay), num_updates, name, {}

    def apply(self, var_list=None):
        """Takes the values of variables into account; of a variable that is new the average is its value."""
        if var_list is None:
            raise ValueError("ExponentialMovingAverage: a list of variables is needed; there are no global ones")
        decay = self._decay
        if self._updates is not None:
            updates = _ops.cast(_ops.convert_to_tensor(self._updates), "float32")
            decay = _ops.minimum(decay, (1.0 + updates) / (10.0 + updates))
        for variable in var_list:
            average = self.average(variable)
            if average is None:
                self._averages[variable.ref()] = Variable(variable.value(), trainable=False,
                                                          name=f"{variable.name}/{self.name}")
            else:
                share = _ops.cast(1.0 - decay, variable.dtype)
                average.assign_sub(share * (average.value() - variable.value()))

    def average(self, var):
        """The variable that holds the average, None if `var` was not taken into account."""
        return self._averages.get(var.ref())

    def average_name(self, var):
        """The name of the variable that holds the average."""
        average = self.average(var)
        return f"{var.name}/{self.name}" if average is None else average.name
