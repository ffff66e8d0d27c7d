# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def EfficientNetB0(include_top: _b.bool = True, weights: _b.str | Any = 'imagenet', input_tensor: Any = None, input_shape: Any = None, pooling: Any = None, classes: _b.int | Any = 1000, classifier_activation: _b.str | Any = 'softmax', name: _b.str | None = 'efficientnetb0') -> Any:
    """EfficientNetB0 (2019), for images of 224 x 224 with numbers from 0 to 255."""
    ...
def preprocess_input(x: Any, data_format: Any = None) -> Any:
    """Images with numbers from 0 to 255 as the networks of this module take them."""
    ...
