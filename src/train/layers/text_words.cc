#include "src/train/layers/text_words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/core/utf8.h"

namespace capstan::detail {

namespace {

// Not those of <cctype>, which ask the locale.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

void add_ngrams(const std::vector<std::string>& words, std::size_t width, std::vector<std::string>& result) {
  for (std::size_t begin = 0; begin + width <= words.size(); ++begin) {
    std::string ngram = words[begin];
    for (std::size_t i = 1; i < width; ++i) ngram += " " + words[begin + i];
    result.push_back(std::move(ngram));
  }
}

}  // namespace

std::string standardized(std::string_view text, bool lowers, bool strips_punctuation) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (strips_punctuation && is_punctuation(c)) continue;
    result += lowers && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    if (is_space(text[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && !is_space(text[i])) ++i;
    words.emplace_back(text.substr(begin, i - begin));
  }
  return words;
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const utf8::Sequence sequence = utf8::sequence_at(text);
    characters.emplace_back(sequence.is_valid ? text.substr(0, sequence.length) : "\xef\xbf\xbd");
    text.remove_prefix(sequence.length);
  }
  return characters;
}

std::vector<std::string> ngrams_of(std::vector<std::string> words, const layers::Ngrams& ngrams) {
  if (!ngrams.is_given()) return words;
  std::vector<std::string> result;
  // Wider ones than there are words make nothing.
  if (ngrams.most()) {
    const std::size_t most = std::min(static_cast<std::size_t>(*ngrams.most()), words.size());
    for (std::size_t width = 1; width <= most; ++width) add_ngrams(words, width, result);
  }
  for (const std::int64_t width : ngrams.widths()) {
    if (static_cast<std::size_t>(width) <= words.size()) add_ngrams(words, static_cast<std::size_t>(width), result);
  }
  return result;
}

}  // namespace capstan::detail
