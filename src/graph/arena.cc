#include "src/graph/arena.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace capstan {

std::size_t StagedArena::take(std::int32_t task, std::size_t bytes) {
  if (task != kNoTask) {
    bytes = Arena::rounded(bytes);
    for (Gap& gap : gaps_[static_cast<std::size_t>(task)]) {
      if (gap.bytes < bytes) continue;
      gap.bytes -= bytes;
      return gap.offset + gap.bytes;
    }
  }
  return arena_.take(bytes);
}

void StagedArena::give_back(std::int32_t task, std::size_t offset, std::size_t bytes) {
  if (task == kNoTask) return arena_.give_back(offset, bytes);
  gaps_[static_cast<std::size_t>(task)].push_back({offset, Arena::rounded(bytes)});
}

void StagedArena::end_stage() {
  for (std::vector<Gap>& gaps : gaps_) {
    for (const Gap& gap : gaps) {
      if (gap.bytes > 0) arena_.give_back(gap.offset, gap.bytes);
    }
    gaps.clear();
  }
}

std::size_t peak_of(const std::vector<Piece>& pieces) {
  std::size_t steps = 0;
  for (const Piece& piece : pieces) steps = std::max(steps, piece.end + 2);
  std::vector<std::size_t> made(steps), gone(steps);
  for (const Piece& piece : pieces) {
    made[piece.begin] += Arena::rounded(piece.bytes);
    gone[piece.end + 1] += Arena::rounded(piece.bytes);
  }
  std::size_t peak = 0;
  std::size_t live = 0;
  for (std::size_t s = 0; s < steps; ++s) {
    live = live - gone[s] + made[s];
    peak = std::max(peak, live);
  }
  return peak;
}

std::size_t pack(std::vector<Piece>& pieces) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return pieces[a].bytes != pieces[b].bytes ? pieces[a].bytes > pieces[b].bytes : a < b;
  });
  std::size_t size = 0;
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t p : order) {
    Piece& piece = pieces[p];
    const std::size_t bytes = Arena::rounded(piece.bytes);
    piece.offset = 0;
    for (const std::size_t q : placed) {
      const Piece& other = pieces[q];
      if (other.end < piece.begin || piece.end < other.begin) continue;
      if (piece.offset + bytes <= other.offset) break;
      piece.offset = std::max(piece.offset, other.offset + Arena::rounded(other.bytes));
    }
    size = std::max(size, piece.offset + bytes);
    const auto behind = std::upper_bound(placed.begin(), placed.end(), piece.offset,
                                         [&](std::size_t offset, std::size_t q) { return offset < pieces[q].offset; });
    placed.insert(behind, p);
  }
  return size;
}

}  // namespace capstan
