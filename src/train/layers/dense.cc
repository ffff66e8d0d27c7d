// The fully connected layer.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/kernel_layer.h"

namespace capstan::layers {

namespace {

struct DenseConfig : DenseOptions {
  std::int64_t units = 0;
  static std::span<const OptionField> fields() {
    using O = DenseConfig;
    static constexpr auto all = detail::with_kernel_options<O>({option<&O::units>("units", true).at_least(1)});
    return all;
  }
};

class DenseBody final : public detail::KernelLayer<DenseBody, DenseConfig> {
 public:
  static constexpr char kName[] = "Dense", kText[] = "A matrix product with the last axis, a bias and an activation.";
  explicit DenseBody(const DenseConfig& given) : KernelLayer(given) {
    passes_masks();
    converts_integers();
  }

 protected:
  void build(const Shape& input_shape) override;
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  Variable kernel_;
  std::int64_t in_ = 0;
};

void DenseBody::build(const Shape& input_shape) {
  CAPSTAN_CHECK(input_shape.rank() >= 2, ShapeError, name(), ": the input must have rank 2 or more, not ",
                input_shape.rank(), ": ", input_shape);
  in_ = input_shape[-1];
  kernel_ = add_kernel({in_, options.units});
  add_bias(options.units);
}

Tensor DenseBody::call(const Tensor& x, const CallOptions&) {
  CAPSTAN_CHECK(x.rank() >= 2, ShapeError, name(), ": the input must have rank 2 or more, not ", x.rank(), ": ",
                x.shape());
  CAPSTAN_CHECK(x.dim(-1) == in_, ShapeError, name(), ": the last axis of the input must have length ", in_, ", not ",
                x.dim(-1), arguments({{"x", x}}));
  Tensor y;
  const auto times_kernel = [&](const Tensor& rows) {
    return detail::with_weight(*this, kernel_, [&](Operand kernel) { return matmul(rows, kernel); });
  };
  if (x.rank() == 2) {
    y = times_kernel(x);
  } else {
    // One product of [everything, in] is faster than a batch of small ones.
    Shape shape = x.shape();
    shape.set(-1, options.units);
    // Left open, for functions that serve batches of several lengths.
    if (shape.size() > 0) shape.set(0, -1);
    y = reshape(times_kernel(reshape(x, {-1, x.dim(-1)})), shape);
  }
  return finish(std::move(y));
}

}  // namespace

Dense::Dense(std::int64_t units, const DenseOptions& options)
    : Layer(make_configurable<DenseBody>(DenseConfig{options, units})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::dense_class() { return layers::DenseBody::info(); }
