"""keras.applications: networks for images that are well known. Nothing is downloaded."""
import os

import numpy as np

from .. import _core, _modules
from .._convert import refuse
from ._datasets import keras_folder
from ._layers import remember
from ._models import LibraryModel

# The files that Keras keeps in ~/.keras/models, with the top and without it.
_KERNELS = "weights_tf_dim_ordering_tf_kernels"
_FILES = {"ResNet50": f"resnet50_{_KERNELS}{{notop}}.h5", "ResNet50V2": f"resnet50v2_{_KERNELS}{{notop}}.h5",
          "VGG16": f"vgg16_{_KERNELS}{{notop}}.h5", "DenseNet121": f"densenet121_{_KERNELS}{{notop}}.h5",
          "Xception": f"xception_{_KERNELS}{{notop}}.h5", "EfficientNetB0": "efficientnetb0{notop}.h5",
          "MobileNetV2": f"mobilenet_v2_{_KERNELS}_{{alpha}}_{{rows}}{{no_top}}.h5"}


def _weights(network, weights, include_top, input_shape, alpha):
    if weights is None:
        return ""
    if weights != "imagenet":
        return os.fspath(weights)
    rows = input_shape[0] if input_shape and input_shape[0] in (96, 128, 160, 192, 224) else 224
    name = _FILES[network].format(notop="" if include_top else "_notop", no_top="" if include_top else "_no_top",
                                  alpha=float(alpha), rows=rows)
    path = keras_folder("models", name)
    if not os.path.exists(path):
        raise ValueError(f"{network}: the weights of ImageNet are not downloaded\n  looked for: {path}\n  help: put "
                         "Keras's file there, or give its path or None as `weights`")
    return path


def _make(network, include_top, weights, input_tensor, input_shape, pooling, classes, activation, name, alpha=1.0):
    refuse(network, input_tensor=(input_tensor, None))
    if weights == "imagenet" and include_top and classes != 1000:
        raise ValueError(f"{network}: the weights of ImageNet have 1000 classes, not {classes}")
    file = _weights(network, weights, include_top, input_shape, alpha)
    shape = None if input_shape is None else [-1 if n is None else n for n in input_shape]
    model = object.__new__(LibraryModel)
    object.__setattr__(model, "_handle", _core.make_application(
        network, bool(include_top), file, shape, pooling or "", int(classes), activation or "linear", name or "",
        float(alpha), weights == "imagenet"))
    remember(model)
    return model


def _network(network, text):
    """The function that makes a network; MobileNetV2 alone has other parameters."""
    def make(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
             classifier_activation="softmax", name=network.lower()):
        return _make(network, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation,
                     name)
    make.__name__ = make.__qualname__ = network
    make.__doc__ = text
    return make


ResNet50 = _network("ResNet50", "ResNet with 50 layers (2015), for images of 224 x 224.")
ResNet50V2 = _network("ResNet50V2", "ResNet with 50 layers, with normalisation before the convolutions (2016), for "
                                    "images of 224 x 224.")
VGG16 = _network("VGG16", "The network with 16 layers of the Visual Geometry Group (2014), for images of 224 x 224.")
EfficientNetB0 = _network("EfficientNetB0", "EfficientNetB0 (2019), for images of 224 x 224 with numbers from 0 to "
                                            "255.")
DenseNet121 = _network("DenseNet121", "DenseNet with 121 layers (2016), for images of 224 x 224.")
Xception = _network("Xception", "Xception (2016), for images of 299 x 299.")


def MobileNetV2(input_shape=None, alpha=1.0, include_top=True, weights="imagenet", input_tensor=None, pooling=None,
                classes=1000, classifier_activation="softmax", name=None):
    """MobileNetV2 (2018), for images of 224 x 224; `alpha` multiplies the numbers of channels."""
    return _make("MobileNetV2", include_top, weights, input_tensor, input_shape, pooling, classes,
                 classifier_activation, name, alpha)


def _preprocess_input(network):
    def preprocess_input(x, data_format=None):
        """Images with numbers from 0 to 255 as the networks of this module take them."""
        refuse("preprocess_input", data_format=(data_format, None, "channels_last"))
        prepared = _core.preprocess_input(network, x)
        return prepared.numpy() if isinstance(x, np.ndarray) else prepared
    return preprocess_input


def decode_predictions(preds, top=5):
    """The `top` classes of ImageNet that each row of scores [images, 1000] names, as (key, name, score), largest first.
    Their names are in the file imagenet_class_index.json of Keras, which is not downloaded."""
    scores = np.asarray(preds)
    if scores.ndim != 2 or scores.shape[1] != 1000:
        raise ValueError(f"decode_predictions: the scores must be [images, 1000], not {list(scores.shape)}")
    path = keras_folder("models", "imagenet_class_index.json")
    if not os.path.exists(path):
        raise ValueError(f"decode_predictions: the names of the classes are not downloaded\n  looked for: {path}\n  help: "
                         "put Keras's file there")
    import json  # not for every program that imports the package
    with open(path, encoding="utf-8") as file:
        names = json.load(file)
    return [[(*names[str(i)], row[i]) for i in np.argsort(row)[::-1][:top]] for row in scores]


_MODULES = {"resnet": ResNet50, "resnet50": ResNet50, "resnet_v2": ResNet50V2, "vgg16": VGG16,
            "mobilenet_v2": MobileNetV2, "efficientnet": EfficientNetB0, "densenet": DenseNet121, "xception": Xception}
applications = _modules.make_module("keras.applications", {
    **{f.__name__: f for f in _MODULES.values()},
    **{name: _modules.make_module(f"keras.applications.{name}", {
        f.__name__: f, "preprocess_input": _preprocess_input(name),
        "decode_predictions": decode_predictions}, f"tf.keras.applications.{name}")
       for name, f in _MODULES.items()}}, "tf.keras.applications")
