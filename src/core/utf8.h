// UTF-8, read and written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace capstan::utf8 {

// How many bytes at the start of a text that is not empty make a character, or if they do not, how many belong
// together.
struct Sequence {
  std::size_t length;
  bool is_valid;
};
inline Sequence sequence_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, true};
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i) {
    // The second byte rules out overlong forms, surrogates and what is beyond U+10FFFF.
    unsigned least = 0x80, most = 0xbf;
    if (i == 1) {
      least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : least;
      most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : most;
    }
    if (i >= text.size() || byte(i) < least || byte(i) > most) return {i, false};
  }
  return {std::max<std::size_t>(length, 1), length > 0};
}

inline bool is_valid(std::string_view text) {
  while (!text.empty()) {
    const Sequence sequence = sequence_at(text);
    if (!sequence.is_valid) return false;
    text.remove_prefix(sequence.length);
  }
  return true;
}

// Appends the character with this code.
inline void append(std::string& text, unsigned code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned kLeading[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kLeading[more] | code >> 6 * more);
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> 6 * i & 0x3f));
}

// Whether a character begins with this byte: the others continue one.
inline bool is_begin(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }

inline std::size_t count(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_begin));
}

// Where character number `index` begins, or the end of the text.
inline std::size_t offset_of(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; at < text.size() && index > 0; --index) {
    do ++at;
    while (at < text.size() && !is_begin(text[at]));
  }
  return at;
}

}  // namespace capstan::utf8
