# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

class SummaryWriter:
    """Writes one file of logs."""
    def __init__(self, handle: Any) -> None: ...
    def as_default(self, step: Any = None) -> Any:
        """What is logged inside goes here."""
        ...
    def close(self) -> Any:
        """Writes what waits and ends."""
        ...
    def flush(self) -> Any:
        """Hands what waits to the operating system."""
        ...
    def init(self) -> Any:
        """Nothing: the file is there."""
        ...
    def set_as_default(self, step: Any = None) -> Any:
        """What is logged from now on goes here."""
        ...
class experimental:
    """tf.summary.experimental."""
    def __init__(self) -> None: ...
    @staticmethod
    def get_step() -> Any:
        """What set_step() has set."""
        ...
    @staticmethod
    def set_step(step: Any) -> Any:
        """The step of what is logged without one."""
        ...
def create_file_writer(logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None, name: _b.str | None = None, experimental_trackable: _b.bool = False, experimental_mesh: Any = None) -> Any:
    """A writer of a new file in a folder, which is made if it is missing."""
    ...
def create_noop_writer() -> Any:
    """A writer that writes nothing."""
    ...
def flush(writer: Any = None, name: _b.str | None = None) -> Any:
    """Hands what waits to the operating system."""
    ...
def histogram(name: _b.str | None, data: Any, step: Any = None, buckets: Any = None, description: Any = None) -> Any:
    """How the elements of a tensor are distributed."""
    ...
def image(name: _b.str | None, data: Any, step: Any = None, max_outputs: _b.int | Any = 3, description: Any = None) -> Any:
    """Images [images, height, width, channels], floating ones from 0 to 1."""
    ...
def record_if(condition: Any) -> Any:
    """Whether what is logged inside is recorded: a truth value, or a function that gives one."""
    ...
def scalar(name: _b.str | None, data: Any, step: Any = None, description: Any = None) -> Any:
    """A number. False if nothing is recorded."""
    ...
def should_record_summaries() -> Any:
    """Whether what is logged now is recorded."""
    ...
def text(name: _b.str | None, data: Any, step: Any = None, description: Any = None) -> Any:
    """A text in Markdown, or a list of texts."""
    ...
