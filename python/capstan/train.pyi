# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor
from capstan import Variable as Variable

class BytesList:
    """Byte strings."""
    def __init__(self, value: Any = ...) -> None: ...
class Checkpoint:
    """Objects under names whose state is saved together, and restored."""
    def __init__(self, root: Any = None, **kwargs: Any) -> None: ...
    def read(self, save_path: Any, skip_mismatch: _b.bool = False) -> Any:
        """Takes over what a file has, written here or by TensorFlow; None stands for no checkpoint, and changes nothing."""
        ...
    def restore(self, save_path: Any, skip_mismatch: _b.bool = False) -> Any:
        """Takes over what a file has, written here or by TensorFlow; None stands for no checkpoint, and changes nothing."""
        ...
    def save(self, file_prefix: Any) -> None:
        """Writes `file_prefix`-1, then -2 and so on, and names the latest in the file "checkpoint"; returns the path."""
        ...
    save_counter: Any
    def write(self, file_prefix: Any) -> Any:
        """Writes a file and returns its path."""
        ...
    def write_tensorflow(self, file_prefix: Any) -> Any:
        """Writes the files that TensorFlow's tf.train.Checkpoint with objects of these names restores."""
        ...
class CheckpointManager:
    """Checkpoints in a directory, of which the latest are kept."""
    def __init__(self, checkpoint: Any, directory: Any, max_to_keep: Any, keep_checkpoint_every_n_hours: Any = None, checkpoint_name: _b.str | Any = 'ckpt', step_counter: Any = None, checkpoint_interval: Any = None, init_fn: Any = None, asynchronous: _b.bool = False) -> None: ...
    checkpoints: Any
    latest_checkpoint: Any
    def restore_or_initialize(self) -> Any:
        """Restores the latest and returns its path, or calls `init_fn` and returns None."""
        ...
    def save(self, checkpoint_number: Any = None, check_interval: _b.bool = True) -> None:
        """Writes a checkpoint and returns its path, or None if it is too early."""
        ...
    def wait(self) -> Any:
        """Waits until everything is written, if `asynchronous`."""
        ...
    def __enter__(self) -> CheckpointManager: ...
    def __exit__(self, *args: Any) -> None: ...
class Example:
    """Features by their names as one message."""
    def __init__(self, features: Any = None) -> None: ...
    @classmethod
    def FromString(cls, serialized: Any) -> Any:
        """The Example of a message."""
        ...
    def ParseFromString(self, serialized: Any) -> Any:
        """Takes the features of a message; returns the number of its bytes."""
        ...
    def SerializeToString(self) -> Any:
        """The bytes of the message."""
        ...
class Feature:
    """A list of one of three kinds: bytes_list, float_list or int64_list."""
    def __init__(self, bytes_list: Any = None, float_list: Any = None, int64_list: Any = None) -> None: ...
    def HasField(self, name: _b.str | None) -> Any:
        """Whether the list is of this kind."""
        ...
    def WhichOneof(self, group: _b.str | Any = 'kind') -> Any:
        """The name of the list that there is, or None."""
        ...
    bytes_list: Any
    float_list: Any
    int64_list: Any
class Features:
    """Features by their names."""
    def __init__(self, feature: Any = None) -> None: ...
class FloatList:
    """Numbers, as float32."""
    def __init__(self, value: Any = ...) -> None: ...
class Int64List:
    """Integers."""
    def __init__(self, value: Any = ...) -> None: ...
def latest_checkpoint(checkpoint_dir: Any, latest_filename: Any = None) -> Any:
    """The path of the latest checkpoint in a directory, or None."""
    ...
