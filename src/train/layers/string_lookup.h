// Looking up texts, for StringLookup and TextVectorization.
#pragma once

#include <string>

#include "capstan/layers/preprocessing.h"
#include "src/train/layers/vocabulary.h"

namespace capstan::detail {

// The places of texts in the mode of the vocabulary; weighted counts are of `dtype`, all other results int64. Throws
// ValueError without a vocabulary, and for an unknown text if there is no place for it.
Tensor look_up(const std::string& layer, const Vocabulary<std::string>& vocabulary, const Texts& texts,
               const layers::Salt& salt, DType dtype);

}  // namespace capstan::detail
