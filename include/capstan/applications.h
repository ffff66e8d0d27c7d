// Networks for images that are well known: keras.applications.
//
// Each function makes a functional model with Keras's names of layers and order of weights, so that files of weights
// that Keras wrote for it fit. Nothing is downloaded: `weights` is the path of a file that the program has. They are in
// the library capstan_io.
//
//     using namespace capstan;
//     Model base = applications::MobileNetV2({.include_top = false, .input_shape = {96, 96, 3}, .pooling = "avg"});
//     base.set_trainable(false);
//     Tensor images = Input({96, 96, 3});
//     Model model(images, layers::Dense(5)(base(layers::Rescaling(1 / 127.5, {.offset = -1.0})(images))));
#pragma once

#include <cstdint>
#include <string>

#include "capstan/activations.h"
#include "capstan/export.h"
#include "capstan/layer.h"
#include "capstan/models.h"
#include "capstan/tensor.h"

namespace capstan::applications {

/// Options of all of these networks.
struct ApplicationOptions {
  bool include_top = true;   ///< with the layer of classes, and what is before it
  std::string weights = {};  ///< a file that Model::load_weights reads; none: the weights are drawn
  /// Height, width and channels; of the network's own size unless given. Without the top, lengths of -1 are open.
  InputShape input_shape = {};
  std::string pooling = {};  ///< without the top: "avg" or "max" over height and width; none: [batch, h, w, channels]
  std::int64_t classes = 1000;
  ActivationFunction classifier_activation = "softmax";
  std::string name = {};  ///< that of Keras unless given
};

/// ResNet with 50 layers (He, Zhang, Ren, Sun 2015), for images of 224 x 224, at least 32 x 32, and inputs as
/// preprocess_input("resnet", ...) gives them.
///
///     Model model = applications::ResNet50({.input_shape = {64, 64, 3}, .classes = 10});
///
/// Errors, of all these networks: ValueError for a shape that is not three lengths or is too small, open lengths with
/// the top, fewer than one class and an unknown pooling; what Model::load_weights throws.
CAPSTAN_EXPORT Model ResNet50(const ApplicationOptions& options = {});

/// The same with normalisation and activation before the convolutions (He, Zhang, Ren, Sun 2016), for
/// preprocess_input("resnet_v2", ...).
///
///     Model model = applications::ResNet50V2();
CAPSTAN_EXPORT Model ResNet50V2(const ApplicationOptions& options = {});

/// The network with 16 layers of the Visual Geometry Group (Simonyan, Zisserman 2014), for images of 224 x 224, at
/// least 32 x 32, and preprocess_input("vgg16", ...).
///
///     Model model = applications::VGG16({.include_top = false});
CAPSTAN_EXPORT Model VGG16(const ApplicationOptions& options = {});

/// MobileNetV2 (Sandler, Howard, Zhu, Zhmoginov, Chen 2018), for images of 224 x 224, at least 32 x 32, and
/// preprocess_input("mobilenet_v2", ...). `alpha` multiplies the numbers of channels. Errors: also ValueError unless
/// alpha is above 0.
///
///     Model model = applications::MobileNetV2({}, 0.5);
CAPSTAN_EXPORT Model MobileNetV2(const ApplicationOptions& options = {}, double alpha = 1);

/// EfficientNetB0 (Tan, Le 2019), for images of 224 x 224, at least 32 x 32, with numbers from 0 to 255, which it
/// scales itself. `imagenet_scaling`: with the scaling that Keras adds for its own weights of ImageNet, and for no
/// others.
///
///     Model model = applications::EfficientNetB0();
CAPSTAN_EXPORT Model EfficientNetB0(const ApplicationOptions& options = {}, bool imagenet_scaling = false);

/// DenseNet with 121 layers (Huang, Liu, van der Maaten, Weinberger 2016), for images of 224 x 224, at least 32 x 32,
/// and preprocess_input("densenet", ...).
///
///     Model model = applications::DenseNet121();
CAPSTAN_EXPORT Model DenseNet121(const ApplicationOptions& options = {});

/// Xception (Chollet 2016), for images of 299 x 299, at least 71 x 71, and preprocess_input("xception", ...).
///
///     Model model = applications::Xception();
CAPSTAN_EXPORT Model Xception(const ApplicationOptions& options = {});

/// Images with numbers from 0 to 255, [..., 3] in the order red, green, blue, as a network takes them, by the name of
/// its module in Keras: "resnet" (or "resnet50") and "vgg16" take blue, green, red without the means of ImageNet;
/// "resnet_v2", "mobilenet_v2" and "xception" numbers from -1 to 1; "densenet" numbers normalised by the means and
/// deviations of ImageNet; "efficientnet" the numbers as they are. Integers become floatx(). Within a functional model
/// a layer has to do it: Rescaling(1 / 127.5, {.offset = -1.0}) for numbers from -1 to 1, or a Lambda.
///
///     Tensor x = applications::preprocess_input("xception", constant({{{{0.0f, 127.5f, 255.0f}}}}));   // -1, 0, 1
///
/// Errors: ValueError for another name, ShapeError unless there are three channels.
CAPSTAN_EXPORT Tensor preprocess_input(const std::string& network, const Tensor& images);

}  // namespace capstan::applications
