"""tf.summary: logs for TensorBoard, for loops of one's own.

    writer = tf.summary.create_file_writer("logs/run_1")
    with writer.as_default():
        for step in range(100):
            tf.summary.scalar("loss", loss, step=step)
"""
import contextlib
import threading

from . import _convert, _core


class _Settings(threading.local):
    writer = step = None
    records = True


_settings = _Settings()


class SummaryWriter:
    """Writes one file of logs."""

    def __init__(self, handle):
        self._handle = handle

    @contextlib.contextmanager
    def as_default(self, step=None):
        """What is logged inside goes here."""
        before = _settings.writer, _settings.step
        self.set_as_default(step)
        try:
            yield self
        finally:
            self.flush()
            _settings.writer, _settings.step = before

    def set_as_default(self, step=None):
        """What is logged from now on goes here."""
        _settings.writer = self
        if step is not None:
            _settings.step = step

    def init(self):
        """Nothing: the file is there."""

    def flush(self):
        """Hands what waits to the operating system."""
        if self._handle is not None:
            self._handle.flush()

    def close(self):
        """Writes what waits and ends."""
        if self._handle is not None:
            self._handle.close()


def create_file_writer(logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None,
                       experimental_trackable=False, experimental_mesh=None):
    """A writer of a new file in a folder, which is made if it is missing."""
    _convert.refuse("create_file_writer", experimental_trackable=(bool(experimental_trackable), False),
           experimental_mesh=(experimental_mesh, None))
    return SummaryWriter(_core.create_file_writer(
        str(logdir), 10 if max_queue is None else int(max_queue),
        120_000 if flush_millis is None else int(flush_millis), ".v2" if filename_suffix is None else filename_suffix))


def create_noop_writer():
    """A writer that writes nothing."""
    return SummaryWriter(None)


def _log(kind, name, step, data, *options):
    writer = _settings.writer
    if writer is None or writer._handle is None or not should_record_summaries():
        return False
    step = _settings.step if step is None else step
    if step is None:
        raise ValueError(f"summary.{kind}: no step is set; give `step`, or call summary.experimental.set_step()")
    given = [data, step]
    of_runs = [i for i, value in enumerate(given) if _convert.is_tensor(value)]

    def write(*values):
        now = [values[of_runs.index(i)] if i in of_runs else value for i, value in enumerate(given)]
        getattr(writer._handle, kind)(name, now[0], int(now[1]), *options)
        return []
    if _core.inside_function():
        _core.call_at_every_run(write, [_convert.convert_to_tensor(given[i]) for i in of_runs])
    else:
        write(*[given[i] for i in of_runs])
    return True


def scalar(name, data, step=None, description=None):
    """A number. False if nothing is recorded."""
    return _log("scalar", name, step, data, description or "")


def histogram(name, data, step=None, buckets=None, description=None):
    """How the elements of a tensor are distributed."""
    return _log("histogram", name, step, data, 30 if buckets is None else int(buckets), description or "")


def image(name, data, step=None, max_outputs=3, description=None):
    """Images [images, height, width, channels], floating ones from 0 to 1."""
    return _log("image", name, step, data, int(max_outputs), description or "")


def text(name, data, step=None, description=None):
    """A text in Markdown, or a list of texts."""
    is_one = isinstance(data, str)
    return _log("text", name, step, [data] if is_one else list(data), is_one, description or "")


def flush(writer=None, name=None):
    """Hands what waits to the operating system."""
    writer = writer or _settings.writer
    if writer is not None:
        writer.flush()


@contextlib.contextmanager
def record_if(condition):
    """Whether what is logged inside is recorded: a truth value, or a function that gives one."""
    before, _settings.records = _settings.records, condition
    try:
        yield
    finally:
        _settings.records = before


def should_record_summaries():
    """Whether what is logged now is recorded."""
    records = _settings.records
    return _settings.writer is not None and bool(records() if callable(records) else records)


class experimental:  # noqa: N801
    """tf.summary.experimental."""

    @staticmethod
    def set_step(step):
        """The step of what is logged without one."""
        _settings.step = step

    @staticmethod
    def get_step():
        """What set_step() has set."""
        return _settings.step
