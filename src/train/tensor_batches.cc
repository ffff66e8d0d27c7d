#include "src/train/tensor_batches.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"

namespace capstan::detail {

std::int64_t count_examples(const char* what, const Batch& data) {
  std::int64_t count = -1;
  for_each_leaf(data, [&](const Tensor& tensor) {
    CAPSTAN_CHECK(tensor.rank() >= 1, ShapeError, what,
                  ": a tensor of data has no first axis of examples: ", tensor.shape());
    if (count < 0) count = tensor.dim(0);
    CAPSTAN_CHECK(tensor.dim(0) == count, ShapeError, what, ": the data have different numbers of examples, ", count,
                  " and ", tensor.dim(0));
  });
  CAPSTAN_CHECK(count >= 1, ValueError, what, ": there are no examples");
  return count;
}

namespace {

template <class Change>
Batch changed(Batch batch, const Change& change) {
  replace_tensors(batch, [&](Tensor& tensor) { tensor = change(tensor); });
  return batch;
}

}  // namespace

Batch examples(const Batch& data, std::int64_t begin, std::int64_t end) {
  return changed(data, [&](const Tensor& tensor) { return tensor(slice(begin, end)); });
}

BatchSource tensor_batches(const char* what, const Batch& data, std::int64_t batch_size, Seed seed) {
  const std::int64_t count = count_examples(what, data);
  CAPSTAN_CHECK(batch_size >= 1, ValueError, what, ": batch_size must be at least 1, not ", batch_size);
  const std::int64_t step = std::min(batch_size, std::max<std::int64_t>(count, 1));  // Sums of it do not overflow.
  auto passes = std::make_shared<std::uint64_t>(0);
  const auto open = [=]() -> BatchSource::Pass {
    // The golden ratio's bits, so that the passes of neighbouring seeds have nothing in common.
    Tensor order;
    if (seed) order = random::shuffle(range(count), *seed + (*passes)++ * 0x9e3779b97f4a7c15u);
    return [=, begin = std::int64_t{0}]() mutable -> std::optional<Batch> {
      if (begin >= count) return std::nullopt;
      const std::int64_t end = std::min(count, begin + step);
      const std::int64_t first = std::exchange(begin, end);
      if (!order.has_value()) return examples(data, first, end);
      const Tensor rows = order(slice(first, end));
      return changed(data, [&](const Tensor& tensor) { return gather(tensor, rows); });
    };
  };
  return BatchSource(open, (count + step - 1) / step);
}

Batch with_class_weights(const Batch& batch, const std::map<std::int64_t, double>& weights) {
  if (weights.empty()) return batch;
  CAPSTAN_CHECK(!batch.sample_weight.has_value(), ValueError,
                "fit: class_weight and sample_weight cannot be given together");
  CAPSTAN_CHECK(batch.y.is_tensor(), ValueError, "fit: class_weight needs one tensor of labels");
  const Tensor& y = batch.y.tensor();
  Tensor classes = y;
  if (y.rank() > 1) classes = y.dim(-1) == 1 ? squeeze(y, -1) : argmax(y, -1);
  if (is_floating(classes.dtype())) classes = round(classes);
  const std::vector<std::int64_t> numbers = cast(classes, int64).to_vector<std::int64_t>();
  std::vector<double> values;
  values.reserve(numbers.size());
  for (const std::int64_t number : numbers) {
    const auto found = weights.find(number);
    values.push_back(found == weights.end() ? 1 : found->second);
  }
  Batch result = batch;
  result.sample_weight = reshape(cast(constant(values), floatx()), classes.shape());
  return result;
}

}  // namespace capstan::detail
