# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor
from capstan import Variable as Variable

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
def latest_checkpoint(checkpoint_dir: Any, latest_filename: Any = None) -> Any:
    """The path of the latest checkpoint in a directory, or None."""
    ...
