// Things that are given by name: what there is, and what an error says of a name that there is not.
#pragma once

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/check.h"

namespace capstan::detail {

// What is known under a name, and under other spellings of it.
template <class Value>
struct Named {
  std::string_view name;
  Value value;
  std::string_view other = {};
  std::string_view third = {};

  bool has_name(std::string_view asked) const {
    return asked == name || (!other.empty() && asked == other) || (!third.empty() && asked == third);
  }
};

// How many letters have to be put in, taken out or replaced to get from one name to another.
inline std::size_t distance_of(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// A name without what may be spelt in several ways: "InverseTimeDecay" and "inverse_time_decay" have the same letters.
inline std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

[[noreturn, gnu::cold]] inline void throw_unknown_name(std::string_view kind, std::string_view asked,
                                                       const std::vector<std::string_view>& known,
                                                       std::string_view otherwise) {
  constexpr std::size_t kMisspelt = 2;
  std::string_view nearest;
  std::size_t least = kMisspelt + 1;
  std::string list;
  for (const std::string_view name : known) {
    list += (list.empty() ? "" : ", ") + std::string(name);
    const std::size_t distance = distance_of(letters_of(asked), letters_of(name));
    if (distance < least && distance < name.size()) {
      least = distance;
      nearest = name;
    }
  }
  throw ValueError(join(kind, ": there is none with the name \"", asked, "\"; there are ", list,
                        nearest.empty() ? help(otherwise) : help("did you mean \"" + std::string(nearest) + "\"?")));
}

// What has a name; ValueError if nothing has. `otherwise` is the remedy then, unless the name is misspelt.
template <class Value>
const Value& find_named(std::string_view kind, std::string_view asked, std::span<const Named<Value>> table,
                        std::string_view otherwise) {
  std::vector<std::string_view> known;
  for (const Named<Value>& entry : table) {
    if (entry.has_name(asked)) return entry.value;
    known.push_back(entry.name);
  }
  throw_unknown_name(kind, asked, known, otherwise);
}

}  // namespace capstan::detail
