// Names of layers: the class in snake case, and a number for every one after the first.
#include <cctype>
#include <map>
#include <mutex>

#include "src/train/layer_state.h"

namespace capstan::detail {

std::string snake_case(const std::string& class_name) {
  std::string name;
  for (char c : class_name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') name += c;
  }
  const auto upper = [&](std::size_t i) { return std::isupper(static_cast<unsigned char>(name[i])) != 0; };
  const auto lower = [&](std::size_t i) {
    return i < name.size() && std::islower(static_cast<unsigned char>(name[i])) != 0;
  };
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    // A word begins at a capital that small letters follow, or at one that follows a small letter.
    if (i > 0 && upper(i) && result.back() != '_' && (lower(i + 1) || lower(i - 1))) result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return result;
}

std::string automatic_name(const std::string& prefix) {
  static std::mutex mutex;
  static auto* const counts = new std::map<std::string, int>;
  const std::lock_guard lock(mutex);
  const int count = (*counts)[prefix]++;
  return count == 0 ? prefix : prefix + "_" + std::to_string(count);
}

}  // namespace capstan::detail
