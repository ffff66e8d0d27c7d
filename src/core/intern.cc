// Interned lists and texts of attributes. The pools are never destroyed: attributes may outlive static objects.
#include <mutex>
#include <set>

#include "src/core/attributes.h"

namespace capstan {

IntList intern(std::span<const std::int64_t> values) {
  static auto* const mutex = new std::mutex;
  static auto* const pool = new std::set<std::vector<std::int64_t>>;
  const std::lock_guard lock(*mutex);
  return {&*pool->emplace(values.begin(), values.end()).first};
}

Text intern(std::string_view text) {
  static auto* const mutex = new std::mutex;
  static auto* const pool = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(*mutex);
  auto found = pool->find(text);
  if (found == pool->end()) found = pool->emplace(text).first;
  return {&*found};
}

}  // namespace capstan
