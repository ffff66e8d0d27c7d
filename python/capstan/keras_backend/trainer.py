"""fit, evaluate and predict: each step is a function of the library, traced once for each kind of batch."""
import warnings

import numpy as np
from keras.src import backend, callbacks as callbacks_module, optimizers, tree
from keras.src.backend import config
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.trainers.epoch_iterator import EpochIterator
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import pythonify_logs

import capstan as tf

from .core import of_data


class CapstanTrainer(base_trainer.Trainer):
    def __init__(self):
        super().__init__()
        self.train_function = self.test_function = self.predict_function = None

    # --- one step ---

    def _forward_pass(self, x, training):
        return self(x, training=training) if self._call_has_training_arg else self(x)

    def _note_loss(self, loss, x, sample_weight):
        count = next(leaf for leaf in tree.flatten(x) if leaf is not None).shape[0]
        self._loss_tracker.update_state(loss, sample_weight=count)

    def train_step(self, data):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred = self._forward_pass(x, True)
            loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True)
            scaled = self.optimizer.scale_loss(loss) if self.optimizer is not None else loss
        self._note_loss(loss, x, sample_weight)
        weights = self.trainable_weights
        if weights:
            gradients = tape.gradient(scaled, [w._value for w in weights])
            self.optimizer.apply_gradients(zip(gradients, weights))
        else:
            warnings.warn("The model does not have any trainable weights.")
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self._forward_pass(x, False)
        loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False)
        self._note_loss(loss, x, sample_weight)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data):
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        return self._forward_pass(x, False)

    # --- functions of steps ---

    def _function_of(self, step):
        """From some batches to what the last step gives."""
        # A method that a user replaces is found by its name.
        traced = lambda data: getattr(self, step)(data)  # noqa: E731
        if not self.run_eagerly:
            traced = tf.function(traced, autograph=False)

        def several(batches):
            results = None
            for data in batches:
                outputs = traced(tree.map_structure(_batch, data))
                if step == "predict_step" and results is not None:
                    outputs = tree.map_structure(lambda a, b: tf.concat([a, b], axis=0), results, outputs)
                results = outputs
            return results
        return several

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = self._function_of("train_step")
        return self.train_function

    def make_test_function(self, force=False):
        if self.test_function is None or force:
            self.test_function = self._function_of("test_step")
        return self.test_function

    def make_predict_function(self, force=False):
        if self.predict_function is None or force:
            self.predict_function = self._function_of("predict_step")
        return self.predict_function

    # --- loops ---

    def _callbacks(self, callbacks, iterator, verbose, epochs=1, history=False):
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        return callbacks_module.CallbackList(callbacks, add_history=history, add_progbar=verbose != 0, verbose=verbose,
                                             epochs=epochs, steps=iterator.num_batches, model=self)

    @traceback_utils.filter_traceback
    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0,
            steps_per_epoch=None, validation_steps=None, validation_batch_size=None, validation_freq=1):
        self._assert_compile_called("fit")
        most = config.max_epochs()
        if most and most < epochs:
            warnings.warn("Limiting epochs to %d" % most)
            epochs = most
        self._eval_epoch_iterator = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split)
        if validation_data is not None:
            val_x, val_y, val_weight = data_adapter_utils.unpack_x_y_sample_weight(validation_data)
        iterator = EpochIterator(x=x, y=y, sample_weight=sample_weight, batch_size=batch_size,
                                 steps_per_epoch=steps_per_epoch, shuffle=shuffle, class_weight=class_weight,
                                 steps_per_execution=self.steps_per_execution)
        self._symbolic_build(iterator=iterator)
        iterator.reset()
        callbacks = self._callbacks(callbacks, iterator, verbose, epochs, history=True)
        self.stop_training = False
        self.make_train_function()
        callbacks.on_train_begin()
        training_logs = {}
        for epoch in range(self._initial_epoch or initial_epoch, epochs):
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            logs = {}
            for begin, end, batches in iterator:
                callbacks.on_train_batch_begin(begin)
                logs = self.train_function(batches)
                callbacks.on_train_batch_end(end, logs)
                if self.stop_training:
                    break
            epoch_logs = dict(pythonify_logs(self._get_metrics_result_or_logs(logs)))
            if validation_data is not None and self._should_eval(epoch, validation_freq):
                if self._eval_epoch_iterator is None:
                    self._eval_epoch_iterator = EpochIterator(
                        x=val_x, y=val_y, sample_weight=val_weight, batch_size=validation_batch_size or batch_size,
                        steps_per_execution=self.steps_per_execution, steps_per_epoch=validation_steps, shuffle=False)
                found = self.evaluate(x=val_x, y=val_y, sample_weight=val_weight,
                                      batch_size=validation_batch_size or batch_size, steps=validation_steps,
                                      callbacks=callbacks, return_dict=True, _use_cached_eval_dataset=True)
                epoch_logs.update({f"val_{name}": value for name, value in found.items()})
            callbacks.on_epoch_end(epoch, epoch_logs)
            training_logs = epoch_logs
            if self.stop_training:
                break
        if isinstance(self.optimizer, optimizers.Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        self._eval_epoch_iterator = None
        callbacks.on_train_end(logs=training_logs)
        return self.history

    @traceback_utils.filter_traceback
    def evaluate(self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, steps=None, callbacks=None,
                 return_dict=False, **kwargs):
        self._assert_compile_called("evaluate")
        cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        iterator = self._eval_epoch_iterator if cached else EpochIterator(
            x=x, y=y, sample_weight=sample_weight, batch_size=batch_size, steps_per_epoch=steps, shuffle=False,
            steps_per_execution=self.steps_per_execution)
        self._symbolic_build(iterator=iterator)
        iterator.reset()
        callbacks = self._callbacks(callbacks, iterator, verbose)
        self.make_test_function()
        self.stop_evaluating = False
        callbacks.on_test_begin()
        self.reset_metrics()
        logs = {}
        for begin, end, batches in iterator:
            callbacks.on_test_batch_begin(begin)
            logs = self.test_function(batches)
            callbacks.on_test_batch_end(end, logs)
            if self.stop_evaluating:
                break
        logs = pythonify_logs(self._get_metrics_result_or_logs(logs))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        iterator = EpochIterator(x=x, batch_size=batch_size, steps_per_epoch=steps, shuffle=False,
                                 steps_per_execution=self.steps_per_execution)
        callbacks = self._callbacks(callbacks, iterator, verbose)
        self.make_predict_function()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        collected = []
        for begin, end, batches in iterator:
            callbacks.on_predict_batch_begin(begin)
            outputs = self.predict_function(batches)
            collected.append(tree.map_structure(backend.convert_to_numpy, outputs))
            callbacks.on_predict_batch_end(end, {"outputs": outputs})
            if self.stop_predicting:
                break
        callbacks.on_predict_end()
        return tree.map_structure(lambda *parts: np.concatenate(parts), *collected)

    # --- one batch ---

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError("Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                                 f"Received: sample_weight={sample_weight}, class_weight={class_weight}")
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        return self._on_batch(self.make_train_function, (x, y, sample_weight), return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        self._assert_compile_called("test_on_batch")
        return self._on_batch(self.make_test_function, (x, y, sample_weight), return_dict)

    def _on_batch(self, make_function, data, return_dict):
        data = tree.map_structure(lambda v: v if v is None else backend.convert_to_tensor(v), data)
        self._symbolic_build(data_batch=data)
        function = make_function()
        self.reset_metrics()
        logs = pythonify_logs(function([data]))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    def predict_on_batch(self, x):
        function = self.make_predict_function()
        x = tree.map_structure(backend.convert_to_tensor, x)
        return tree.map_structure(backend.convert_to_numpy, function([(x,)]))


def _batch(leaf):
    """A part of a batch as the function takes it: texts and nothing stay what they are."""
    if leaf is None or isinstance(leaf, (str, bytes)):
        return leaf
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "OSU":
        return leaf
    return of_data(leaf)
