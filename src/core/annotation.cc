#include "src/core/annotation.h"

#include <array>
#include <mutex>
#include <unordered_map>

namespace capstan::detail {

namespace {

// Several tables, for threads that train side by side.
struct Table {
  std::mutex mutex;
  std::unordered_map<const Block*, std::unique_ptr<Annotation>> entries;
};
constexpr std::size_t kTables = 16;

Table& table_of(const Block* block) {
  static auto* const tables = new std::array<Table, kTables>;  // tensors may outlive static objects
  return (*tables)[reinterpret_cast<std::uintptr_t>(block) / sizeof(Block) % kTables];
}

bool is_annotated(const Block* block) {
  return block != nullptr && (block->flags.load(std::memory_order_relaxed) & Block::kAnnotated) != 0;
}

}  // namespace

Annotation* annotation_of(const Block* block) {
  if (!is_annotated(block)) return nullptr;
  Table& table = table_of(block);
  const std::lock_guard lock(table.mutex);
  return table.entries.at(block).get();
}

void annotate(Block* block, std::unique_ptr<Annotation> annotation) {
  Table& table = table_of(block);
  {
    // What was there goes away outside, since it may hold tensors with annotations.
    const std::lock_guard lock(table.mutex);
    std::swap(table.entries[block], annotation);
  }
  block->flags.fetch_or(Block::kAnnotated, std::memory_order_relaxed);
}

void drop_annotation(Block* block) noexcept {
  Table& table = table_of(block);
  std::unique_ptr<Annotation> annotation;
  {
    const std::lock_guard lock(table.mutex);
    const auto entry = table.entries.find(block);
    annotation = std::move(entry->second);
    table.entries.erase(entry);
  }
}

}  // namespace capstan::detail
