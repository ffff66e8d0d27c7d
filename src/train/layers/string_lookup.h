// Looking up texts, for StringLookup and TextVectorization.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/layers/preprocessing.h"
#include "src/train/layers/vocabulary.h"

namespace capstan::detail {

// The place of each text; -1 if it is masked and the mode is not "int". Throws ValueError without a vocabulary, and for
// an unknown text if there is no place for it.
std::vector<std::int64_t> places_of(const std::string& layer, const Vocabulary<std::string>& vocabulary,
                                    const std::vector<std::string>& texts, const layers::Salt& salt);

// The places of texts in the mode of the vocabulary; weighted counts are of `dtype`, all other results int64. Throws as
// places_of() does.
Tensor look_up(const std::string& layer, const Vocabulary<std::string>& vocabulary, const Texts& texts,
               const layers::Salt& salt, DType dtype);

}  // namespace capstan::detail
