// Where the chunks of a dataset lie: the forms of their index.
#pragma once

#include <string>
#include <vector>

#include "src/io/hdf5_structure.h"

namespace capstan::io::hdf5 {

/// A part of a dataset in chunks.
struct Chunk {
  std::vector<std::uint64_t> place;  // of its first element
  std::uint64_t address, size;       // as it is stored
  std::uint64_t skipped = 0;         // filters, as bits
};

/// How a dataset is cut into chunks. Lengths are those of the axes, in elements.
struct Grid {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> most;  // which the shape may become: kNowhere without an end
  std::vector<std::uint64_t> chunk;
  std::uint64_t chunk_bytes = 0;
};

/// The chunks that were ever written, of a tree at this address. Throws IoError in the name of `dataset`.
std::vector<Chunk> chunks_of_tree(File& file, const std::string& dataset, const Grid& grid, std::uint64_t address);

/// The same of a layout message of version 4 with these flags; `layout` is after the lengths of the chunks.
std::vector<Chunk> chunks_of_index(File& file, const std::string& dataset, const Grid& grid, Reader& layout,
                                   std::uint8_t flags);

}  // namespace capstan::io::hdf5
