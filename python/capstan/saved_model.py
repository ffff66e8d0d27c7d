"""tf.saved_model: objects with traced functions and variables in a folder, which programs without their code load.

The folder has one file, saved_model.capstan, which is the library's own (C++ programs read it with saved_model::load);
it is not TensorFlow's format.
"""
import collections
import os
import warnings

from . import _core, nest
from ._concrete import ConcreteFunction
from ._convert import TensorSpec, refuse
from ._core import Variable
from ._module import Module
from ._saved_functions import Kind, RestoredFunction, Signature, concretes_of, entry_of, form_of, names_of, parameters_of

__all__ = ["DEFAULT_SERVING_SIGNATURE_DEF_KEY", "LoadOptions", "SaveOptions", "contains_saved_model", "load", "save"]

DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
_FILE = "saved_model.capstan"


class SaveOptions:
    """Options of save(), as TensorFlow has them; files are as they are, so only defaults are taken."""

    def __init__(self, namespace_whitelist=None, save_debug_info=False, function_aliases=None,
                 experimental_debug_stripper=False, experimental_io_device=None, experimental_variable_policy=None,
                 experimental_custom_gradients=True, experimental_image_format=False,
                 experimental_skip_saver=False, experimental_sharding_callback=None, extra_tags=None):
        refuse("SaveOptions", function_aliases=(function_aliases, None), extra_tags=(extra_tags, None),
               experimental_variable_policy=(experimental_variable_policy, None),
               experimental_sharding_callback=(experimental_sharding_callback, None))
        del namespace_whitelist, save_debug_info, experimental_debug_stripper, experimental_io_device
        del experimental_image_format, experimental_skip_saver
        if not experimental_custom_gradients:
            raise ValueError("SaveOptions: gradients of one's own are always saved")


class LoadOptions:
    """Options of load(), as TensorFlow has them, without a meaning here."""

    def __init__(self, allow_partial_checkpoint=False, experimental_io_device=None,
                 experimental_skip_checkpoint=False, experimental_variable_policy=None,
                 experimental_load_function_aliases=False):
        refuse("LoadOptions", experimental_variable_policy=(experimental_variable_policy, None))
        if allow_partial_checkpoint or experimental_skip_checkpoint or experimental_load_function_aliases:
            raise ValueError("LoadOptions: a file is loaded as a whole")
        del experimental_io_device


def _is_function(value):
    return isinstance(value, (_core.Function, ConcreteFunction, RestoredFunction)) or isinstance(
        getattr(value, "__func__", None), _core.Function)


def _methods_of(obj):
    """The traced functions of the class of an object, as its methods."""
    names = {name for cls in type(obj).__mro__ for name, value in vars(cls).items() if isinstance(value, _core.Function)}
    return {name: getattr(obj, name) for name in names}


class _Writer:
    """The objects that are reached from one, as data, and the functions and variables among them."""

    def __init__(self):
        self.nodes, self.entries, self.variables, self.left_out = [], [], [], []
        self._numbers, self._kept = {}, []

    def number_of(self, value, path):
        """The number of the node of a value, or None of what is not saved."""
        if id(value) in self._numbers:
            return self._numbers[id(value)]
        make = self._maker_of(value)
        if make is None:
            return None
        number = self._numbers[id(value)] = len(self.nodes)
        self._kept.append(value)  # or another object could have its id
        self.nodes.append(None)
        self.nodes[number] = make(value, path)
        if self.nodes[number] is None:
            self._numbers[id(value)] = None
        return self._numbers[id(value)]

    def _maker_of(self, value):
        if isinstance(value, Variable):
            return self._variable
        if _is_function(value):
            return self._function
        if isinstance(value, Module) or hasattr(value, "_ensure_handle"):
            return self._object
        if isinstance(value, dict):
            return self._dict
        return self._list if isinstance(value, (list, tuple)) else None

    def _variable(self, value, _path):
        self.variables.append(value)
        return {"kind": "variable", "number": len(self.variables) - 1}

    def _object(self, value, path):
        children = dict(vars(value)) | _methods_of(value)
        if hasattr(value, "_ensure_handle"):  # a layer or a model, whose attributes are the library's
            children = {key: child for key, child in children.items() if isinstance(child, (Module, Variable)) or
                        _is_function(child) or hasattr(child, "_ensure_handle")}
            children["_weights"] = list(value.variables)
        return {"kind": "object", "children": self._children(children, path)}

    def _children(self, children, path):
        numbers = {key: self.number_of(children[key], f"{path}{key}.") for key in sorted(children, key=str)
                   if isinstance(key, str)}
        return {key: number for key, number in numbers.items() if number is not None}

    def _dict(self, value, path):
        return {"kind": "dict", "children": self._children(value, path)}

    def _list(self, value, path):
        return {"kind": "list", "items": [self.number_of(one, f"{path}{i}.") for i, one in enumerate(value)]}

    def _function(self, value, path):
        """The node of a function; None of one that a file cannot hold, which is noted."""
        count = len(self.entries)
        try:
            return self._savable_function(value, path)
        except ValueError as error:
            del self.entries[count:]
            self.left_out.append(f"{path[:-1]}: {error}")
            return None

    def _savable_function(self, value, path):
        kinds = []
        inner = getattr(value, "__func__", value)
        for i, concrete in enumerate(concretes_of(value)):
            args, kwargs = concrete.structured_input_signature
            kinds.append({"function": len(self.entries), "arguments": form_of((args, kwargs), concrete.name),
                          "results": form_of(concrete._trace.results, concrete.name)})
            self.entries.append(entry_of(concrete, f"{path[:-1]}#{i}", names_of(concrete)))
        if isinstance(value, RestoredFunction):
            parameters = value._parameters
        elif isinstance(value, ConcreteFunction):
            parameters = parameters_of(value._function.python_function, len(value._bound))
        else:
            parameters = parameters_of(inner.python_function, 0 if inner is value else 1)
        return {"kind": "function", "name": getattr(inner, "__name__", path), "parameters": parameters, "kinds": kinds}

    def signature(self, key, function):
        """Adds a signature and gives the numbers of its functions, one for each rank.

        Its tensors have the names of the parameters, its results those of a dict.
        """
        if isinstance(function, Signature):
            return self._signature_again(key, function)
        has_signature = isinstance(function, ConcreteFunction) or (
            _is_function(function) and getattr(getattr(function, "__func__", function), "input_signature", None))
        if not has_signature and not (isinstance(function, RestoredFunction) and len(function.kinds) == 1):
            raise ValueError(f"Expected a TensorFlow function for which to generate a signature, but got {function!r}. Only "
                             "`tf.functions` with an input signature or concrete functions can be used as a signature.")
        return [self._entry(f"{key}@{i}" if i else key, concrete) for i, concrete in enumerate(concretes_of(function))]

    def _entry(self, name, concrete):
        results = concrete._trace.results
        if isinstance(results, dict):
            leaves = [results[k] for k in sorted(results)]
            if not all(isinstance(leaf, _core.Spec) for leaf in leaves):
                raise ValueError(f"Got a dictionary containing non-Tensor value {results!r} in the output of the function "
                                 f"{concrete.name} used to generate a SavedModel signature.")
            labels = sorted(results)
        else:
            leaves = nest.flatten(results)
            if not all(isinstance(leaf, _core.Spec) for leaf in leaves):
                raise ValueError(f"saved_model.save: {concrete.name} gives {results!r}, and a signature gives tensors or a dict of them")
            labels = [f"output_{i}" for i in range(len(leaves))]
        order = [None] * len(leaves)
        for leaf, label in zip(leaves, labels):
            order[int(leaf.name)] = label
        self.entries.append(entry_of(concrete, name, names_of(concrete), order))
        return len(self.entries) - 1

    def _signature_again(self, key, signature):
        from ._control import function
        specs = signature.structured_input_signature[1]
        traced = function(lambda *tensors: signature(**dict(zip(specs, tensors))), autograph=False)
        concrete = traced.get_concrete_function(*[TensorSpec(s.shape, s.dtype) for s in specs.values()])
        results = concrete._trace.results
        order = [None] * len(results)
        for name, spec in results.items():
            order[int(spec.name)] = name
        self.entries.append(entry_of(concrete, key, list(specs), order))
        return [len(self.entries) - 1]


def _input_specs(model):
    """What a model takes, as one argument. Errors: ValueError if it does not know."""
    try:
        inputs = model.input
    except (AttributeError, ValueError) as error:
        # A model of one's own knows the shapes that it was built for; as in Keras inputs are taken for float32.
        if shapes := vars(model).get("_built_for"):
            specs = [TensorSpec([None, *shape[1:]], "float32") for shape in shapes]
            return specs[0] if len(specs) == 1 else specs
        raise ValueError(f"saved_model.save: the inputs of {model.name!r} are not known\n  help: give an input_signature, such as "
                         "[tf.TensorSpec([None, 4])]") from error
    leaves = nest.flatten(inputs)
    specs = [TensorSpec(leaf.shape, leaf.dtype, "inputs" if len(leaves) == 1 else getattr(leaf, "name", None))
             for leaf in leaves]
    return nest.pack_sequence_as(inputs, specs)


def _model_function(model):
    """The call of a model at inference, for the inputs that it knows."""
    from ._control import function
    return function(lambda inputs: model(inputs, training=False),
                    autograph=False).get_concrete_function(_input_specs(model))


def _default_signature(obj):
    """What a loaded object has, the call of a model, or the one function with an input_signature; None if there is none."""
    if isinstance(kept := vars(obj).get("signatures"), _Signatures):
        return kept
    if hasattr(obj, "_ensure_handle"):
        return _model_function(obj)
    found = [value for value in (dict(vars(obj)) | _methods_of(obj)).values() if _is_function(value) and
             getattr(getattr(value, "__func__", value), "input_signature", None)]
    return found[0] if len(found) == 1 else None


def save(obj, export_dir, signatures=None, options=None):
    """Writes a module, a layer or a model into a folder: its variables, and its traced functions for what they were called with.

    A function with an input_signature is saved for that, others for the arguments of their calls so far. What load()
    gives has the attributes of the object, as far as they are variables, functions, modules, and lists and dicts of
    these. `signatures` are functions of tensors by name: one, or a dict of them; by default the call of a model, or the
    one function of the object if that has an input_signature. A function that a file cannot hold (calls of Python and
    the numbers of an optimizer within a trace, texts) is left out with a warning. Errors: ValueError if that is a
    signature, or if no function is left. A file that is there is replaced.
    """
    if not (isinstance(obj, Module) or hasattr(obj, "_ensure_handle")):
        raise ValueError(f"Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` class, "
                         f"for export. Got {obj} with type {type(obj)}.")
    del options  # whose values are defaults
    writer = _Writer()
    writer.number_of(obj, "")
    if count := len(writer.entries):
        for function in writer.left_out:
            warnings.warn(f"saved_model.save: a function is left out; {function}", stacklevel=2)
    may_lack = signatures is None and not hasattr(obj, "_ensure_handle")
    if signatures is None:
        signatures = _default_signature(obj)
    if not isinstance(signatures, collections.abc.Mapping):
        signatures = {} if signatures is None else {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    try:
        names = [[key, writer.signature(key, signatures[key])] for key in sorted(signatures)]
    except ValueError:
        if not may_lack:
            raise
        names = []
        del writer.entries[count:]
    if writer.left_out and not writer.entries:
        raise ValueError("saved_model.save: no function can be saved\n" + "\n".join(writer.left_out))
    import json  # not for every program that imports the package
    text = json.dumps({"nodes": writer.nodes, "signatures": names})
    _core.save_functions(os.fspath(export_dir), writer.entries, writer.variables, text)


class _Restored(Module):
    """What load() gives, and the objects in it."""

    def __repr__(self):
        return f"<capstan saved object with {sorted(key for key in vars(self) if not key.startswith('_'))}>"


class _CallableRestored(_Restored):
    """The same of an object that can be called."""

    def __call__(self, *args, **kwargs):
        return vars(self)["__call__"](*args, **kwargs)


class _Signatures(collections.abc.Mapping):
    """The signatures of a saved model by name."""

    def __init__(self, functions):
        self._functions = functions

    def __getitem__(self, key):
        return self._functions[key]

    def __iter__(self):
        return iter(self._functions)

    def __len__(self):
        return len(self._functions)

    def __repr__(self):
        return f"_SignatureMap({self._functions})"


class _Reader:
    """The objects of a file."""

    def __init__(self, nodes, functions, variables):
        self._nodes, self._functions, self._variables, self._made = nodes, functions, variables, {}

    def value(self, number):
        if number is None:
            return None
        if number not in self._made:
            node = self._nodes[number]
            getattr(self, "_" + node["kind"])(number, node)
        return self._made[number]

    def _variable(self, number, node):
        self._made[number] = self._variables[node["number"]]

    def _object(self, number, node):
        made = (_CallableRestored if "__call__" in node["children"] else _Restored)("saved_model")
        self._made[number] = made
        for key, child in node["children"].items():
            object.__setattr__(made, key, self.value(child))

    def _dict(self, number, node):
        self._made[number] = made = {}
        made.update((key, self.value(child)) for key, child in node["children"].items())

    def _list(self, number, node):
        self._made[number] = made = []
        made.extend(self.value(child) for child in node["items"])

    def _function(self, number, node):
        kinds = []
        for form in node["kinds"]:
            function = self._functions[form["function"]]
            kinds.append(Kind(function, form, [TensorSpec(s.lengths, s.dtype, s.name) for s in function.inputs]))
        self._made[number] = RestoredFunction(node["name"], node, kinds)


def load(export_dir, tags=None, options=None):
    """What save() has written: an object with the attributes of the one that was saved, and `signatures`.

    Its functions take arguments of the kinds that they were saved for, and are traced and differentiated like any other.
    Errors: IoError (an OSError) for a file that is missing or damaged, or of another kind, such as TensorFlow's.
    """
    del options
    if tags not in (None, "serve", ["serve"], ("serve",), {"serve"}):
        raise ValueError(f"saved_model.load: there are no tags but 'serve', so not {tags!r}")
    folder = os.fspath(export_dir)
    if not os.path.exists(os.path.join(folder, _FILE)) and os.path.exists(os.path.join(folder, "saved_model.pb")):
        raise OSError(f"saved_model.load: {folder} has TensorFlow's saved_model.pb, which is not read\n"
                      "  help: load weights from its checkpoint (variables/variables), or export the model as ONNX or .keras")
    import json
    functions, variables, text = _core.load_functions(folder)
    try:
        data = json.loads(text)
        loaded = _Reader(data["nodes"], functions, variables).value(0)
        signatures = {key: Signature(key, [functions[n] for n in numbers]) for key, numbers in data["signatures"]}
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        if text == "":  # of a C++ program
            loaded, signatures = _Restored("saved_model"), {f.name: Signature(f.name, [f]) for f in functions}
        else:
            raise OSError(f"saved_model.load: {os.path.join(folder, _FILE)}: what it says of its objects is damaged: {error}") from error
    object.__setattr__(loaded, "signatures", _Signatures(signatures))
    return loaded


def contains_saved_model(export_dir):
    """Whether a folder has a saved model."""
    return os.path.exists(os.path.join(os.fspath(export_dir), _FILE))
