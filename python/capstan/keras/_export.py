"""keras.export: models and functions as artifacts for inference."""
import os

from .. import _core, nest, saved_model
from .._control import function
from .._convert import TensorSpec, is_tensor, refuse
from .._core import Function, Variable
from .._module import Module
from ..saved_model import _input_specs
from ._names import InputSpec


def _spec(given):
    """A TensorSpec of a spec, a tensor, or a symbolic tensor."""
    if isinstance(given, TensorSpec):
        return given
    if isinstance(given, InputSpec):
        shape = given.shape if given.shape is not None else [None] * given.ndim if given.ndim is not None else None
        return TensorSpec(shape, given.dtype or "float32", getattr(given, "name", None))
    if is_tensor(given) or hasattr(given, "shape"):
        return TensorSpec(given.shape, given.dtype, getattr(given, "name", None))
    raise ValueError(f"export: {given!r} is neither a spec nor a tensor")


class ExportArchive:
    """Functions and what they use, to be written for inference: tf.saved_model.load() reads them, and C++ programs do."""

    def __init__(self, format="saved_model"):
        refuse("ExportArchive", format=(format, "saved_model", "tf_saved_model"))
        self._module, self._names, self._tracked = Module(), [], []
        self._module._tracked = self._tracked

    def track(self, resource):
        """Adds the variables of a layer, a model or another object that has some."""
        if isinstance(resource, Variable) or hasattr(resource, "variables"):
            self._tracked.append(list(getattr(resource, "variables", [resource])))
        elif getattr(resource, "_ensure_handle", None) is None:
            raise ValueError(f"Invalid resource type. Expected an instance of a Keras `Layer` or `Model`, or of `Variable`; "
                             f"received: {resource!r}")

    def add_endpoint(self, name, fn, input_signature=None, **kwargs):
        """Adds a function for inputs of these specs, or as it was traced, and gives it as it will be called."""
        if kwargs:
            raise TypeError(f"add_endpoint: {sorted(kwargs)} are for other backends")
        if name in self._names:
            raise ValueError(f"Endpoint name '{name}' is already taken.")
        if input_signature is not None:
            specs = [nest.map_structure(_spec, one) for one in (
                input_signature if isinstance(input_signature, (list, tuple)) else [input_signature])]
            made = function(lambda *args: fn(*args), autograph=False)
            made.get_concrete_function(*specs)
        elif isinstance(getattr(fn, "__func__", fn), Function):
            made = fn
        else:
            raise ValueError("If the `fn` argument provided is not a `tf.function`, you must also provide an `input_signature`")
        setattr(self._module, name, made)
        self._names.append(name)
        return made

    def track_and_add_endpoint(self, name, resource, input_signature, **kwargs):
        """Both for a layer or a model, which is called as at inference."""
        self.track(resource)
        return self.add_endpoint(name, lambda *args: resource(*args, training=False), input_signature, **kwargs)

    def add_variable_collection(self, name, variables):
        """Adds a list of variables as an attribute."""
        if not isinstance(variables, (list, tuple, set)):
            raise ValueError(f"Expected `variables` to be a list/tuple/set. Received instead object of type '{type(variables)}'.")
        if not all(isinstance(v, Variable) for v in variables):
            raise ValueError("Expected all elements in `variables` to be `tf.Variable` instances.")
        setattr(self._module, name, list(variables))

    def write_out(self, filepath, options=None, verbose=True):
        """Writes all of it into a folder. The first endpoint is "serving_default" beside its own name."""
        if not self._names:
            raise ValueError("No endpoints have been set yet. Call add_endpoint().")
        signatures = {}
        for name in self._names:
            concretes = saved_model.concretes_of(getattr(self._module, name))
            if len(concretes) == 1:
                signatures[name] = concretes[0]
        if self._names[0] in signatures:
            signatures.setdefault(saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY, signatures[self._names[0]])
        saved_model.save(self._module, filepath, signatures, options)
        if verbose:
            endpoints = "\n".join(f"* Endpoint '{name}'" for name in self._names)
            print(f"Saved artifact at '{filepath}'. The following endpoints are available:\n\n{endpoints}")


def export_model(model, filepath, format, verbose, input_signature, options):
    """Writes the call of a model at inference, as a saved model or as ONNX."""
    refuse("export", format=(format, "tf_saved_model", "onnx"))
    if format == "tf_saved_model":
        if options:
            raise TypeError(f"export: {sorted(options)} are for other backends or formats")
        archive = ExportArchive()
        archive.track_and_add_endpoint("serve", model, [_input_specs(model)] if input_signature is None else input_signature)
        archive.write_out(filepath, verbose=verbose is None or verbose)
        return
    opset = options.pop("opset_version", None)
    if options:
        raise TypeError(f"export: {sorted(options)} are for other backends or formats")
    given = [_spec(leaf) for leaf in nest.flatten(_input_specs(model) if input_signature is None else input_signature)]
    specs = [_core.Spec(list(spec.shape), spec.dtype, spec.name or "") for spec in given]
    _core.save_onnx(model._ensure_handle(), os.fspath(filepath), specs, opset or 18)
    if verbose is None or verbose:
        print(f"Saved artifact at '{filepath}'.")


def make_reloaded_layer(layer_class):
    """The class TFSMLayer."""
    class TFSMLayer(layer_class):
        """A layer that calls an endpoint of a saved model, whose variables are its weights."""

        def __init__(self, filepath, call_endpoint="serve", call_training_endpoint=None, trainable=True, name=None, dtype=None):
            super().__init__(trainable=trainable, name=name, dtype=dtype)
            self.filepath, self.call_endpoint, self.call_training_endpoint = filepath, call_endpoint, call_training_endpoint
            self._loaded = saved_model.load(filepath)
            self._call = self._endpoint(call_endpoint)
            self._call_training = self._endpoint(call_training_endpoint) if call_training_endpoint else self._call
            self._loaded_weights = list(self._loaded.variables)

        def _endpoint(self, name):
            found = vars(self._loaded).get(name) or self._loaded.signatures.get(name)
            if found is None:
                raise ValueError(f"The endpoint '{name}' is neither an attribute of the reloaded SavedModel, nor an entry in the "
                                 f"`signatures` field of the reloaded SavedModel. Available endpoints for this SavedModel: "
                                 f"{list(self._loaded.signatures)}")
            return found

        def call(self, inputs, training=False):
            return (self._call_training if training else self._call)(inputs)

        def get_config(self):
            return {**super().get_config(), "filepath": self.filepath, "call_endpoint": self.call_endpoint,
                    "call_training_endpoint": self.call_training_endpoint}

    return TFSMLayer
