// Flatten.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "src/train/common.h"

namespace capstan::layers {

namespace {

class FlattenBody final : public LayerBody {
 public:
  explicit FlattenBody(const FlattenOptions& options)
      : LayerBody("Flatten", detail::common_options(options)),
        channels_first_(detail::is_channels_first("flatten", options.data_format)) {}

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  bool channels_first_;
};

Tensor FlattenBody::call(const Tensor& x, const CallOptions&) {
  CAPSTAN_CHECK(x.rank() >= 1, ShapeError, name(), ": the input must have a batch axis, not be a scalar");
  if (x.rank() == 1) return expand_dims(x, 1);
  std::int64_t features = 1;
  for (int i = 1; i < x.rank(); ++i) features *= x.dim(i);
  // The length of the batch is left open, for functions that serve several.
  const Shape shape{features == 0 ? x.dim(0) : -1, features};
  if (!channels_first_ || x.rank() == 2) return reshape(x, shape);
  std::vector<int> order{0};
  for (int i = 2; i < x.rank(); ++i) order.push_back(i);
  order.push_back(1);
  return reshape(transpose(x, Axes(std::span<const int>(order))), shape);
}

}  // namespace

Flatten::Flatten(const FlattenOptions& options) : Layer(std::make_shared<FlattenBody>(options)) {}

}  // namespace capstan::layers
