// The layers that apply a function: Activation and ReLU.
#include "capstan/layers.h"
#include "capstan/ops/activation.h"
#include "src/train/common.h"

namespace capstan::layers {

Activation::Activation(ActivationFunction function, const ActivationOptions& options)
    : Layer("activation", options), function_(std::move(function)) {
  keep_class(std::make_shared<Activation>(*this));
}

Tensor Activation::call(const Tensor& x, const CallOptions&) { return function_(x); }

ReLU::ReLU(const LayerOptions& options) : Layer("re_lu", options) { keep_class(std::make_shared<ReLU>(*this)); }

Tensor ReLU::call(const Tensor& x, const CallOptions&) { return relu(x); }

}  // namespace capstan::layers
