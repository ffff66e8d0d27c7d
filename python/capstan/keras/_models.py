"""Models: compile, fit, evaluate, predict and files are the library's."""
import sys

import numpy as np

from .. import _core, nest
from .._convert import convert_to_tensor, refuse
from .._core import Tensor, Variable
from .._ops import cast
from ..data import Dataset
from . import _config, _objects, _saving
from ._callbacks import CallbackList, History
from ._layers import _NOT_GIVEN, Input, InputLayer, Layer, LibraryLayer, _parameters, remember, snake_case, wrap_layer
from ._text_inputs import Front, FrontBatches, SequentialFront, SymbolicText


def _write(text):
    if not _config.is_interactive_logging_enabled():
        import logging
        return logging.getLogger("keras").info("%s", text.strip("\r\n"))
    sys.stdout.write(text)
    sys.stdout.flush()


class _CompiledMetrics:
    """What compile() was given as metrics, as train_step() of programs for Keras 2 calls it."""

    def __init__(self, model):
        self._model = model
        self.metrics = model.metrics

    def update_state(self, y_true, y_pred, sample_weight=None):
        self._model.compute_metrics(None, y_true, y_pred, sample_weight)

    def reset_state(self):
        self._model.reset_metrics()

    def result(self):
        return self._model.get_metrics_result()


class Model(Layer):
    """A model: a class of one's own with `call`, or `Model(inputs, outputs)` of what layers were called on."""
    _is_model = True

    def __new__(cls, *args, **kwargs):
        if cls is Model and (args or "inputs" in kwargs):
            return LibraryModel._functional(*args, **kwargs)
        return Layer.__new__(cls, *args, **kwargs)

    def __init__(self, inputs=None, outputs=None, name=None, **kwargs):
        if inputs is None and outputs is None:
            Layer.__init__(self, name=name, **kwargs)
            return
        # A class of one's own, with steps or methods of its own, of what layers were called on.
        name = name or _core.auto_name(snake_case(type(self).__name__))
        Layer.__init__(self, name=name, **kwargs)
        self._functional_model = LibraryModel._functional(inputs, outputs, name)
        self.inputs, self.outputs = inputs, outputs

    def call(self, inputs, training=None, mask=None):
        """The results; a class of one's own overrides it, unless it was made of inputs and outputs."""
        model = self.__dict__.get("_functional_model")
        if model is None:
            if self.__dict__.pop("_is_prepared", False):
                return inputs
            raise NotImplementedError(f"{type(self).__name__}: a model needs a method `call`, or inputs and outputs")
        return model(inputs, training=training, mask=mask)

    @property
    def layers(self):
        model = self.__dict__.get("_functional_model")
        return Layer.layers.fget(self) if model is None else model.layers

    def _inner(self, layers):
        """The layers, which know from now on in which model they are."""
        for layer in layers:
            if isinstance(layer, LibraryLayer):
                object.__setattr__(layer, "_model", self._handle)
        return layers

    # --- training ---

    def compile(self, optimizer="rmsprop", loss=None, loss_weights=None, metrics=None, weighted_metrics=None,
                run_eagerly=False, steps_per_execution=1, jit_compile="auto", auto_scale_loss=True):
        """Sets the optimizer, the losses and the metrics of fit() and evaluate()."""
        object.__setattr__(self, "_compiled_with", {})
        self.optimizer, self.run_eagerly = _objects.get_optimizer(optimizer), bool(run_eagerly)
        if self.optimizer._overrides("apply_gradients", "apply"):
            raise ValueError(f"compile: fit() would not call apply_gradients() of {type(self.optimizer).__name__}\n  help: call "
                             "it in train_step() of a model of your own, which may keep the optimizer as another attribute")
        self.loss, self.steps_per_execution = loss, int(steps_per_execution)
        if isinstance(loss, dict):
            losses = {name: _objects.loss_handle(item) for name, item in loss.items()}
        elif isinstance(loss, (list, tuple)):
            losses = [_objects.loss_handle(item) for item in loss]
        else:
            losses = None if loss is None else _objects.loss_handle(loss)
        if isinstance(loss_weights, dict):
            loss_weights = {name: float(weight) for name, weight in loss_weights.items()}
        elif loss_weights is not None:
            loss_weights = [float(weight) for weight in loss_weights]
        given = dict(optimizer=self.optimizer, loss=loss, loss_weights=loss_weights, metrics=metrics,
                     weighted_metrics=weighted_metrics, run_eagerly=run_eagerly, steps_per_execution=steps_per_execution)
        _core.compile(self._ensure_handle(), self.optimizer._handle, losses, loss_weights, _metrics_of(metrics),
                      _metrics_of(weighted_metrics), bool(run_eagerly), int(steps_per_execution),
                      lambda: _saving.compile_config_of(given))
        object.__setattr__(self, "_compiled_with", given)

    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0,
            steps_per_epoch=None, validation_steps=None, validation_batch_size=None, validation_freq=1):
        """Trains for some epochs; gives a History."""
        options = _data(self._numbers(x), y, sample_weight, batch_size, steps_per_epoch, 1.0 - validation_split)
        history = History()
        history.set_model(self)
        self._prepare()
        listed = CallbackList(callbacks, model=self, verbose=_verbosity(verbose), epochs=int(epochs),
                              steps=_number_of_steps(options, steps_per_epoch, 1.0 - validation_split)).for_fit()
        options.update(
            epochs=int(epochs), verbose=_verbosity(verbose), callbacks=listed, validation_split=float(validation_split),
            shuffle=bool(shuffle), initial_epoch=int(initial_epoch), steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps, validation_batch_size=validation_batch_size, print=_write,
            validation_freq=[validation_freq] if isinstance(validation_freq, int) else list(validation_freq))
        if class_weight is not None:
            options["class_weight"] = _class_weight(class_weight)
        if validation_data is not None:
            batches = _is_batches(validation_data)
            if not batches:
                validation_data = tuple(_floats(part) for part in (self._numbers(validation_data[0]), *validation_data[1:]))
            options.update(validation_is_batches=batches,
                           validation_size=_length(validation_data) if batches else 0,
                           validation_data=self._numbers(validation_data) if batches else validation_data)
        history.epoch, history.history = _core.fit(self._ensure_handle(), options)
        self.history = history
        return history

    def _numbers(self, x):
        """What the library's model takes: inputs or batches whose texts have become numbers."""
        front = self.__dict__.get("_front")
        if front is None or x is None:
            return x
        return FrontBatches(front, x) if _is_batches(x) else front(x)

    def _parts(self, data):
        """Inputs, labels and weights of a batch."""
        parts = data if isinstance(data, (tuple, list)) else (data,)
        x, *others = (*parts, None, None)[:3]
        return [_structure(part) for part in (self._numbers(x), *others)]

    def _prepare(self):
        """A model whose steps use its parts one by one needs no `call`; the library calls it once to make weights."""
        has_call = type(self).call is not Model.call or "_functional_model" in self.__dict__
        if not has_call and not self._ensure_handle().built:
            object.__setattr__(self, "_is_prepared", True)

    def evaluate(self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, steps=None, callbacks=None,
                 return_dict=False):
        """The loss and the metrics: a number, a list of them, or a dict."""
        options = _data(self._numbers(x), y, sample_weight, batch_size, steps)
        options.update(verbose=_verbosity(verbose), steps=steps, callbacks=CallbackList(callbacks, model=self).for_fit(),
                       print=_write)
        self._prepare()
        values = _core.evaluate(self._ensure_handle(), options)
        if return_dict:
            return dict(values)
        numbers = [value for _, value in values]
        return numbers[0] if len(numbers) == 1 else numbers

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        """The results as arrays, computed in batches."""
        options = _data(self._numbers(x), None, None, batch_size, steps)
        options.update(verbose=_verbosity(verbose), steps=steps, callbacks=CallbackList(callbacks, model=self).for_fit(),
                       print=_write)
        return nest.map_structure(lambda t: t.numpy(), _core.predict(self._ensure_handle(), options))

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        """One step on one batch."""
        logs = _core.train_on_batch(self._handle, _structure(self._numbers(x)), _structure(y), _structure(sample_weight),
                                    _class_weight(class_weight or {}))
        return logs if return_dict else _logs_as_list(logs)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        """The loss and the metrics of one batch."""
        logs = _core.test_on_batch(self._handle, _structure(self._numbers(x)), _structure(y), _structure(sample_weight))
        return logs if return_dict else _logs_as_list(logs)

    def predict_on_batch(self, x):
        """The result for one batch."""
        return nest.map_structure(lambda t: t.numpy(), self._ensure_handle().call(_structure(self._numbers(x)), False, None))

    def train_step(self, data):
        """One step of fit(); a class of one's own may override it."""
        return _core.model_train_step(self._ensure_handle(), *self._parts(data))

    def test_step(self, data):
        """One step of evaluate(); a class of one's own may override it."""
        return _core.model_test_step(self._ensure_handle(), *self._parts(data))

    def predict_step(self, data):
        """One step of predict(); a class of one's own may override it."""
        return self._ensure_handle().call(self._parts(data)[0], False, None)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The losses of compile() with their weights, and what the layers add; a class of one's own may override it."""
        return _core.model_compute_loss(self._ensure_handle(), _structure(x), _structure(y), _structure(y_pred),
                                        _structure(sample_weight), bool(training))

    def _compute_loss(self, x, y, y_pred, sample_weight, training):
        given = {"training": training} if "training" in _parameters(type(self).compute_loss) else {}
        return self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, **given)

    loss, run_eagerly, steps_per_execution, jit_compile = None, False, 1, False  # before compile()
    compiled = property(lambda self: self.__dict__.get("optimizer") is not None)
    compiled_metrics = property(_CompiledMetrics)

    def compiled_loss(self, y, y_pred, sample_weight=None, regularization_losses=None):
        """compute_loss(), as train_step() of programs for Keras 2 calls it: with what the layers add, which is what
        `regularization_losses` may be. The metric "loss" is told."""
        del regularization_losses
        loss = self.compute_loss(None, y, y_pred, sample_weight)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
        return loss

    def reset_metrics(self):
        """Sets all metrics to their beginning."""
        for metric in self.metrics:
            metric.reset_state()

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Updates the metrics of compile() and gives the values so far; a class of one's own may override it."""
        return _core.model_compute_metrics(self._ensure_handle(), _structure(x), _structure(y), _structure(y_pred),
                                           _structure(sample_weight))

    def get_metrics_result(self):
        """The values of all metrics so far."""
        return {metric.name: metric.result() for metric in self.metrics}

    @property
    def metrics(self):
        return [_objects.wrap_metric(handle) for handle in _core.model_metrics(self._handle)]

    @property
    def metrics_names(self):
        return [metric.name for metric in self.metrics]

    @property
    def stop_training(self):
        return _core.stop_training(self._handle)

    @stop_training.setter
    def stop_training(self, value):
        _core.set_stop_training(self._handle, bool(value))

    def __setattr__(self, name, value):
        if name in ("optimizer", "loss", "run_eagerly", "steps_per_execution"):
            if given := self.__dict__.get("_compiled_with"):
                return Model.compile(self, **{**given, name: value})
            if given is None and "_is_compiled_by_file" in self.__dict__:
                raise AttributeError(f"{name}: the model was read from a file as it was compiled\n  help: call compile() again")
        if name in ("optimizer", "loss", "history"):
            return object.__setattr__(self, name, value)
        descriptor = getattr(type(self), name, None)
        if isinstance(descriptor, property):
            return object.__setattr__(self, name, value)
        if isinstance(value, _objects.Metric) and value is not self.__dict__.get(name):
            # It is reset where epochs begin.
            _core.add_model_metric(self._ensure_handle(), _objects.metric_handle(value))
        return Layer.__setattr__(self, name, value)

    # --- layers and files ---

    def get_layer(self, name=None, index=None):
        """A layer by its name or its number."""
        if index is not None:
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"get_layer: there is no layer {name!r}; there are {[layer.name for layer in self.layers]}")

    def summary(self, line_length=None, positions=None, print_fn=None, expand_nested=False, show_trainable=False,
                layer_range=None):
        """Prints a table of the layers."""
        (print_fn or print)(_core.summary(self._handle, line_length, [float(p) for p in positions or []],
                                          bool(expand_nested), bool(show_trainable), list(layer_range or [])))

    def save(self, filepath, overwrite=True, zipped=None, include_optimizer=True):
        """Writes the model as a .keras archive, or as an .h5 file, the form that Keras had before."""
        refuse("save", zipped=(zipped, None, True))
        _saving.check_functions(self)
        _core.save_model(self._handle, str(filepath), overwrite, include_optimizer)

    def export(self, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs):
        """Writes the call at inference: a folder that tf.saved_model.load() reads, with the endpoint `serve`, or "onnx".

        What a model of one's own takes, `input_signature` says: specs of the arguments, in which lengths may be None.
        """
        from ._export import export_model
        export_model(self, filepath, format, verbose, input_signature, kwargs)

    def save_weights(self, filepath, overwrite=True, max_shard_size=None):
        """Writes the weights, by the name of the file."""
        refuse("save_weights", max_shard_size=(max_shard_size, None))
        _core.save_weights(self._handle, str(filepath), overwrite)

    def load_weights(self, filepath, skip_mismatch=False):
        """Takes over the weights of a file."""
        _core.load_weights(self._handle, str(filepath), skip_mismatch)

    def to_json(self):
        """What the model is made of, without weights."""
        return _core.model_to_json(self._handle)

    def build(self, input_shape=None):
        """Makes the weights for inputs of a shape, whose lengths may be None: those of the layers inside by a call with
        zeros."""
        if input_shape is not None and not self._is_building:
            self._build_by_hand(input_shape)

    def _build_for(self, shapes):
        super()._build_for(shapes)
        object.__setattr__(self, "_built_for", shapes)
        is_read = self.__dict__.pop("_is_read", False)
        if is_read or self._is_by_hand and type(self).call is not Model.call:  # layers inside are built by a call
            zeros = [np.zeros([n or 1 for n in shape.as_list()], "float32") for shape in shapes]
            self.call(nest.map_structure(convert_to_tensor, zeros if len(zeros) > 1 else zeros[0]))

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """A model of what get_config() gave."""
        with _saving.custom_object_scope(custom_objects):
            _saving.make_known()
            if cls is Model or issubclass(cls, LibraryModel):
                name = "Sequential" if issubclass(cls, Sequential) else "Functional"
                return wrap_layer(_core.make_layer({"class_name": name, "config": config}))
            model = cls(**config)
        object.__setattr__(model, "_is_read", True)
        return model

    def _repr_html_(self):
        return f"<pre>{_core.summary(self._handle)}</pre>"


class LibraryModel(Model):
    """A model that is wholly the library's, but for layers of texts, which come first."""
    _is_own_class = False
    _takes_texts = property(lambda self: "_front" in self.__dict__)

    def __new__(cls, *args, **kwargs):
        return object.__new__(cls)

    @staticmethod
    def _functional(inputs, outputs, name=None, trainable=True):
        model = object.__new__(LibraryModel)
        if any(isinstance(one, SymbolicText) for one in nest.flatten(inputs)):
            object.__setattr__(model, "_front", Front(inputs, outputs))
            inputs = model._front.numbers
        if isinstance(outputs, (list, tuple)) and len(outputs) == 1:
            outputs = outputs[0]  # as in Keras one output in a list is given without it
        object.__setattr__(model, "_handle", _core.make_functional(inputs, outputs, name or ""))
        if not trainable:
            model.trainable = False
        remember(model)
        return model

    def __init__(self, *args, **kwargs):
        pass

    def _ensure_handle(self, *unused):
        return self._handle

    def _track(self, value):
        """Attributes of such a model are no parts of it."""

    def __call__(self, inputs=_NOT_GIVEN, *args, **kwargs):
        if (front := self.__dict__.get("_front")) is not None and inputs is not _NOT_GIVEN:
            inputs = front(inputs)
        return Layer.__call__(self, inputs, *args, **kwargs)

    def _refuse_texts(self):
        if "_front" in self.__dict__:
            raise ValueError(f"{self.name}: files and configurations of models have no texts as inputs\n  help: save the "
                             "model of the numbers that the layers of texts give, and their vocabularies")

    def save(self, filepath, overwrite=True, zipped=None, include_optimizer=True):
        self._refuse_texts()
        Model.save(self, filepath, overwrite, zipped, include_optimizer)

    def to_json(self):
        self._refuse_texts()
        return Model.to_json(self)

    def build(self, input_shape=None):
        if input_shape is not None:
            self._handle.build([list(input_shape)])

    def get_config(self):
        self._refuse_texts()
        return self._handle.get_config()

    @property
    def layers(self):
        front = self.__dict__.get("_front")
        return (front.layers if front is not None else []) + self._inner(Layer.layers.fget(self))

    @property
    def inputs(self):
        return nest.flatten(self.input)

    @property
    def outputs(self):
        return nest.flatten(self.output)

    @property
    def input(self):
        front = self.__dict__.get("_front")
        return _core.model_inputs(self._handle) if front is None else front.inputs

    @property
    def output(self):
        return _core.model_outputs(self._handle)

    def _ends_of(self, layer):
        """What a layer of the model takes at its first call, a tensor or a list of them, and what it gives."""
        node = next(node for node in self._handle.get_config()["layers"] if node["config"]["name"] == layer.name)
        given = [_core.output_of(self._handle, name) for name in _names_before(node["inbound_nodes"][0])]
        return given[0] if len(given) == 1 else given, _core.output_of(self._handle, layer.name)

    input_names = property(lambda self: [_core.layer_name_of(one) for one in self.inputs])
    output_names = property(lambda self: [_core.layer_name_of(one) for one in self.outputs])

    @property
    def input_shape(self):
        return nest.map_structure(_open_shape, self.input)

    @property
    def output_shape(self):
        return nest.map_structure(_open_shape, self.output)


def _names_before(node):
    """The names of the layers whose outputs a call takes, in the form of a configuration."""
    if isinstance(node, dict) and node.get("class_name") == "__keras_tensor__":
        return [node["config"]["keras_history"][0]]
    inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [name for item in inside for name in _names_before(item)]


def _open_shape(tensor):
    return tuple(tensor.shape)


def _given_layer(layer):
    """A layer of a Sequential; an InputLayer of texts is what stands for them."""
    return layer._text if isinstance(layer, InputLayer) and layer._text is not None else layer


class Sequential(LibraryModel):
    """Layers one after the other."""

    def __init__(self, layers=None, trainable=True, name=None):
        first = [_given_layer(layer) for layer in layers or []]
        handles = []
        if first and not isinstance(first[0], InputLayer) and getattr(first[0], "_input_shape", None) is not None:
            handles.append(_core.make_input_layer(first[0]._input_shape))
        for place, layer in enumerate(first):
            if (handle := self._handle_at(place, layer)) is not None:
                handles.append(handle)
        object.__setattr__(self, "_kept", first)
        object.__setattr__(self, "_handle",
                           _core.make_sequential(handles, name or _core.auto_name("sequential")))
        remember(self)
        if not trainable:
            self.trainable = False
        self._know_shapes()

    def _handle_at(self, place, layer):
        """The library's layer of one in the list, None for texts and what makes numbers of them, which come first."""
        front = self.__dict__.get("_front")
        if place == 0 and isinstance(layer, SymbolicText):
            object.__setattr__(self, "_front", SequentialFront(layer, None))
            return None
        if front is None and place == 0 and getattr(layer, "_takes_texts", False) or front is not None and front.first is None:
            inputs = vars(layer).get("_front", front)
            object.__setattr__(self, "_front", SequentialFront(None if inputs is None else inputs.inputs, layer))
            return layer._ensure_handle() if isinstance(layer, Model) else None
        return _layer_handle(layer)

    def _know_shapes(self):
        """Layers get their weights where the shape of the input is known; the model itself stays open for more."""
        try:
            self._traced()
        except AttributeError:
            pass

    def _traced(self):
        """What stands for an input of the shape that the first layer was given, and what the model makes of it."""
        layers = self.layers
        inputs, ends = self.__dict__.get("_chain") or (None, [])  # of each layer what it takes and gives
        front = self.__dict__.get("_front")
        if inputs is None and front is not None and front.inputs is not None:
            inputs = front.inputs
        elif inputs is None:
            first = next(iter(self.__dict__.get("_kept") or layers), None)
            if isinstance(first, Tensor):
                shape = first.shape[1:]
            elif isinstance(first, Model) and front is None:
                shape = tuple(nest.flatten(first.input)[0].shape)[1:]  # of its one input, perhaps in a list
            else:
                shape = getattr(first, "_input_shape", None)
            if shape is None and front is None and (built := self._handle.get_config().get("build_input_shape")):
                shape = built[1:]  # of a model that was read, copied or called
            if shape is None:
                raise AttributeError(f"{self.name}: the shape of the input is not known\n  help: give Input(shape) as the "
                                     "first layer")
            inputs = Input(tuple(shape))
        outputs = ends[-1][1] if ends else inputs
        for layer in layers[len(ends):]:  # one by one: a model that has been called takes no more layers
            given, outputs = outputs, layer(outputs)
            ends = [*ends, (given, outputs)]
        object.__setattr__(self, "_chain", (inputs, ends))
        return inputs, outputs

    def _ends_of(self, layer):
        self._traced()
        return next(ends for one, ends in zip(self.layers, self.__dict__["_chain"][1]) if one is layer)

    def count_params(self):
        """The number of elements of all weights."""
        weights = self.weights
        return sum(int(np.prod(w.shape)) for w in weights) if weights else super().count_params()

    @property
    def input(self):
        return self._traced()[0]

    @property
    def output(self):
        return self._traced()[1]

    def add(self, layer, rebuild=True):
        """Puts a layer at the end."""
        layer = _given_layer(layer)
        kept = self.__dict__.get("_kept")  # not of a model that was read or copied
        shape = getattr(layer, "_input_shape", None)
        if kept == [] and shape is not None and not isinstance(layer, InputLayer):
            _core.add_to_sequential(self._handle, _core.make_input_layer(shape))
        if (handle := self._handle_at(len(self.layers if kept is None else kept), layer)) is not None:
            _core.add_to_sequential(self._handle, handle)
        if kept is not None:
            kept.append(layer)
        self._know_shapes()

    def pop(self, rebuild=True):
        """Takes the last layer off and gives it back."""
        kept = self.__dict__.get("_kept")
        if kept and (front := self.__dict__.get("_front")) is not None and kept[-1] in (front.inputs, front.first):
            raise ValueError(f"{self.name}: what makes numbers of texts stays in the model")
        last = _core.pop_of_sequential(self._handle)
        layer = wrap_layer(last) if kept is None else kept.pop()
        object.__setattr__(self, "_chain", None)
        self._know_shapes()
        return layer

    @property
    def layers(self):
        kept = self.__dict__.get("_kept")
        if kept is not None:
            return self._inner([layer for layer in kept
                                if isinstance(layer, Layer) and not isinstance(layer, InputLayer)])
        return self._inner([layer for layer in Layer.layers.fget(self) if layer._handle.type_name != "InputLayer"])


def _layer_handle(layer):
    if isinstance(layer, Layer):
        return layer._ensure_handle()
    if isinstance(layer, Tensor):  # Input(shape), as Keras takes it here
        return _core.make_input_layer(list(layer.shape)[1:])
    raise TypeError(f"Sequential: {layer!r} is no layer")


def _metrics_of(metrics):
    """A list of metrics, or a list for each output, in their order or by their names."""
    def listed(some):
        some = [] if some is None else some if isinstance(some, (list, tuple)) else [some]
        return [_objects.metric_handle(metric) for metric in some]
    if isinstance(metrics, dict):
        return {name: listed(some) for name, some in metrics.items()}
    if isinstance(metrics, (list, tuple)) and any(some is None or isinstance(some, (list, tuple)) for some in metrics):
        return [listed(some) for some in metrics]
    return listed(metrics)


def _verbosity(verbose):
    return 1 if verbose == "auto" else int(verbose)


def _is_batches(x):
    if isinstance(x, Dataset):
        return True
    is_data = isinstance(x, (np.ndarray, Tensor, Variable, list, tuple, dict)) or hasattr(x, "__array__")
    return not is_data and hasattr(x, "__iter__")


def _length(batches):
    try:
        return len(batches)
    except TypeError:
        return -1


def _structure(x):
    """A structure of tensors; a list of numbers is one tensor."""
    if x is None:
        return None
    if isinstance(x, (list, tuple)) and not any(
            isinstance(item, (np.ndarray, Tensor, Variable)) or hasattr(item, "__array__") for item in x):
        return convert_to_tensor(x)
    return nest.map_structure(convert_to_tensor, x)


def _floats(x):
    """The structure of tensors; as in Keras floating numbers are of floatx()."""
    def converted(leaf):
        is_other = isinstance(leaf, (Tensor, Variable)) and leaf.dtype.is_floating and leaf.dtype.name != _config.floatx()
        return cast(leaf, _config.floatx()) if is_other else leaf
    return nest.map_structure(converted, _structure(x))


def _data(x, y, sample_weight, batch_size, steps=None, share=1.0):
    """What the library's loops take; of tensors `share` is used, in `steps` batches if no batch_size is given."""
    if _is_batches(x):
        if y is not None or sample_weight is not None:
            raise ValueError("fit: labels or weights are given beside batches, which have their own")
        return {"is_batches": True, "x": _Passes(x), "size": _length(x)}
    options = {"is_batches": False, "x": _floats(x), "y": _floats(y), "sample_weight": _floats(sample_weight)}
    if batch_size is None and steps:
        examples = int(len(next(iter(nest.flatten(options["x"])))) * share)
        batch_size = max(-(-examples // int(steps)), 1)
    if batch_size is not None:
        options["batch_size"] = int(batch_size)
    return options


def _number_of_steps(options, steps, share):
    """How many batches an epoch has, for callbacks; None if that is not known."""
    if steps is not None:
        return int(steps)
    if options["is_batches"]:
        return options["size"] if options["size"] > 0 else None
    examples = int(len(next(iter(nest.flatten(options["x"])))) * share)
    return -(-examples // options.get("batch_size", 32))


def _class_weight(weights):
    return {int(k): float(v) for k, v in weights.items()}


class _Passes:
    """Batches, in passes: what can be iterated again is, an iterator goes on where it stopped."""

    def __init__(self, batches):
        self._batches = batches

    def __iter__(self):
        return iter(self._batches)


def _logs_as_list(logs):
    numbers = [logs["loss"]] + [value for name, value in logs.items() if name != "loss"]
    return numbers[0] if len(numbers) == 1 else numbers


def _read_model(path, compile):
    """The model of an archive, compiled by Python if losses or metrics are of the program, else by the library."""
    compiled = []

    def compile_with(handle, config):
        given = _saving.compile_arguments(config)
        if given is None:
            return _core.compile_from_config(handle, config)
        compiled.append(wrap_layer(handle))
        compiled[0].compile(**given)
    return wrap_layer(_core.load_model(path, compile, compile_with))


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True):
    """Reads a .keras archive. Nothing that the file names is imported or run, but registered classes, those that the
    program has made, and `custom_objects`."""
    refuse("load_model", safe_mode=(safe_mode, True))
    with _saving.custom_object_scope(custom_objects):
        _saving.make_known()
        model = _read_model(str(filepath), compile)
    if model.__dict__.get("_compiled_with"):
        return model
    optimizer = _core.model_optimizer(model._handle)
    if optimizer is not None:
        object.__setattr__(model, "optimizer", _objects.wrap_optimizer(optimizer))
        object.__setattr__(model, "_is_compiled_by_file", True)
    return model


def save_model(model, filepath, overwrite=True, zipped=None, **kwargs):
    """Writes a model as a .keras archive."""
    model.save(filepath, overwrite=overwrite, zipped=zipped, **kwargs)


def model_from_json(json_string, custom_objects=None):
    """A model of what to_json() gave."""
    with _saving.custom_object_scope(custom_objects):
        _saving.make_known()
        return wrap_layer(_core.model_from_json(json_string))


def clone_model(model):
    """A model of the same layers with weights of its own."""
    return model_from_json(model.to_json())
