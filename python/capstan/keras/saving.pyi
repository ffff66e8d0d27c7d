# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def CustomObjectScope(custom_objects: Any) -> Any:
    """Within it names stand for these classes and functions."""
    ...
def custom_object_scope(custom_objects: Any) -> Any:
    """Within it names stand for these classes and functions."""
    ...
def deserialize_keras_object(config: Any, custom_objects: Any = None, safe_mode: _b.bool = True, **kwargs: Any) -> Any:
    """The object that serialize_keras_object() gave data for."""
    ...
def get_custom_objects() -> Any:
    """The registered classes and functions; what is put into the dict is registered."""
    ...
def get_registered_name(obj: Any) -> Any:
    """The name under which a class or function was registered, or its own."""
    ...
def get_registered_object(name: _b.str | None, custom_objects: Any = None, module_objects: Any = None) -> Any:
    """The class or function of a name: in the scopes, in `custom_objects`, registered, in `module_objects`; or None."""
    ...
def load_model(filepath: Any, custom_objects: Any = None, compile: _b.bool = True, safe_mode: _b.bool = True) -> Any:
    """Reads a .keras archive. Nothing that the file names is imported or run, but registered classes, those that the"""
    ...
def register_keras_serializable(package: _b.str | Any = 'Custom', name: _b.str | None = None) -> Any:
    """A decorator: files name the class or function "package>name", and find it when they are read."""
    ...
def save_model(model: Any, filepath: Any, overwrite: _b.bool = True, zipped: Any = None, **kwargs: Any) -> Any:
    """Writes a model as a .keras archive."""
    ...
def serialize_keras_object(obj: Any) -> Any:
    """An object as numbers, texts, lists and dicts, as Keras writes it."""
    ...
