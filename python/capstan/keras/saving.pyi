# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.layers import deserialize as deserialize_keras_object
from capstan.keras.models import load_model as load_model, save_model as save_model
from capstan.keras.utils import CustomObjectScope as CustomObjectScope, CustomObjectScope as custom_object_scope, get_custom_objects as get_custom_objects, get_registered_name as get_registered_name, get_registered_object as get_registered_object, register_keras_serializable as register_keras_serializable, serialize_keras_object as serialize_keras_object

