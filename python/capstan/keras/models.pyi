# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras import Model as Model
from capstan.keras import Sequential as Sequential

def clone_model(model: Any) -> Any:
    """A model of the same layers with weights of its own."""
    ...
def load_model(filepath: Any, custom_objects: Any = None, compile: _b.bool = True, safe_mode: _b.bool = True) -> Any:
    """Reads a .keras archive. Nothing that the file names is imported or run, but registered classes, those that the"""
    ...
def model_from_json(json_string: Any, custom_objects: Any = None) -> Any:
    """A model of what to_json() gave."""
    ...
def save_model(model: Any, filepath: Any, overwrite: _b.bool = True, zipped: Any = None, **kwargs: Any) -> Any:
    """Writes a model as a .keras archive."""
    ...
