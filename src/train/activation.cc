// The layers that apply a function: Activation and ReLU.
#include "capstan/layers.h"
#include "capstan/ops/activation.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"

namespace capstan::layers {

Activation::Activation(ActivationFunction function, const ActivationOptions& options)
    : Layer("activation", options), function_(std::move(function)) {
  keep_class(std::make_shared<Activation>(*this));
}

Tensor Activation::call(const Tensor& x, const CallOptions&) { return function_(x); }

ReLU::ReLU(const ReLUOptions& options)
    : Layer("re_lu", detail::common_options(options)),
      max_value_(options.max_value),
      negative_slope_(options.negative_slope),
      threshold_(options.threshold) {
  CAPSTAN_CHECK(!max_value_ || *max_value_ >= 0, ValueError, "re_lu: max_value must not be negative, but is ",
                *max_value_);
  CAPSTAN_CHECK(negative_slope_ >= 0, ValueError, "re_lu: negative_slope must not be negative, but is ",
                negative_slope_);
  CAPSTAN_CHECK(threshold_ >= 0, ValueError, "re_lu: threshold must not be negative, but is ", threshold_);
  keep_class(std::make_shared<ReLU>(*this));
}

Tensor ReLU::call(const Tensor& x, const CallOptions&) {
  if (negative_slope_ != 0 && !max_value_ && threshold_ == 0) return leaky_relu(x, negative_slope_);
  Tensor y = threshold_ == 0 ? relu(x) : x * cast(greater(x, threshold_), x.dtype());
  if (max_value_) y = clip_by_value(y, 0, *max_value_);
  return negative_slope_ == 0 ? y : y - negative_slope_ * relu(threshold_ - x);
}

}  // namespace capstan::layers
