// What layers with a kernel, a bias and an activation share: Dense, convolutions.
#pragma once

#include <array>

#include "capstan/layers.h"
#include "capstan/ops/nn.h"
#include "src/train/common.h"

namespace capstan::detail {

// The table of options that has what every layer has, then these, then those of the kernel and the bias.
template <class O, std::size_t N>
constexpr std::array<OptionField, N + 12> with_kernel_options(const OptionField (&own)[N]) {
  const auto first = with_layer_options<O>(own);
  const OptionField last[] = {option<&O::activation, O>("activation").changeable(),
                              option<&O::use_bias, O>("use_bias"),
                              option<&O::kernel_initializer, O>("kernel_initializer"),
                              option<&O::bias_initializer, O>("bias_initializer"),
                              option<&O::kernel_regularizer, O>("kernel_regularizer"),
                              option<&O::bias_regularizer, O>("bias_regularizer"),
                              option<&O::activity_regularizer, O>("activity_regularizer"),
                              option<&O::kernel_constraint, O>("kernel_constraint"),
                              option<&O::bias_constraint, O>("bias_constraint")};
  std::array<OptionField, N + 12> all = {};
  for (std::size_t i = 0; i < N + 3; ++i) all[i] = first[i];
  for (std::size_t i = 0; i < 9; ++i) all[N + 3 + i] = last[i];
  return all;
}

template <class Derived, class Options>
class KernelLayer : public ConfiguredLayer<Derived, Options> {
 protected:
  using ConfiguredLayer<Derived, Options>::ConfiguredLayer;

  Variable add_kernel(const Shape& shape, const char* name = "kernel") {
    const Options& o = this->options;
    return this->add_weight({.name = name,
                             .shape = shape,
                             .initializer = o.kernel_initializer,
                             .regularizer = o.kernel_regularizer,
                             .constraint = o.kernel_constraint});
  }
  // Nothing without use_bias.
  void add_bias(std::int64_t length) {
    const Options& o = this->options;
    if (!o.use_bias) return;
    bias_ = this->add_weight({.name = "bias",
                              .shape = {length},
                              .initializer = o.bias_initializer,
                              .regularizer = o.bias_regularizer,
                              .constraint = o.bias_constraint});
  }
  // The bias along the last axis, and the activation.
  Tensor finish(Tensor y) const {
    const Options& o = this->options;
    if (o.use_bias) {
      y = with_weight(*this, bias_, [&](Operand bias) { return bias_add(std::move(y), bias); });
    }
    return o.activation.has_value() ? o.activation(std::move(y)) : y;
  }

 private:
  Variable bias_;
};

}  // namespace capstan::detail
