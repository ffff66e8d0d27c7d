"""Layers: those of the library, made from its tables, and what classes of Python derive from."""
import collections
import functools
import inspect
import itertools

import numpy as np

from .. import _core, nest
from .._convert import convert_to_tensor, refuse
from .._core import Tensor, Variable
from .._dtypes import as_dtype, string
from .._texts import TextTensor, texts_or_tensor
from ._config import DTypePolicy
from . import _saving, _tables
from ._tables import Configured, Lent, snake_case
from ._text_inputs import SymbolicText

_wrapped = {}  # Python objects of library layers by the address of their body; weak
_NOT_GIVEN = object()  # None may be an input


def _called_by_hand(build):
    """The `build` of a class of one's own. Called by a program it builds the layer once, as the first call would."""
    @functools.wraps(build)
    def built(self, *args, **kwargs):
        if self._is_building or not (args or kwargs):
            return build(self, *args, **kwargs)
        self._build_by_hand(args[0] if args else next(iter(kwargs.values())))
    return built


def _list_of_shapes(shapes):
    """The shapes of the inputs: one shape, or a list, tuple or dict of them."""
    shapes = list(shapes.values()) if isinstance(shapes, dict) else shapes
    is_one = not shapes or not isinstance(shapes[0], (list, tuple))
    return [list(shape) for shape in ([shapes] if is_one else shapes)]


class Layer:
    """What a layer of one's own derives from: it makes its weights in `build` and computes in `call`.

    Setting an attribute to a layer, a variable, or a list, tuple or dict of these makes it a part of the layer.
    """
    _is_model = False
    _is_own_class = True
    _takes_texts = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls._is_own_class and "build" in vars(cls):
            cls.build = _called_by_hand(vars(cls)["build"])
        if cls._is_own_class:
            _saving.remember_class(cls)

    def __new__(cls, *args, **kwargs):
        # The handle is there before __init__, so that attributes can be set before super().__init__() is called.
        self = object.__new__(cls)
        if not issubclass(cls, Configured):
            object.__setattr__(self, "_handle", None)
            if cls.get_config is Layer.get_config:
                object.__setattr__(self, "_arguments", (args, kwargs))
        return self

    def __init__(self, *, activity_regularizer=None, trainable=True, dtype=None, name=None, autocast=True, **kwargs):
        unknown = set(kwargs) - {"input_shape", "input_dim", "batch_size"}
        if unknown:
            raise ValueError(f"{type(self).__name__}: unknown options {sorted(unknown)}")
        self._ensure_handle(name, trainable, dtype)
        if activity_regularizer is not None:
            self.activity_regularizer = activity_regularizer
            with Lent() as lent:
                self._handle.set_activity_regularizer(lent.value(activity_regularizer))

    def _ensure_handle(self, name=None, trainable=True, dtype=None):
        if self._handle is not None:
            return self._handle
        name = name or _core.auto_name(snake_case(type(self).__name__))
        takes = _parameters(type(self).call)
        if isinstance(dtype, dict):  # as a configuration of Keras has it
            dtype = _saving.deserialize_keras_object(dtype)
        dtype = "" if dtype is None else getattr(dtype, "name", dtype)
        if self._is_model:
            overridden = [n for n in ("train_step", "test_step", "predict_step", "compute_loss", "compute_metrics")
                          if getattr(type(self), n) is not getattr(_base_model(), n)]
            made = _core.make_python_model(self, _saving.names_of(type(self)), name, trainable, dtype,
                                           "training" in takes, "mask" in takes, overridden)
        else:
            made = _core.make_python_layer(self, _saving.names_of(type(self)), name, trainable, dtype,
                                           "training" in takes, "mask" in takes, "states" in takes)
        if type(self).compute_mask is not Layer.compute_mask:
            _core.set_computes_mask(made)
        object.__setattr__(self, "_handle", made)
        object.__setattr__(self, "_takes", takes)
        if (count := _required_tensors(type(self).call)) > 1 and "states" not in takes:
            self._take_parts(count, ())
        remember(self)
        return made

    # --- what a class overrides ---

    def build(self, input_shape):
        """Makes the weights; `input_shape` starts with the batch."""

    supports_masking = False  # what the layer gives has the masks of what it takes
    input_spec = None  # what a class of one's own may set; calls do not look at it
    activity_regularizer = None
    autocast = True
    metrics = ()
    path = property(lambda self: self.name)

    def compute_mask(self, inputs, previous_mask=None):
        """The mask of what the layer gives; a class of one's own may make it of the inputs."""
        del inputs
        return previous_mask if self.supports_masking else None

    def call(self, inputs, *args, **kwargs):
        """The result."""
        raise NotImplementedError(f"{type(self).__name__} has no call()")

    _is_building = _is_by_hand = False

    def _build_by_hand(self, shapes):
        """Builds the layer for inputs of these shapes, once."""
        if self._ensure_handle().built:
            return
        object.__setattr__(self, "_is_by_hand", True)
        try:
            self._handle.build(_list_of_shapes(shapes))
        finally:
            object.__setattr__(self, "_is_by_hand", False)

    def _build_for(self, shapes):
        is_cell = "states" in self._takes
        object.__setattr__(self, "_is_building", True)
        try:
            takes_shapes = len(_parameters(type(self).build)) > 1  # besides self
            self.build(*[shapes[0] if is_cell or len(shapes) == 1 else list(shapes)][:takes_shapes])
        finally:
            object.__setattr__(self, "_is_building", False)
        self._name_members()

    def _name_members(self):
        """Files have the weights of the layers inside under the names of the attributes, as in Keras."""
        for name, value in sorted(vars(self).items()):
            if isinstance(value, Layer):
                if name != "_functional_model":
                    self._handle.track_member(value._ensure_handle(), name)
            elif isinstance(value, (list, tuple, dict)):
                counts = collections.Counter()
                for item in value.values() if isinstance(value, dict) else value:
                    if isinstance(item, Layer):
                        kind = snake_case(type(item).__name__)
                        number = f"_{counts[kind]}" if counts[kind] else ""
                        counts[kind] += 1
                        self._handle.track_member(item._ensure_handle(), f"{name}/{kind}{number}")

    # --- calls ---

    def __call__(self, inputs=_NOT_GIVEN, *args, training=None, mask=None, **kwargs):
        if inputs is _NOT_GIVEN:
            inputs = self._named_inputs(kwargs)
        if args or kwargs or self._is_own_class and isinstance(inputs, TextTensor):
            return self._call_with(inputs, args, kwargs, training, mask)
        return self._handle.call(inputs, training, mask)

    def _named_inputs(self, kwargs):
        """The first argument of `call`, which was given by its name; it is taken out of `kwargs`."""
        name = list(inspect.signature(type(self).call).parameters)[1]
        if name not in kwargs:
            raise TypeError(f"{self.name}: the call lacks its argument {name!r}")
        return kwargs.pop(name)

    def _call_with(self, inputs, args, kwargs, training, mask):
        """A call with arguments beside the inputs, as Python calls it."""
        given = [inputs, *args, *kwargs.values()]
        if any(_core.is_in_graph(leaf) for leaf in nest.flatten(given)):
            return self._call_in_graph(given, tuple(kwargs), training)
        if not self._handle.built:
            self._handle.build([x.shape for x in map(texts_or_tensor, nest.flatten(inputs))])
        if training is not None and "training" in self._takes:
            kwargs["training"] = training
        if mask is not None and "mask" in self._takes:
            kwargs["mask"] = mask
        return type(self).call(self, nest.map_structure(texts_or_tensor, inputs), *args, **kwargs)

    def _call_in_graph(self, given, names, training):
        """A call in a functional model: the library sees one structure, and `call` gets its parts."""
        if any(not isinstance(leaf, (Tensor, Variable)) for leaf in nest.flatten(given)):
            raise TypeError(f"{self.name}: in a functional model the arguments of a call are tensors; give others to "
                            "the constructor")
        if self.__dict__.setdefault("_names_of_arguments", (len(given), names)) != (len(given), names):
            raise ValueError(f"{self.name}: all calls in functional models must have the same arguments")
        self._take_parts(len(given) - len(names), names)
        return self._handle.call(tuple(given), training, None)

    def _take_parts(self, plain, names):
        """The library's calls give one structure, whose parts are arguments, the last ones by these names."""
        def call(parts, **more):
            return type(self).call(self, *parts[:plain], **dict(zip(names, parts[plain:])), **more)
        object.__setattr__(self, "call", call)
        object.__setattr__(self, "_build_for", lambda shapes: Layer._build_for(self, shapes[:1]))
        self._handle.takes_each_tensor()

    # --- parts ---

    def __setattr__(self, name, value):
        if not isinstance(value, (int, float, str, bool, type(None))):
            self._track(value)
        object.__setattr__(self, name, value)

    def _track(self, value):
        if isinstance(value, Layer):
            if value._handle is None:
                value._ensure_handle()
            self._ensure_handle().track(value._handle)
        elif isinstance(value, Variable):
            self._ensure_handle().track_variable(value)
        elif isinstance(value, (list, tuple)):
            for item in value:
                self._track(item)
        elif isinstance(value, dict):
            for item in value.values():
                self._track(item)

    def add_weight(self, shape=None, initializer=None, dtype=None, trainable=True, autocast=True, regularizer=None,
                   constraint=None, aggregation=None, overwrite_with_gradient=False, name=None, **kwargs):
        """A new weight, in `build` or in the constructor."""
        if isinstance(shape, str):  # Keras 2 had the name first
            name, shape = shape, initializer
            initializer = kwargs.get("initializer")
        if initializer is None:
            initializer = "glorot_uniform"
        own = self._ensure_handle().dtype
        refuse("add_weight", dtype=(None if dtype is None else as_dtype(dtype), None, own),
               overwrite_with_gradient=(bool(overwrite_with_gradient), False))
        with Lent() as lent:
            return self._ensure_handle().add_weight(
                name or "variable", () if shape is None else shape, lent.value(initializer), bool(trainable),
                lent.value(regularizer), lent.value(constraint))

    def add_loss(self, loss):
        """Adds scalars to the loss of the model; in `call`."""
        for one in nest.flatten(loss):
            self._handle.add_loss(one)

    # --- what every layer has ---

    name = property(lambda self: self._ensure_handle().name)
    built = property(lambda self: self._ensure_handle().built, lambda self, value: None)
    losses = property(lambda self: self._handle.losses)
    weights = property(lambda self: self._ensure_handle().weights)
    variables = weights
    trainable_variables = property(lambda self: self._ensure_handle().trainable_variables)
    trainable_weights = trainable_variables
    non_trainable_variables = property(lambda self: self._ensure_handle().non_trainable_variables)
    non_trainable_weights = non_trainable_variables
    dtype = variable_dtype = property(lambda self: self._ensure_handle().dtype.name)
    compute_dtype = property(lambda self: self._ensure_handle().compute_dtype.name)

    @property
    def dtype_policy(self):
        """The dtypes of the layer."""
        own = self.compute_dtype
        return DTypePolicy(own if own == self.dtype else f"mixed_{own}")

    @property
    def trainable(self):
        return self._ensure_handle().trainable

    @trainable.setter
    def trainable(self, value):
        self._ensure_handle().trainable = bool(value)

    @property
    def layers(self):
        """The layers inside."""
        return [wrap_layer(handle) for handle in self._ensure_handle().sublayers]

    def get_weights(self):
        """Copies of all weights, as arrays."""
        return [np.asarray(w.numpy()) for w in self.weights]

    def set_weights(self, weights):
        """Takes over arrays, one for each weight."""
        self._handle.set_weights(list(weights))

    def count_params(self):
        """The number of elements of all weights."""
        return self._handle.count_params()

    def get_config(self):
        """What the layer was made with. A class of one's own overrides it, if its options are no plain data."""
        config = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype_policy.name}
        given = self.__dict__.get("_arguments")
        return config if given is None else _saving.automatic_config(self, *given, config)

    def _config_of_file(self):
        count, names = self.__dict__.get("_names_of_arguments", (1, ()))
        if names or count not in (1, _required_tensors(type(self).call)):
            raise ValueError(f"{self.name}: a functional model calls it with arguments that have defaults, which files do "
                             "not hold\n  help: give them no defaults, and call it without names")
        try:
            return _saving.serialize_keras_object(self.get_config())
        except TypeError as error:
            raise ValueError(f"{type(self).__name__}.get_config: {error}") from error

    @classmethod
    def from_config(cls, config):
        """A layer of what get_config() gave."""
        return cls(**config)

    def compute_output_shape(self, input_shape):
        """The shapes of what the layer gives for inputs of a shape, or of a list or dict of them. Lengths may be None."""
        from .._ops import zeros
        one = not isinstance(input_shape, dict) and all(not isinstance(n, (list, tuple, _core.TensorShape)) for n in input_shape)
        named = input_shape if isinstance(input_shape, dict) else dict(enumerate([input_shape] if one else input_shape))
        shapes = {name: list(shape) for name, shape in named.items()}
        if any(None in shape[1:] for shape in shapes.values()):
            inputs = {name: Input(shape[1:]) for name, shape in shapes.items()}
        else:
            inputs = {name: zeros([1 if n is None else n for n in shape]) for name, shape in shapes.items()}
        result = self(inputs if isinstance(input_shape, dict) else inputs[0] if one else list(inputs.values()))
        batch = {shape[0] for shape in shapes.values() if shape}
        return nest.map_structure(
            lambda y: _core.TensorShape(([None] if None in batch else list(y.shape[:1])) + list(y.shape[1:])), result)

    def __repr__(self):
        return f"<{type(self).__name__} name={self.name}>"


def _parameters(function):
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(parameters)


def _required_tensors(function):
    """How many arguments a `call` must be given."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[1:]
    except (TypeError, ValueError):
        return 1
    return sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in ("training", "mask")
               for p in parameters)


def _base_model():
    from ._models import Model
    return Model


# The number of states of recurrent layers and cells.
_STATES = {"SimpleRNN": 1, "GRU": 1, "LSTM": 2, "SimpleRNNCell": 1, "GRUCell": 1, "LSTMCell": 2}
_CELLS = ("SimpleRNNCell", "GRUCell", "LSTMCell", "StackedRNNCells")


# Layers that take images in a list as a batch of them.
_OF_IMAGES = ("CenterCrop", "Resizing", "Rescaling", "RandomBrightness", "RandomContrast", "RandomCrop", "RandomFlip",
              "RandomRotation", "RandomTranslation", "RandomZoom")


class LibraryLayer(Configured, Layer):
    """A layer of the library."""
    _kind = "layer"
    _is_own_class = False

    def __new__(cls, *args, **kwargs):
        return object.__new__(cls)

    def __init__(self, *args, **kwargs):
        given = self._bind(args, kwargs)
        for unused in ("batch_size", "autocast"):
            given.pop(unused, None)
        for option, values in _tables.UNUSED.get(self._name, {}).items():
            refuse(self._name, **{option: (given.pop(option, values[0]), *values)})
        shape = given.pop("input_shape", None)
        options = {o for o, _ in _tables.options_of(self._kind, self._name)}
        if "input_dim" in given and "input_dim" not in options:
            shape = (given.pop("input_dim"),)
        if (batch_shape := given.pop("batch_input_shape", None)) is not None:
            shape = tuple(batch_shape)[1:]
        object.__setattr__(self, "_given", given)
        object.__setattr__(self, "_input_shape", shape)
        for option in ("layer", "cell", "cells", "backward_layer"):
            if option in given:
                object.__setattr__(self, option, given[option])
        with Lent() as lent:
            library = _core.make_layer(Configured._serialized(self, lent))
        object.__setattr__(self, "_library", library)
        object.__setattr__(self, "_handle", library)
        if self._overrides("call", "build", "compute_mask"):
            # A layer of one's own, of which the library's is a part: super().call() calls it.
            object.__setattr__(self, "_handle", None)
            object.__setattr__(self, "_is_own_class", True)
            Layer._ensure_handle(self, given.get("name"), given.get("trainable", True), given.get("dtype"))
            self._handle.track_member(library, snake_case(self._name))
        remember(self)

    def _ensure_handle(self, *unused):
        return self._handle

    def _serialized(self, lent):
        return lent._lend("PythonLayer", self) if self._is_own_class else super()._serialized(lent)

    def __setattr__(self, name, value):
        if self._is_option(name):
            with Lent() as lent:
                self._library.set_option(name, lent.value(value))
            self._given[name] = value
        elif not self._is_own_class and "_library" in self.__dict__ and self._weight(name) is not None:
            raise AttributeError(f"{self._name}: {name!r} is a weight\n  help: layer.{name}.assign(value)")
        else:
            Layer.__setattr__(self, name, value)

    def _track(self, value):
        """Attributes of a layer of the library are no parts of it."""
        if self._is_own_class:
            Layer._track(self, value)

    def get_config(self):
        """What the layer was made with, with Keras's keys."""
        return self._library.get_config()

    def build(self, input_shape):
        shapes = input_shape if input_shape and isinstance(input_shape[0], (list, tuple)) else [input_shape]
        self._library.build([list(s) for s in shapes])

    def __call__(self, inputs=None, *args, training=None, mask=None, **kwargs):
        if self._is_own_class:
            return Layer.__call__(self, inputs, *args, training=training, mask=mask, **kwargs)
        if args or kwargs or isinstance(inputs, (list, tuple)):
            return self.call(inputs, *args, training=training, mask=mask, **kwargs)
        return self._library.call(inputs, training, mask)

    def call(self, inputs=None, *args, training=None, mask=None, **kwargs):
        """The result, as a call of the layer gives it."""
        if isinstance(inputs, (list, tuple)) and (self._name in _OF_IMAGES or all(
                isinstance(v, (int, float)) for v in nest.flatten(inputs))):
            inputs = convert_to_tensor(inputs)  # numbers and images are one tensor; a list of tensors is several inputs
        if not args and not kwargs:
            return self._library.call(inputs, training, mask)
        if inputs is None:
            inputs = kwargs.pop("query", None)
        if self._name in _CELLS and (args or "states" in kwargs):
            states = nest.flatten(kwargs.pop("states") if "states" in kwargs else args[0])
            output, states = self._library.call((inputs, states), training, mask)
            return output, list(states)
        if "initial_state" in kwargs and len(kwargs) == 1 and not args:
            return self._library.call_rnn(inputs, training, mask, kwargs["initial_state"])
        if self._name in ("Attention", "AdditiveAttention", "MultiHeadAttention", "GroupQueryAttention"):
            return self._call_attention(inputs, args, training, mask, kwargs)
        if self._name == "CategoryEncoding" and list(kwargs) == ["count_weights"] and not args:
            return self._library.call([inputs, kwargs["count_weights"]], training, mask)
        raise TypeError(f"{self._name}: a call takes no {sorted(kwargs) or 'further arguments'}")

    def compute_mask(self, inputs, previous_mask=None):
        """The mask of what the layer gives."""
        return _core.mask_of(self._library.call(inputs, None, previous_mask))

    def reset_state(self):
        """Makes the states of a stateful layer zeros."""
        _core.reset_rnn_state(self._library)

    reset_states = reset_state

    @property
    def state_size(self):
        """The lengths of the states of a recurrent layer; of a cell with one state a number."""
        count = _STATES.get(self._name)
        if count is None:
            raise AttributeError(f"{self._name} has no attribute 'state_size'")
        return self.units if self._name in ("SimpleRNNCell", "GRUCell") else [self.units] * count

    def get_initial_state(self, batch_size=None):
        """The states that a recurrent layer or cell begins with: zeros, [batch_size, units] each."""
        from .._ops import zeros
        count = _STATES.get(self._name)
        if count is None:
            raise AttributeError(f"{self._name} has no attribute 'get_initial_state'")
        if batch_size is None:
            raise ValueError(f"{self._name}: get_initial_state() needs a batch_size")
        return [zeros([batch_size, self.units], self.compute_dtype) for _ in range(count)]

    def adapt(self, data, batch_size=None, steps=None):
        """Learns from data: tensors, or a dataset of batches. `batch_size` changes nothing: all is looked at at once."""
        del batch_size
        if self._name not in ("Normalization", "Discretization"):
            raise AttributeError(f"{self._name} has no adapt()")
        if hasattr(data, "batch") and hasattr(data, "take"):
            batches = data if steps is None else data.take(steps)
            data = np.concatenate([np.atleast_1d(batch.numpy()) for batch in batches])
        _core.adapt(self._library, data)

    def _call_attention(self, inputs, args, training, mask, kwargs):
        if not isinstance(inputs, (list, tuple)):
            named = [kwargs.pop(k) for k in ("value", "key") if k in kwargs]
            inputs = [inputs, *args, *named]
        attention_mask = kwargs.pop("attention_mask", None)
        causal = bool(kwargs.pop("use_causal_mask", False))
        scores = bool(kwargs.pop("return_attention_scores", False))
        if kwargs:
            raise TypeError(f"{self._name}: a call takes no {sorted(kwargs)}")
        return self._library.call_attention(inputs, training, mask, attention_mask, causal, scores)

    @property
    def output(self):
        """What the layer gives in the model that it was taken from, by get_layer() or from a list of layers."""
        return self._ends("output")[1]

    @property
    def input(self):
        """What the layer takes in the model that it was taken from: a tensor, or a list of them."""
        return self._ends("input")[0]

    def _ends(self, what):
        model = self.__dict__.get("_model")
        if model is None:
            raise AttributeError(what)
        return wrap_layer(model)._ends_of(self)

    @property
    def kernel(self):
        return self._weight("kernel")

    @property
    def bias(self):
        return self._weight("bias")

    def __getattr__(self, name):
        if name.startswith("__") or name in ("_handle", "_library"):
            raise AttributeError(name)
        weight = self._weight(name)
        if weight is None:
            given = self.__dict__.get("_given", {})
            if name in given:
                return _tables.as_object(name, given[name])
            config = self._library.get_config() if "_library" in self.__dict__ else {}
            if name in config:
                return _tables.as_object(name, config[name])
            help = "\n  help: take the layer from a model, as model.get_layer(name) does" if name in ("input", "output") else ""
            raise AttributeError(f"{self._name} has no attribute {name!r}{help}")
        return weight

    def _weight(self, name):
        return next((w for w in self._handle.weights if w.name == name), None)


def remember(layer):
    import weakref
    _wrapped[layer._handle.key] = weakref.ref(layer)


def wrap_layer(handle):
    """The Python object of a layer: the one that there is, or a new one."""
    if handle.object is not None:
        return handle.object
    known = _wrapped.get(handle.key)
    layer = known() if known is not None else None
    if layer is not None and layer._handle.is_same(handle):
        return layer
    from . import _models
    cls = CLASSES.get(handle.type_name) or {"Sequential": _models.Sequential}.get(handle.type_name, _models.LibraryModel)
    layer = object.__new__(cls)
    object.__setattr__(layer, "_handle", handle)
    if issubclass(cls, LibraryLayer):
        object.__setattr__(layer, "_library", handle)
        object.__setattr__(layer, "_given", {})
        object.__setattr__(layer, "_input_shape", None)
    remember(layer)
    return layer


class InputLayer(Layer):
    """What stands for an input, first in a Sequential."""
    _is_own_class = False
    _text = None

    def __init__(self, shape=None, batch_size=None, dtype=None, sparse=None, ragged=None, batch_shape=None,
                 input_tensor=None, optional=False, name=None, input_shape=None, batch_input_shape=None):
        refuse("InputLayer", sparse=(sparse or None, None), ragged=(ragged or None, None),
               input_tensor=(input_tensor, None), optional=(optional, False))
        batch_shape = batch_shape if batch_shape is not None else batch_input_shape  # as Keras 2 called it
        if batch_shape is not None:
            batch_size, *shape = batch_shape
        shape = shape if shape is not None else input_shape
        object.__setattr__(self, "batch_shape", (batch_size, *shape))
        if dtype is not None and as_dtype(dtype) == string:  # in a Sequential, as Input() of texts
            object.__setattr__(self, "_text", SymbolicText(tuple(shape), batch_size, name or _core.auto_name("keras_tensor")))
            return
        object.__setattr__(self, "_input_shape", shape)
        object.__setattr__(self, "_handle", _core.make_input_layer(shape, batch_size, dtype, name or ""))


def Input(shape=None, batch_size=None, dtype=None, name=None, sparse=None, ragged=None, batch_shape=None, tensor=None,
          optional=False):
    """An input of a functional model."""
    refuse("Input", sparse=(sparse or None, None), ragged=(ragged or None, None), tensor=(tensor, None),
           optional=(bool(optional), False))
    if batch_shape is not None:
        batch_size, *shape = batch_shape
    if dtype is not None and as_dtype(dtype) == string:
        return SymbolicText(tuple(shape), batch_size, name or _core.auto_name("keras_tensor"))
    return _core.make_input(tuple(shape), batch_size, dtype, name or "")


class Lambda(Layer):
    """A function as a layer."""

    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs):
        refuse("Lambda", mask=(mask, None))
        super().__init__(**kwargs)
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "arguments", arguments or {})

    def call(self, inputs):
        return self.function(inputs, **self.arguments)


class _Embedding(LibraryLayer):
    """An embedding whose rows may be given: `weights` is the table, or a list of it."""
    _is_own_class = False

    def __init__(self, *args, weights=None, **kwargs):
        super().__init__(*args, **kwargs)
        if weights is not None:
            self.build([None])
            self.set_weights(weights if isinstance(weights, list) and len(weights) == 1 else [weights])


from ._text_layers import BASES  # noqa: E402

CLASSES = _tables.make_classes("layer", LibraryLayer, skip=("Sequential", "Functional", "InputLayer", "Lambda"),
                               bases=BASES | {"Embedding": _Embedding})
del itertools
