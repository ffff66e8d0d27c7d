#include "src/io/hdf5_structure.h"

namespace capstan::io::hdf5 {

std::string_view File::at(std::uint64_t address, std::uint64_t size) const {
  const std::string_view found = place(address, size);
  content.need(found);
  return found;
}

std::string_view File::place(std::uint64_t address, std::uint64_t size) const {
  const std::uint64_t most = content.bytes().size() - base;
  if (address > most) fail("address " + std::to_string(address) + " is beyond the end of the file");
  if (size > most - address) {
    fail(std::to_string(size) + " bytes at " + std::to_string(address) + " would end beyond the end of the file");
  }
  return content.bytes().substr(base + address, size);
}

Reader File::reader(std::uint64_t address) const {
  place(address, 0);
  return {source, content.bytes().substr(base + address), &content};
}

Reader File::visit(std::uint64_t address) {
  if (!visited.insert(address).second) {
    fail("the structure at " + std::to_string(address) + " is reached twice, which makes a circle");
  }
  return reader(address);
}

bool File::is_nowhere(std::uint64_t address) const {
  return address == (offset_size == 8 ? kNowhere : (std::uint64_t{1} << 8 * offset_size) - 1);
}

}  // namespace capstan::io::hdf5
