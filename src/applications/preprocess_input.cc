#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/applications/building.h"
#include "src/core/check.h"

namespace capstan::applications {

namespace {

constexpr double kMeans[] = {0.485, 0.456, 0.406}, kDeviations[] = {0.229, 0.224, 0.225};  // of ImageNet, of 0 to 1
constexpr double kBlueGreenRed[] = {103.939, 116.779, 123.68};                             // the means of 0 to 255

Tensor channels(const double (&numbers)[3], DType dtype) {
  return constant({numbers[0], numbers[1], numbers[2]}, dtype);
}

}  // namespace

Tensor preprocess_input(const std::string& network, const Tensor& images) {
  CAPSTAN_CHECK(images.rank() >= 1 && images.dim(-1) == 3, ShapeError,
                "preprocess_input: images must have 3 channels, not ", images.shape().to_string());
  const Tensor x = is_floating(images.dtype()) ? images : cast(images, floatx());
  if (network == "resnet" || network == "resnet50" || network == "vgg16") {
    return reverse(x, {-1}) - channels(kBlueGreenRed, x.dtype());
  }
  if (network == "resnet_v2" || network == "mobilenet_v2" || network == "xception") return x / 127.5 - 1.0;
  if (network == "densenet") return (x / 255.0 - channels(kMeans, x.dtype())) / channels(kDeviations, x.dtype());
  CAPSTAN_CHECK(network == "efficientnet", ValueError, "preprocess_input: there is no network \"", network,
                "\"; there are densenet, efficientnet, mobilenet_v2, resnet, resnet50, resnet_v2, vgg16 and xception");
  return x;
}

}  // namespace capstan::applications
