# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.applications import MobileNetV2 as MobileNetV2
from capstan.keras.applications.resnet import decode_predictions as decode_predictions

def preprocess_input(x: Any, data_format: Any = None) -> Any: ...
