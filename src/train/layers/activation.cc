// The layers that apply a function: Activation and ReLU.
#include "capstan/layers.h"
#include "capstan/ops/activation.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"

namespace capstan::layers {

namespace {

class ActivationBody final : public LayerBody {
 public:
  ActivationBody(ActivationFunction function, const ActivationOptions& options)
      : LayerBody("Activation", options), function_(std::move(function)) {}

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return function_(x); }

 private:
  ActivationFunction function_;
};

class ReLUBody final : public LayerBody {
 public:
  explicit ReLUBody(const ReLUOptions& options)
      : LayerBody("ReLU", detail::common_options(options)),
        max_value_(options.max_value),
        negative_slope_(options.negative_slope),
        threshold_(options.threshold) {
    CAPSTAN_CHECK(!max_value_ || *max_value_ >= 0, ValueError, "re_lu: max_value must not be negative, but is ",
                  *max_value_);
    CAPSTAN_CHECK(negative_slope_ >= 0, ValueError, "re_lu: negative_slope must not be negative, but is ",
                  negative_slope_);
    CAPSTAN_CHECK(threshold_ >= 0, ValueError, "re_lu: threshold must not be negative, but is ", threshold_);
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    if (negative_slope_ != 0 && !max_value_ && threshold_ == 0) return leaky_relu(x, negative_slope_);
    Tensor y = threshold_ == 0 ? relu(x) : x * cast(greater(x, threshold_), x.dtype());
    if (max_value_) y = clip_by_value(y, 0, *max_value_);
    return negative_slope_ == 0 ? y : y - negative_slope_ * relu(threshold_ - x);
  }

 private:
  std::optional<double> max_value_;
  double negative_slope_;
  double threshold_;
};

}  // namespace

Activation::Activation(ActivationFunction function, const ActivationOptions& options)
    : Layer(std::make_shared<ActivationBody>(std::move(function), options)) {}

ReLU::ReLU(const ReLUOptions& options) : Layer(std::make_shared<ReLUBody>(options)) {}

}  // namespace capstan::layers
