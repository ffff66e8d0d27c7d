// Names of layers: the class in snake case, and a number for every one after the first.
#include <map>
#include <mutex>

#include "capstan/utils.h"
#include "src/train/layer_state.h"

namespace capstan {

namespace detail {

std::string snake_case(std::string_view class_name) {
  const auto is_upper = [&](std::size_t i) { return class_name[i] >= 'A' && class_name[i] <= 'Z'; };
  const auto is_lower = [&](std::size_t i) {
    return i < class_name.size() && class_name[i] >= 'a' && class_name[i] <= 'z';
  };
  std::string result(2 * class_name.size(), '_');
  std::size_t length = 0;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const bool is_digit = class_name[i] >= '0' && class_name[i] <= '9';
    if (!is_upper(i) && !is_lower(i) && !is_digit && class_name[i] != '_') continue;  // of a class without a name
    // A word begins at a capital that small letters follow, or at one that follows a small letter.
    if (length > 0 && is_upper(i) && result[length - 1] != '_' && (is_lower(i + 1) || is_lower(i - 1))) ++length;
    result[length++] = is_upper(i) ? static_cast<char>(class_name[i] - 'A' + 'a') : class_name[i];
  }
  result.resize(length);
  return result;
}

}  // namespace detail

namespace {

// How often each prefix was asked for.
struct Counts {
  std::mutex mutex;
  std::map<std::string, int> of_prefix;
};
Counts& counts() {
  static auto* const counts = new Counts;
  return *counts;
}

}  // namespace

std::string auto_name(const std::string& prefix) {
  const std::lock_guard lock(counts().mutex);
  const int count = counts().of_prefix[prefix]++;
  return count == 0 ? prefix : prefix + "_" + std::to_string(count);
}

void clear_session() {
  const std::lock_guard lock(counts().mutex);
  counts().of_prefix.clear();
}

}  // namespace capstan
