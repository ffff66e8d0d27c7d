// What layers share that see one to three axes of space: convolutions, pooling, resizing.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "capstan/config.h"
#include "capstan/layers/sizes.h"
#include "src/core/check.h"

namespace capstan::detail {

inline constexpr std::string_view kDataFormats[] = {"channels_last", "channels_first"};
inline constexpr std::string_view kWindowPaddings[] = {"valid", "same"};
inline constexpr std::string_view kPaddings1D[] = {"valid", "same", "causal"};

// The rows of tables of options that these layers have in common. As in Keras the texts may be in any case.
template <class O>
constexpr OptionField data_format_option() {
  return option<&O::data_format, O>("data_format").one_of(kDataFormats).in_any_case();
}
template <class O>
constexpr OptionField padding_option(std::span<const std::string_view> paddings = kWindowPaddings) {
  return option<&O::padding, O>("padding").one_of(paddings).in_any_case();
}

using Lengths = std::span<const std::int64_t>;

// Throws ShapeError unless there are a batch axis, `rank` axes of space and channels.
void check_spatial(const std::string& layer, const Shape& shape, std::size_t rank);
// Throws ShapeError for a window that fits nowhere.
void check_window(const std::string& layer, const Shape& shape, bool channels_first, Lengths window, Lengths dilations);
// Throws ValueError if both have lengths above 1.
void check_strides(std::string_view layer, Lengths strides, Lengths dilations);

// The channels moved to the end, and back.
Tensor to_channels_last(const Tensor& x);
Tensor to_channels_first(const Tensor& x);

// [lengths..., in, out]
Shape kernel_shape(Lengths lengths, std::int64_t in, std::int64_t out);

}  // namespace capstan::detail
