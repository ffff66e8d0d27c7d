// What layers of the library share.
#pragma once

#include <span>
#include <string_view>

#include "capstan/layers.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"

namespace capstan::detail {

// The part of a layer's options that every layer has.
template <class Options>
LayerOptions common_options(const Options& options) {
  return {options.name, options.input_shape, options.trainable, options.dtype};
}

// f(the weight in this dtype). A weight that has it is an operand as it is, which costs less than its value.
template <class F>
Tensor with_weight(const Variable& weight, DType dtype, const F& f) {
  return weight.dtype() == dtype ? f(Operand(weight)) : f(Operand(cast(weight, dtype)));
}

// Of a layer without options of its own.
struct NoOptions : LayerOptions {
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&NoOptions::name, NoOptions>("name"),
                                          option<&NoOptions::trainable, NoOptions>("trainable"),
                                          option<&NoOptions::dtype, NoOptions>("dtype")};
    return all;
  }
};

// "same" or "valid", else ValueError.
inline void check_padding(const char* layer, const std::string& padding) {
  CAPSTAN_CHECK(padding == "valid" || padding == "same", ValueError, layer,
                ": padding must be \"valid\" or \"same\", not \"", padding, "\"");
}

inline void check_positive(const char* layer, const char* what, std::int64_t value) {
  CAPSTAN_CHECK(value >= 1, ValueError, layer, ": ", what, " must be at least 1, not ", value);
}

// True for "channels_first", false for "channels_last", else ValueError.
inline bool is_channels_first(const char* layer, const std::string& data_format) {
  CAPSTAN_CHECK(data_format == "channels_last" || data_format == "channels_first", ValueError, layer,
                ": data_format must be \"channels_last\" or \"channels_first\", not \"", data_format, "\"");
  return data_format == "channels_first";
}

inline void check_image(const std::string& layer, const Shape& shape) {
  CAPSTAN_CHECK(shape.rank() == 4, ShapeError, layer, ": the input must have rank 4, not ", shape.rank(), ": ", shape);
}

}  // namespace capstan::detail
