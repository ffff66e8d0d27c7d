# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.applications import ResNet50 as ResNet50

def decode_predictions(preds: Any, top: _b.int | Any = 5) -> Any: ...
def preprocess_input(x: Any, data_format: Any = None) -> Any: ...
