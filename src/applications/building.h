// What the networks of this folder are put together from.
#pragma once

#include <cstdint>
#include <string>

#include "capstan/applications.h"
#include "capstan/layers.h"

namespace capstan::applications::detail {

// What differs between the networks in how their options are checked.
struct NetworkInfo {
  const char* name;           // of the function, for errors
  std::string default_name;   // of the model
  std::int64_t default_size;  // of images
  std::int64_t least_size;
};

// The network's input. Errors: those that ApplicationOptions promise.
Tensor input_of(const NetworkInfo& network, const ApplicationOptions& options);

// Names of the layers of global pooling, where a network has some.
struct PoolingNames {
  std::string average = {}, maximum = {};
};

// The mean over height and width and the layer of classes, or, without the top, the pooling that is asked for.
Tensor with_top(const Tensor& features, const ApplicationOptions& options, const PoolingNames& names = {},
                const Initializer& kernel = "glorot_uniform");

// The layer of classes alone.
Tensor predictions(const Tensor& features, const ApplicationOptions& options,
                   const Initializer& kernel = "glorot_uniform");

// The model, with its name and its weights.
Model finished(const Tensor& input, const Tensor& output, const NetworkInfo& network,
               const ApplicationOptions& options);

// Zeros around x, so that a convolution of this size with strides of 2 sees what one with padding "same" would see in
// other frameworks: one less in front where the length is even.
Tensor padded_for(const Tensor& x, std::int64_t kernel_size, const std::string& name);

inline Tensor relu(const Tensor& x, const std::string& name) { return layers::Activation("relu", {.name = name})(x); }

}  // namespace capstan::applications::detail
