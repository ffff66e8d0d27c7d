#include "src/kernels/array/transpose_tiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "src/core/cpu.h"
#include "tests/support/random.h"

namespace capstan {
namespace {

// Every size of element, instruction set and kind of store; sides around those of a tile, with gaps between rows.
TEST(TransposeTiles, MoveEveryElementAndNothingElse) {
  testing::Random random(3);
  for (const std::size_t size : {1u, 2u, 4u, 8u, 16u}) {
    for (int isa = 0; isa <= instruction_set(); ++isa) {
      for (const auto& [rows, columns] : {std::pair{1, 1}, {32, 32}, {31, 64}, {65, 33}, {96, 128}, {3, 100}}) {
        for (const bool stream : {false, true}) {
          const TransposeBlock block = {rows, columns, columns + 16, rows + 5};
          const auto source_size = static_cast<std::size_t>(columns * block.from) * size;
          const auto target_size = static_cast<std::size_t>(rows * block.to) * size;
          std::vector<std::byte> from(source_size);
          for (std::byte& byte : from) byte = static_cast<std::byte>(random.bits());
          // Aligned, so that stores past the caches are used.
          std::vector<std::byte> memory(target_size + 64, std::byte{0xee});
          std::byte* to = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
          std::vector<std::byte> wanted(target_size, std::byte{0xee});
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
              std::memcpy(wanted.data() + static_cast<std::size_t>(i * block.to + j) * size,
                          from.data() + static_cast<std::size_t>(j * block.from + i) * size, size);
            }
          }
          transpose_function(size, isa)(to, from.data(), block, stream);
          EXPECT_EQ(std::memcmp(to, wanted.data(), target_size), 0)
              << size << " bytes, " << rows << " x " << columns << ", set " << isa << (stream ? ", streamed" : "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace capstan
