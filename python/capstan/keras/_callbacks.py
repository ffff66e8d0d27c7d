"""Callbacks: those of the library by its tables, and what classes of Python derive from."""
import functools
import inspect
import os

from .. import _core
from .._convert import refuse
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

    def on_predict_batch_begin(self, batch, logs=None):
        """Called before a step of predictions."""

    def on_predict_batch_end(self, batch, logs=None):
        """Called after a step of predictions; `logs` has its "outputs"."""


class LibraryCallback(Configured, Callback):
    """A callback of the library."""
    _kind = "callback"

    def _make(self):
        with Lent() as lent:
            self._handle = _core.make_callback_of(self._serialized(lent))

    def set_model(self, model):
        self.__dict__.pop("_hooks", None)
        self.model = model

    def _call_hook(self, name, number, logs):
        """Calls a hook of the library's callback, in a loop of one's own or for a class that overrides it."""
        if self.model is None:
            raise ValueError(f"{type(self).__name__}.{name}: there is no model\n  help: call set_model(model) first")
        if "_hooks" not in self.__dict__:
            self._hooks = _core.CallbackHooks(self._handle, self.model._ensure_handle(), self.params)
        self._hooks.call(name, number, {} if logs is None else logs)

    def __getattr__(self, name):
        """What it has found, as EarlyStopping's stopped_epoch, and what it was made with."""
        found = self.__dict__["_handle"].found() if name[:1] != "_" and "_handle" in self.__dict__ else {}
        return found[name] if name in found else super().__getattr__(name)


def _forward(name, is_numbered):
    """A hook that the library's callback is told."""
    if is_numbered:
        def hook(self, number, logs=None):
            self._call_hook(name, number, logs)
    else:
        def hook(self, logs=None):
            self._call_hook(name, 0, logs)
    hook.__name__, hook.__doc__ = name, getattr(Callback, name).__doc__
    return hook


_HOOKS = [name for name in vars(Callback) if name.startswith("on_") and not name.startswith("on_batch")]
for _name in _HOOKS:
    setattr(LibraryCallback, _name, _forward(_name, "epoch" in _name or "batch" in _name))


class History(Callback):
    """What fit() recorded."""

    def __init__(self):
        self.epoch, self.history = [], {}

    def on_train_begin(self, logs=None):
        """Called when a training begins."""
        self.epoch = []

    def on_epoch_end(self, epoch, logs=None):
        """Called when an epoch ends."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(float(value))

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


class _Made(LibraryCallback):
    """A callback of the library that is no class of a table."""

    def __init_subclass__(cls):
        if cls.__base__ is not _Made:
            return
        make = cls.__init__
        cls._name, cls._signature = cls.__name__, inspect.signature(make)

        @functools.wraps(make)
        def __init__(self, *args, **kwargs):
            make(self, *args, **kwargs)
            self._given = self._bind(args, kwargs)
        cls.__init__ = __init__

    def __init__(self, handle):
        self._handle, self._given = handle, {}


class ModelCheckpoint(_Made):
    """Writes the model, or with `save_weights_only` its weights, while it is trained. The name may have {epoch}, {batch}
    and values of the logs, each with a format: {epoch:02d}, {val_loss:.2f}."""

    def __init__(self, filepath, monitor="val_loss", verbose=0, save_best_only=False, save_weights_only=False, mode="auto",
                 save_freq="epoch", initial_value_threshold=None):
        super().__init__(_core.model_checkpoint(os.fspath(filepath), {
            "monitor": monitor, "verbose": int(verbose), "save_best_only": save_best_only,
            "save_weights_only": save_weights_only, "mode": mode, "save_freq": save_freq,
            "initial_value_threshold": initial_value_threshold}))


class BackupAndRestore(_Made):
    """Makes a training go on where an earlier process was cut off, with the same bits."""

    def __init__(self, backup_dir, save_freq="epoch", double_checkpoint=False, delete_checkpoint=True):
        refuse("BackupAndRestore", double_checkpoint=(double_checkpoint, False))
        super().__init__(_core.backup_and_restore(os.fspath(backup_dir), {
            "save_freq": save_freq, "delete_checkpoint": delete_checkpoint}))


class TensorBoard(_Made):
    """Logs a training for TensorBoard, in the folders train and validation of `log_dir`."""

    def __init__(self, log_dir="logs", histogram_freq=0, write_graph=True, write_images=False, write_steps_per_second=False,
                 update_freq="epoch", profile_batch=0, embeddings_freq=0, embeddings_metadata=None):
        refuse("TensorBoard", embeddings_metadata=(embeddings_metadata, None))
        batches = [int(b) for b in (profile_batch if isinstance(profile_batch, (list, tuple)) else [profile_batch]) if b]
        super().__init__(_core.tensor_board(os.fspath(log_dir), {
            "histogram_freq": int(histogram_freq), "write_graph": write_graph, "write_images": write_images,
            "write_steps_per_second": write_steps_per_second, "update_freq": update_freq, "profile_batch": batches,
            "embeddings_freq": int(embeddings_freq)}))


class TerminateOnNaN(_Made):
    """Ends a training whose loss is no number, or raises."""

    def __init__(self, raise_error=False):
        super().__init__(_core.terminate_on_nan(bool(raise_error)))


class SwapEMAWeights(_Made):
    """Evaluates with the averages that an optimizer with `use_ema` keeps."""

    def __init__(self, swap_on_epoch=False):
        super().__init__(_core.swap_ema_weights(bool(swap_on_epoch)))


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch: to what `schedule` makes of the epoch and the rate, or of the epoch."""

    def __init__(self, schedule, verbose=0):
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        optimizer = self.model.optimizer
        try:
            takes_rate = inspect.signature(self.schedule).bind(epoch, 0.0) is not None
        except TypeError:
            takes_rate = False
        except ValueError:  # no signature
            takes_rate = True
        rate = self.schedule(epoch, float(optimizer.learning_rate)) if takes_rate else self.schedule(epoch)
        optimizer.learning_rate = float(rate)
        if self.verbose:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {float(rate)}.")

    def on_epoch_end(self, epoch, logs=None):
        del epoch
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class CallbackList(Callback):
    """Callbacks for a loop of one's own: each hook calls those of all, in their order."""

    def __init__(self, callbacks=None, add_history=False, add_progbar=False, model=None, **params):
        refuse("CallbackList", add_progbar=(add_progbar, False))
        self.callbacks = [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        if add_history and not any(isinstance(callback, History) for callback in self.callbacks):
            self.callbacks.append(History())
        self.set_params(params)
        if model is not None:
            self.set_model(model)

    def append(self, callback):
        """Adds a callback."""
        self.callbacks.append(callback)

    def set_params(self, params):
        self.params = params
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model):
        self.model = model
        for callback in self.callbacks:
            callback.set_model(model)

    def for_fit(self):
        """What fit() takes: of the library's own the library's objects."""
        return [callback._handle if isinstance(callback, LibraryCallback) and not callback._overrides(*_HOOKS) else callback
                for callback in self.callbacks]


def _call_all(name):
    def hook(self, *args):
        for callback in self.callbacks:
            getattr(callback, name)(*args)
    hook.__name__, hook.__doc__ = name, getattr(Callback, name).__doc__
    return hook


for _name in _HOOKS:
    setattr(CallbackList, _name, _call_all(_name))


CLASSES = _tables.make_classes("callback", LibraryCallback)
