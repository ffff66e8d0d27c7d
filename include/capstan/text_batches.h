// Texts in front of a model: batches in which a layer of texts has made tensors of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "capstan/nest.h"
#include "capstan/seed.h"
#include "capstan/texts.h"
#include "capstan/training.h"

namespace capstan {

/// Options of text_batches.
struct TextBatchOptions {
  Nest y = {};  ///< labels: tensors with a row for each text
  Nest sample_weight = {};
  std::int64_t batch_size = 32;
  /// Another order in each pass, which follows from the seed; without one the order of the texts.
  Seed seed = {};
};

/// Batches for fit(), evaluate() and predict(): texts, or rows of them, are taken a batch at a time, and `encode` makes
/// the inputs of them. The last batch may be short.
///
///     layers::TextVectorization vectorize({.max_tokens = 1000, .output_sequence_length = 8});
///     vectorize.adapt(reviews);
///     model.fit(text_batches(reviews, vectorize, {.y = labels, .batch_size = 2, .seed = 1}), {.epochs = 2});
///
/// Errors: ValueError for one text, no texts, an empty function or a batch_size below 1; ShapeError for labels or
/// weights of another number.
CAPSTAN_EXPORT BatchSource text_batches(const Texts& texts, std::function<Nest(const Texts&)> encode,
                                        const TextBatchOptions& options = {});

}  // namespace capstan
