"""Classes and functions of Python's in configurations and files, and keras.saving.

A class is found by its package and name if it is registered, by its module and name otherwise, and by its name alone
in `custom_objects`. No module is imported because a file names it.
"""
import contextlib
import inspect
import types
import warnings
import weakref

import numpy as np

from .. import _core, nest
from .._convert import refuse
from .._dtypes import DType

_registered = {}  # "package>name": a class or a function
_names = weakref.WeakKeyDictionary()  # and back
_layer_classes = {}  # (module, name): a weak reference to the class of layers that was made last
_scopes = []  # what custom_object_scope() gave, the innermost last


def register_keras_serializable(package="Custom", name=None):
    """A decorator: files name the class or function "package>name", and find it when they are read."""
    def register(thing):
        own = thing.__name__ if name is None else name
        if inspect.isclass(thing) and not hasattr(thing, "get_config"):
            raise ValueError(f"register_keras_serializable: the class {own} has no get_config()")
        _registered[f"{package}>{own}"] = thing
        _names[thing] = f"{package}>{own}"
        return thing
    return register


def get_registered_name(obj):
    """The name under which a class or function was registered, or its own."""
    return _names.get(obj, getattr(obj, "__name__", obj))


def get_registered_object(name, custom_objects=None, module_objects=None):
    """The class or function of a name: in the scopes, in `custom_objects`, registered, in `module_objects`; or None."""
    for known in (*reversed(_scopes), custom_objects or {}, _registered, module_objects or {}):
        if name in known:
            return known[name]
    return None


def get_custom_objects():
    """The registered classes and functions; what is put into the dict is registered."""
    return _registered


@contextlib.contextmanager
def custom_object_scope(custom_objects):
    """Within it names stand for these classes and functions."""
    _scopes.append(dict(custom_objects or {}))
    try:
        for name, thing in _scopes[-1].items():
            if inspect.isclass(thing) and hasattr(thing, "_ensure_handle"):
                _core.register_own_class((name, "custom_objects", "custom_objects"))
        yield
    finally:
        _scopes.pop()


# --- what the library asks for ---

def names_of(cls):
    """The name of a class, its package, which is its module if it is not registered, and its module."""
    package, _, name = _names.get(cls, "").rpartition(">")
    return (name, package, cls.__module__) if package else (cls.__name__, cls.__module__, cls.__module__)


def remember_class(cls):
    """Called when a class of layers is made."""
    _layer_classes[cls.__module__, cls.__name__] = weakref.ref(cls)


def make_known():
    """Before a configuration is read: the library must know all classes by their names."""
    for seen in list(_layer_classes.values()):
        if (cls := seen()) is not None and cls._is_own_class:
            _core.register_own_class(names_of(cls))


def _class_of(name, package):
    found = get_registered_object(f"{package}>{name}") or get_registered_object(name)
    if found is None and (package, name) in _layer_classes:
        found = _layer_classes[package, name]()
    return found


def from_config(name, package, config):
    """The object that a configuration of a class of one's own stands for."""
    cls = _class_of(name, package)
    if cls is None:
        raise ValueError(f"there is no class {name!r}\n  help: give it as custom_objects={{{name!r}: ...}}")
    try:
        made = cls.from_config(config)
    except Exception as error:
        raise ValueError(f"{name}.from_config: {error}\n  help: __init__() must take what get_config() gives") from error
    if not getattr(made, "_is_own_class", False):
        raise ValueError(f"{name}.from_config: it gave a {type(made).__name__}, which is no layer of one's own")
    return made


def automatic_config(layer, args, kwargs, config):
    """The configuration of a class without get_config(): what __init__() was given."""
    signature = inspect.signature(type(layer).__init__)
    bound = signature.bind(layer, *args, **kwargs).arguments
    takes_more = False
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.kind == parameter.VAR_POSITIONAL and bound.get(parameter.name):
            raise NotImplementedError(f"{type(layer).__name__}: write get_config(), since __init__() takes "
                                      f"*{parameter.name}")
        if parameter.kind == parameter.VAR_KEYWORD:
            takes_more = True
            bound.update(bound.pop(parameter.name, {}))
    known = {k: v for k, v in config.items() if takes_more or k in signature.parameters}
    return known | {k: v for k, v in list(bound.items())[1:] if k not in config}


_functions = weakref.WeakValueDictionary()  # those that were options, by their names in files


def name_of_function(function):
    """What files call a function that is an option of a layer: nothing for one without a name of its own."""
    if not isinstance(function, types.FunctionType):
        return ""
    is_nameless = "<" in function.__qualname__  # a lambda, or made within a function
    name = _names.get(function, "" if is_nameless else f"{function.__module__}>{function.__name__}")
    if name:
        _functions[name] = function
    return name


def function_of(name):
    """The function that a file names: registered, in the scopes, or one that has been an option; or None."""
    if not name:
        return None
    return get_registered_object(name) or get_registered_object(name.rpartition(">")[2]) or _functions.get(name)


def check_functions(model):
    """Refuses a configuration with a function that no program could find again."""
    def check(node):
        if isinstance(node, dict):
            if node.get("class_name") == "PythonFunction" and not node["config"].get("function"):
                raise ValueError(f"save: {model.name} has a function without a name as an option of a layer, which files "
                                 "do not hold\n  help: write it as a function of a module, and register it with "
                                 "keras.saving.register_keras_serializable")
            node = list(node.values())
        if isinstance(node, list):
            for item in node:
                check(item)
    import json
    check(json.loads(model.to_json()))


# --- objects as data ---

def serialize_keras_object(obj):
    """An object as numbers, texts, lists and dicts, as Keras writes it."""
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return obj
    if isinstance(obj, np.generic):
        return obj.item()
    if isinstance(obj, DType):
        return obj.name
    if isinstance(obj, (list, tuple)):
        return [serialize_keras_object(item) for item in obj]
    if isinstance(obj, dict):
        return {key: serialize_keras_object(value) for key, value in obj.items()}
    if hasattr(obj, "_ensure_handle"):
        return obj._ensure_handle().serialize()
    if getattr(obj, "_activation_name", None):
        return obj._activation_name
    if isinstance(obj, types.FunctionType):
        return {"module": "builtins", "class_name": "function", "config": get_registered_name(obj),
                "registered_name": "function"}
    if isinstance(obj, np.ndarray):
        return {"class_name": "__numpy__", "config": {"value": obj.tolist(), "dtype": obj.dtype.name}}
    if hasattr(obj, "get_config"):
        name = get_registered_name(type(obj))
        return {"module": type(obj).__module__.replace("capstan.keras", "keras"), "class_name": type(obj).__name__,
                "config": serialize_keras_object(obj.get_config()), "registered_name": name if ">" in name else None}
    raise TypeError(f"serialize_keras_object: a {type(obj).__name__} is no data and has no get_config()")


def serializer(what):
    """serialize_keras_object() whose argument has another name."""
    def serialize(*args, **kwargs):
        return serialize_keras_object(*signature.bind(*args, **kwargs).args)
    signature = inspect.Signature([inspect.Parameter(what, inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    serialize.__signature__, serialize.__doc__ = signature, serialize_keras_object.__doc__
    return serialize


def deserialize_keras_object(config, custom_objects=None, safe_mode=True, **kwargs):
    """The object that serialize_keras_object() gave data for."""
    refuse("deserialize_keras_object", safe_mode=(safe_mode, True))
    del kwargs  # of Keras 2, without meaning here
    with custom_object_scope(custom_objects):
        return _object_of(config)


def _object_of(config):
    if isinstance(config, (list, tuple)):
        return [_object_of(item) for item in config]
    if not isinstance(config, dict):
        return config
    name = config.get("class_name")
    if name is None:
        return {key: _object_of(value) for key, value in config.items()}
    inner = config.get("config")
    if name == "function":
        function = get_registered_object(inner)
        if function is None:
            raise ValueError(f"there is no function {inner!r}\n  help: register_keras_serializable() makes it known")
        return function
    if name == "__numpy__":
        return np.array(inner["value"], dtype=inner["dtype"])
    if name == "__tuple__":
        return tuple(_object_of(item) for item in config.get("items", inner))
    if name == "DTypePolicy":
        return inner["name"]
    package = (config.get("registered_name") or "").rpartition(">")[0] or config.get("module") or ""
    own = _class_of(name, package)
    if own is not None:
        return own.from_config(inner)
    if package and package.partition(".")[0] not in ("keras", "capstan", "builtins", "tf_keras"):
        raise ValueError(f"there is no class {name!r}\n  help: give it as custom_objects={{{name!r}: ...}}")
    return _library_object(name, package, config)


def _library_object(name, module, config):
    from . import _layers, _objects
    kinds = {"initializers": _objects.INITIALIZERS, "regularizers": _objects.REGULARIZERS,
             "constraints": _objects.CONSTRAINTS, "losses": _objects.LOSSES, "metrics": _objects.METRICS,
             "optimizers": _objects.OPTIMIZERS, "schedules": _objects.SCHEDULES}
    asked = kinds.get(module.rpartition(".")[2])
    for classes in [asked] if asked is not None else [] if module.startswith("keras.layers") else kinds.values():
        if name in classes:
            return classes[name].from_config(config.get("config") or {})
    return _layers.wrap_layer(_core.make_layer(config))


# --- what compile() was given ---

_COMPILED = ("optimizer", "loss", "loss_weights", "metrics", "weighted_metrics", "run_eagerly", "steps_per_execution")


def _is_own(value):
    """Whether this is a loss or a metric of the program: a function, or an object of a class of its own."""
    from . import _objects
    if isinstance(value, (list, tuple)):
        return any(map(_is_own, value))
    if isinstance(value, dict):
        return any(map(_is_own, value.values()))
    if isinstance(value, types.FunctionType):
        return not hasattr(value, "_loss_class")
    return isinstance(value, (_objects.Loss, _objects.Metric)) and not (type(value)._name and type(value).__module__.startswith(
        "capstan.keras."))


def compile_config_of(given):
    """What a file says of the arguments of compile() if a loss or a metric is of the program, as JSON; else None: the library
    writes it. What no program could find again by its name is left out, with a warning."""
    if not _is_own([given[key] for key in ("loss", "metrics", "weighted_metrics")]):
        return None
    import json
    try:
        for value in nest.flatten([given[key] for key in ("loss", "metrics", "weighted_metrics")]):
            if isinstance(value, types.FunctionType) and "<lambda>" in value.__name__:
                raise TypeError("a lambda has no name")
        return json.dumps({key: serialize_keras_object(given[key]) for key in _COMPILED} | {"jit_compile": False})
    except TypeError as error:
        warnings.warn(f"save: what compile() was given is left out; {error}", stacklevel=5)
        return "{}"


def compile_arguments(config):
    """The arguments of compile() that a file says, as JSON, if one of them is of the program; else None."""
    import json
    from . import _objects
    config = json.loads(config)

    def is_own(node):
        if isinstance(node, list):
            return any(map(is_own, node))
        if not isinstance(node, dict):
            return False
        name = node.get("class_name")
        if name is None:
            return any(map(is_own, node.values()))
        return name == "function" or name not in _objects.LOSSES and name not in _objects.METRICS
    if not is_own([config.get(key) for key in ("loss", "metrics", "weighted_metrics")]):
        return None
    return {key: _object_of(config[key]) for key in _COMPILED if config.get(key) is not None}


NAMES = {f.__name__: f for f in (register_keras_serializable, get_registered_name, get_registered_object,
                                 get_custom_objects, custom_object_scope, serialize_keras_object,
                                 deserialize_keras_object)}
NAMES["CustomObjectScope"] = custom_object_scope
