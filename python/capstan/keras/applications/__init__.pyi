# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.applications import densenet as densenet
from capstan.keras.applications import efficientnet as efficientnet
from capstan.keras.applications import mobilenet_v2 as mobilenet_v2
from capstan.keras.applications import resnet as resnet
from capstan.keras.applications import resnet50 as resnet50
from capstan.keras.applications import resnet_v2 as resnet_v2
from capstan.keras.applications import vgg16 as vgg16
from capstan.keras.applications import xception as xception

def DenseNet121(include_top: _b.bool = True, weights: _b.str | Any = 'imagenet', input_tensor: Any = None, input_shape: Any = None, pooling: Any = None, classes: _b.int | Any = 1000, classifier_activation: _b.str | Any = 'softmax', name: _b.str | None = 'densenet121') -> Any:
    """DenseNet with 121 layers (2016), for images of 224 x 224."""
    ...
def EfficientNetB0(include_top: _b.bool = True, weights: _b.str | Any = 'imagenet', input_tensor: Any = None, input_shape: Any = None, pooling: Any = None, classes: _b.int | Any = 1000, classifier_activation: _b.str | Any = 'softmax', name: _b.str | None = 'efficientnetb0') -> Any:
    """EfficientNetB0 (2019), for images of 224 x 224 with numbers from 0 to 255."""
    ...
def MobileNetV2(input_shape: Any = None, alpha: _b.float | Any = 1.0, include_top: _b.bool = True, weights: _b.str | Any = 'imagenet', input_tensor: Any = None, pooling: Any = None, classes: _b.int | Any = 1000, classifier_activation: _b.str | Any = 'softmax', name: _b.str | None = None) -> Any:
    """MobileNetV2 (2018), for images of 224 x 224; `alpha` multiplies the numbers of channels."""
    ...
def ResNet50(include_top: _b.bool = True, weights: _b.str | Any = 'imagenet', input_tensor: Any = None, input_shape: Any = None, pooling: Any = None, classes: _b.int | Any = 1000, classifier_activation: _b.str | Any = 'softmax', name: _b.str | None = 'resnet50') -> Any:
    """ResNet with 50 layers (2015), for images of 224 x 224."""
    ...
def ResNet50V2(include_top: _b.bool = True, weights: _b.str | Any = 'imagenet', input_tensor: Any = None, input_shape: Any = None, pooling: Any = None, classes: _b.int | Any = 1000, classifier_activation: _b.str | Any = 'softmax', name: _b.str | None = 'resnet50v2') -> Any:
    """ResNet with 50 layers, with normalisation before the convolutions (2016), for images of 224 x 224."""
    ...
def VGG16(include_top: _b.bool = True, weights: _b.str | Any = 'imagenet', input_tensor: Any = None, input_shape: Any = None, pooling: Any = None, classes: _b.int | Any = 1000, classifier_activation: _b.str | Any = 'softmax', name: _b.str | None = 'vgg16') -> Any:
    """The network with 16 layers of the Visual Geometry Group (2014), for images of 224 x 224."""
    ...
def Xception(include_top: _b.bool = True, weights: _b.str | Any = 'imagenet', input_tensor: Any = None, input_shape: Any = None, pooling: Any = None, classes: _b.int | Any = 1000, classifier_activation: _b.str | Any = 'softmax', name: _b.str | None = 'xception') -> Any:
    """Xception (2016), for images of 299 x 299."""
    ...
