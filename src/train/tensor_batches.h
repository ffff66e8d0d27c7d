// Batches of tensors: what fit, evaluate and predict make of examples along the first axis.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "capstan/seed.h"
#include "capstan/training.h"

namespace capstan::detail {

// The number of examples. Throws ShapeError, with `what` in front, unless all tensors have as many.
std::int64_t count_examples(const char* what, const Batch& data);

// The examples [begin, end) of all tensors.
Batch examples(const Batch& data, std::int64_t begin, std::int64_t end);

// Batches in the order of the rows, or with a seed in another order in each pass, which depends on the seed and the
// number of the pass. The last one may be short.
BatchSource tensor_batches(const char* what, const Batch& data, std::int64_t batch_size, Seed seed);

// A batch whose examples have the weights of their classes. Throws ValueError if they have weights already.
Batch with_class_weights(const Batch& batch, const std::map<std::int64_t, double>& weights);

}  // namespace capstan::detail
