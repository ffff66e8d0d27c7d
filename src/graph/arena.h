// Where the values of a program lie in one piece of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace capstan {

// Hands out offsets, those that were given back first: the smallest gap that suffices.
class Arena {
 public:
  static constexpr std::size_t kLine = 64;
  static std::size_t rounded(std::size_t bytes) { return bytes == 0 ? kLine : (bytes + kLine - 1) / kLine * kLine; }

  // Of at least one cache line, so that any two are apart.
  std::size_t take(std::size_t bytes) {
    bytes = rounded(bytes);
    auto best = gaps_.end();
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
      if (gap->second >= bytes && (best == gaps_.end() || gap->second < best->second)) best = gap;
    }
    if (best == gaps_.end()) {
      // A gap at the end grows.
      const bool open = !gaps_.empty() && std::prev(gaps_.end())->first + std::prev(gaps_.end())->second == size_;
      const std::size_t offset = open ? std::prev(gaps_.end())->first : size_;
      if (open) gaps_.erase(std::prev(gaps_.end()));
      size_ = offset + bytes;
      return offset;
    }
    const auto [offset, length] = *best;
    gaps_.erase(best);
    if (length > bytes) gaps_.emplace(offset + bytes, length - bytes);
    return offset;
  }

  void give_back(std::size_t offset, std::size_t bytes) {
    auto gap = gaps_.emplace(offset, rounded(bytes)).first;
    const auto next = std::next(gap);
    if (next != gaps_.end() && gap->first + gap->second == next->first) {
      gap->second += next->second;
      gaps_.erase(next);
    }
    if (gap == gaps_.begin()) return;
    const auto before = std::prev(gap);
    if (before->first + before->second != gap->first) return;
    before->second += gap->second;
    gaps_.erase(gap);
  }

  // The most that was ever needed.
  std::size_t size() const { return size_; }

 private:
  std::map<std::size_t, std::size_t> gaps_;  // offset to length
  std::size_t size_ = 0;
};

// An arena for steps of which some run at once, as tasks of a stage: until the stage ends, only the task that has given
// a gap back may have it. What all tasks read ends with the stage.
class StagedArena {
 public:
  static constexpr std::int32_t kNoTask = -1;  // a step by itself

  explicit StagedArena(std::int32_t tasks) : gaps_(static_cast<std::size_t>(tasks)) {}

  std::size_t take(std::int32_t task, std::size_t bytes);
  void give_back(std::int32_t task, std::size_t offset, std::size_t bytes);
  void end_stage();
  std::size_t size() const { return arena_.size(); }

 private:
  struct Gap {
    std::size_t offset, bytes;
  };
  Arena arena_;
  std::vector<std::vector<Gap>> gaps_;  // by task
};

// Memory that is needed from one step to another, both included.
struct Piece {
  std::size_t bytes;
  std::size_t begin, end;
  std::size_t offset = 0;
};

// The most that pieces need at once.
std::size_t peak_of(const std::vector<Piece>& pieces);

// Places them with all their times in view, the largest first, each as low as it fits. Returns what it takes. The time
// is quadratic.
std::size_t pack(std::vector<Piece>& pieces);

}  // namespace capstan
