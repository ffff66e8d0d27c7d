// Texts made even, split, and joined to n-grams, as TensorFlow's ops of strings do it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "capstan/layers/preprocessing.h"

namespace capstan::detail {

// Lower case, and without punctuation; of ASCII alone.
std::string standardized(std::string_view text, bool lowers, bool strips_punctuation);

// What lies between white space, of ASCII alone.
std::vector<std::string> words_of(std::string_view text);

// The code points of UTF-8. What is no UTF-8 becomes U+FFFD.
std::vector<std::string> characters_of(std::string_view text);

// All runs of words of each width, joined by blanks: first those of one width, then those of the next. The words
// themselves if no widths are given.
std::vector<std::string> ngrams_of(std::vector<std::string> words, const layers::Ngrams& ngrams);

}  // namespace capstan::detail
