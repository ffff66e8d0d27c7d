#include "capstan/text_batches.h"

#include <memory>
#include <utility>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/train/tensor_batches.h"

namespace capstan {

BatchSource text_batches(const Texts& texts, std::function<Nest(const Texts&)> encode,
                         const TextBatchOptions& options) {
  CAPSTAN_CHECK(texts.rank() >= 1, ValueError, "text_batches: one text is no list of texts");
  CAPSTAN_CHECK(encode != nullptr, ValueError, "text_batches: the function is empty");
  CAPSTAN_CHECK(texts.size() > 0, ValueError, "text_batches: there are no texts");
  // Tensors hold no texts: what is batched are their numbers.
  const Batch numbers{range(static_cast<std::int64_t>(texts.size())), options.y, options.sample_weight};
  const BatchSource batches = detail::tensor_batches("text_batches", numbers, options.batch_size, options.seed);
  const auto open = [batches, all = std::make_shared<const Texts>(texts), encode = std::move(encode)] {
    return [next = batches.open(), all, encode]() -> std::optional<Batch> {
      std::optional<Batch> batch = next();
      if (!batch) return std::nullopt;
      batch->x = encode(all->select(cast(batch->x.tensor(), int64).to_vector<std::int64_t>()));
      return batch;
    };
  };
  return BatchSource(open, batches.size());
}

}  // namespace capstan
