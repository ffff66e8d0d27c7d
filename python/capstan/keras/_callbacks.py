"""Callbacks: those of the library by its tables, and what classes of Python derive from."""
from .. import _core
from . import _tables
from ._tables import Configured, Lent


class Callback:
    """What a callback of one's own derives from: it overrides the hooks that it needs."""
    model = None
    params = {}

    def set_model(self, model):
        self.model = model

    def set_params(self, params):
        self.params = params

    def on_train_begin(self, logs=None):
        """Called when a training begins."""

    def on_train_end(self, logs=None):
        """Called when a training ends."""

    def on_epoch_begin(self, epoch, logs=None):
        """Called when an epoch begins."""

    def on_epoch_end(self, epoch, logs=None):
        """Called when an epoch ends."""

    def on_train_batch_begin(self, batch, logs=None):
        """Called before a step."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        """Called after a step."""
        self.on_batch_end(batch, logs)

    def on_batch_begin(self, batch, logs=None):
        """Called before a step, by its older name."""

    def on_batch_end(self, batch, logs=None):
        """Called after a step, by its older name."""

    def on_test_begin(self, logs=None):
        """Called when an evaluation begins."""

    def on_test_end(self, logs=None):
        """Called when an evaluation ends."""

    def on_test_batch_begin(self, batch, logs=None):
        """Called before a step of an evaluation."""

    def on_test_batch_end(self, batch, logs=None):
        """Called after a step of an evaluation."""

    def on_predict_begin(self, logs=None):
        """Called when predictions begin."""

    def on_predict_end(self, logs=None):
        """Called when predictions end."""


class LibraryCallback(Configured, Callback):
    """A callback of the library."""
    _kind = "callback"

    def _make(self):
        with Lent() as lent:
            self._handle = _core.make_callback_of(self._serialized(lent))


class History(Callback):
    """What fit() recorded."""

    def __init__(self):
        self.epoch, self.history = [], {}

    def curves_svg(self):
        """The curves as an SVG image."""
        return _core.curves_svg(self.epoch, self.history)

    def curves_text(self):
        """The curves as lines of characters, for a terminal."""
        return _core.curves_text(self.epoch, self.history)

    def _repr_html_(self):
        return self.curves_svg() if self.history else repr(self)


class LambdaCallback(Callback):
    """Functions as hooks."""

    def __init__(self, on_epoch_begin=None, on_epoch_end=None, on_train_begin=None, on_train_end=None,
                 on_train_batch_begin=None, on_train_batch_end=None, **kwargs):
        hooks = {"on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end, "on_train_begin": on_train_begin,
                 "on_train_end": on_train_end, "on_train_batch_begin": on_train_batch_begin,
                 "on_train_batch_end": on_train_batch_end, **kwargs}
        for name, hook in hooks.items():
            if hook is not None:
                setattr(self, name, hook)


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch."""

    def __init__(self, schedule, verbose=0):
        self.schedule = schedule

    def on_epoch_begin(self, epoch, logs=None):
        optimizer = self.model.optimizer
        optimizer.learning_rate = float(self.schedule(epoch, float(optimizer.learning_rate)))


class CallbackList:
    """What fit() is given, as the library takes it."""

    @staticmethod
    def of(callbacks, model):
        listed = []
        for callback in ([] if callbacks is None else callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]):
            callback.set_model(model)
            listed.append(callback._handle if isinstance(callback, LibraryCallback) else callback)
        return listed


CLASSES = _tables.make_classes("callback", LibraryCallback)
