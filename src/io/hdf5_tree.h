// Trees of records, version 2: links by name, and chunks by place.
#pragma once

#include <functional>

#include "src/io/hdf5_structure.h"

namespace capstan::io::hdf5 {

/// Calls body(record) for each record of the tree at this address, each of which begins at its first byte and ends at
/// its last. Throws IoError for a tree of another type, and what is damaged.
void for_each_record(File& file, std::uint64_t address, std::uint8_t type, const std::function<void(Reader&)>& body);

}  // namespace capstan::io::hdf5
