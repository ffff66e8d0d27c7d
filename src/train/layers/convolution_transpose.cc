// Transposed convolutions over one to three axes of space.
//
// The result is that of the op with padding "SAME" or "VALID", whose lengths say how much is cropped at each end. Where
// "SAME" does not lead back from the length that is asked for to that of the input, the whole result is cut.
#include <algorithm>
#include <array>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/nn.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/kernel_layer.h"
#include "src/train/layers/spatial.h"

namespace capstan::layers {

namespace {

constexpr char kTransposeNames[][16] = {"Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"};

// Along one axis.
struct TransposedAxis {
  std::int64_t window, stride;  // the window with its gaps
  std::int64_t whole(std::int64_t length) const { return (length - 1) * stride + std::max(window, stride); }
  std::int64_t result(std::int64_t length, bool same, const std::int64_t* output_padding) const {
    if (output_padding == nullptr) return same ? length * stride : whole(length);
    return (length - 1) * stride + (same ? window % 2 : window) + *output_padding;
  }
};

template <std::size_t N>
struct TransposeConfig : ConvTransposeOptions<N> {
  std::int64_t filters = 0;
  SizeOf<N> kernel_size = 1;
  static std::span<const OptionField> fields() {
    using O = TransposeConfig;
    static constexpr auto all = detail::with_kernel_options<O>(
        {option<&O::filters, O>("filters", true).at_least(1),
         option<&O::kernel_size, O>("kernel_size", true).at_least(1), option<&O::strides, O>("strides").at_least(1),
         detail::padding_option<O>(), option<&O::output_padding, O>("output_padding").at_least(0),
         detail::data_format_option<O>(), option<&O::dilation_rate, O>("dilation_rate").at_least(1)});
    return all;
  }
};

template <std::size_t N>
class TransposeBody final : public detail::KernelLayer<TransposeBody<N>, TransposeConfig<N>> {
  using Base = detail::KernelLayer<TransposeBody<N>, TransposeConfig<N>>;

 public:
  static constexpr const char* kName = kTransposeNames[N - 1];
  static constexpr char kText[] = "The transpose of a convolution, a bias and an activation.";
  explicit TransposeBody(const TransposeConfig<N>& given)
      : Base(given),
        is_first_(this->options.data_format == "channels_first"),
        is_same_(this->options.padding == "same") {
    detail::check_strides(kName, given.strides.lengths, given.dilation_rate.lengths);
    for (std::size_t i = 0; i < N && given.output_padding; ++i) {
      CAPSTAN_CHECK(given.output_padding->lengths[i] < given.strides.lengths[i], ValueError, kName,
                    ": output_padding must be below the strides: ", Shape(given.output_padding->lengths),
                    " with strides ", Shape(given.strides.lengths));
    }
  }

 protected:
  void build(const Shape& input_shape) override {
    detail::check_spatial(this->name(), input_shape, N);
    const TransposeConfig<N>& o = this->options;
    kernel_ = this->add_kernel(detail::kernel_shape(o.kernel_size.lengths, o.filters, input_shape[is_first_ ? 1 : -1]));
    this->add_bias(o.filters);
  }

  Tensor call(const Tensor& x, const CallOptions&) override {
    detail::check_spatial(this->name(), x.shape(), N);
    const Tensor kernel = this->value_of(kernel_);
    const std::int64_t channels = x.dim(is_first_ ? 1 : -1);
    CAPSTAN_CHECK(channels == kernel.dim(-1), ShapeError, this->name(), ": the input must have ", kernel.dim(-1),
                  " channels, not ", channels, arguments({{"x", x}}));
    Tensor y = this->finish(transposed(is_first_ ? detail::to_channels_last(x) : x, kernel));
    return is_first_ ? detail::to_channels_first(y) : y;
  }

 private:
  Tensor transposed(const Tensor& x, const Tensor& kernel) const {
    const TransposeConfig<N>& o = this->options;
    Shape whole({x.dim(0)}), result({x.dim(0)}), begin({0});
    Shape cut({-1});
    bool fits = true;
    for (std::size_t i = 0; i < N; ++i) {
      const TransposedAxis axis{(o.kernel_size.lengths[i] - 1) * o.dilation_rate.lengths[i] + 1, o.strides.lengths[i]};
      const std::int64_t length = x.dim(static_cast<int>(i) + 1);
      const std::int64_t due =
          axis.result(length, is_same_, o.output_padding ? &o.output_padding->lengths[i] : nullptr);
      CAPSTAN_CHECK(due >= 1, ShapeError, this->name(), ": the result would have length ", due, " along axis ", i + 1,
                    " for an input of shape ", x.shape(), help("output_padding makes it longer"));
      fits = fits && (due + axis.stride - 1) / axis.stride == length;
      whole.push_back(axis.whole(length));
      result.push_back(due);
      begin.push_back(std::max<std::int64_t>((length - 1) * axis.stride + axis.window - due, 0) / 2);
      cut.push_back(due);
    }
    for (Shape* shape : {&whole, &result}) shape->push_back(o.filters);
    if (!is_same_ || fits) return run(x, kernel, result, is_same_ ? "SAME" : "VALID");
    begin.push_back(0);
    cut.push_back(-1);
    return slice(run(x, kernel, whole, "VALID"), begin, cut);
  }

  Tensor run(const Tensor& x, const Tensor& kernel, const Shape& shape, const char* padding) const {
    const TransposeConfig<N>& o = this->options;
    if constexpr (N == 1) {
      return conv1d_transpose(x, kernel, shape, o.strides.lengths[0], padding, o.dilation_rate.lengths[0]);
    } else if constexpr (N == 2) {
      return conv2d_transpose(x, kernel, shape, o.strides.lengths, padding, o.dilation_rate.lengths);
    } else {
      return conv3d_transpose(x, kernel, shape, o.strides.lengths, padding, o.dilation_rate.lengths);
    }
  }

  bool is_first_, is_same_;
  Variable kernel_;
};

}  // namespace

Conv1DTranspose::Conv1DTranspose(std::int64_t filters, Size1D kernel_size, const Conv1DTransposeOptions& options)
    : Layer(make_configurable<TransposeBody<1>>(TransposeConfig<1>{options, filters, kernel_size})) {}
Conv2DTranspose::Conv2DTranspose(std::int64_t filters, Size2D kernel_size, const Conv2DTransposeOptions& options)
    : Layer(make_configurable<TransposeBody<2>>(TransposeConfig<2>{options, filters, kernel_size})) {}
Conv3DTranspose::Conv3DTranspose(std::int64_t filters, Size3D kernel_size, const Conv3DTransposeOptions& options)
    : Layer(make_configurable<TransposeBody<3>>(TransposeConfig<3>{options, filters, kernel_size})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::conv1d_transpose_class() { return layers::TransposeBody<1>::info(); }
const capstan::ClassInfo& capstan::detail::conv2d_transpose_class() { return layers::TransposeBody<2>::info(); }
const capstan::ClassInfo& capstan::detail::conv3d_transpose_class() { return layers::TransposeBody<3>::info(); }
