#include "src/io/hdf5_heap.h"

#include <algorithm>
#include <bit>

namespace capstan::io::hdf5 {

Heap::Heap(File& file, std::uint64_t address) : file_(file) {
  Reader head = file.visit(address);
  head.expect("FRHP", "a heap of links");
  if (head.byte() != 0) file.fail("heaps of this version are not supported");
  head.skip(2);
  if (head.number(2) != 0) file.fail("heaps with filters are not supported");
  head.skip(1);
  const std::uint64_t largest_object = head.number(4);
  head.skip(file.length_size + file.offset_size);  // objects outside of blocks
  head.skip(file.length_size + file.offset_size);  // free space
  head.skip(8 * file.length_size);                 // numbers of objects
  width_ = head.number(2);
  first_size_ = head.number(file.length_size);
  largest_size_ = head.number(file.length_size);
  const std::uint64_t bits = head.number(2);
  head.skip(2);
  root_ = head.number(file.offset_size);
  rows_ = head.number(2);
  head.check_sum();
  const auto is_odd = [](std::uint64_t size) { return !std::has_single_bit(size) || size > std::uint64_t{1} << 40; };
  if (is_odd(width_) || is_odd(first_size_) || is_odd(largest_size_) || largest_size_ < first_size_ || bits > 64) {
    file.fail("a heap has odd blocks");
  }
  const auto bytes_for = [](std::uint64_t number) {
    return (static_cast<std::size_t>(std::bit_width(number)) + 7) / 8;
  };
  offset_bytes_ = (bits + 7) / 8;
  length_bytes_ = std::min(bytes_for(largest_size_ - 1), bytes_for(largest_object));
}

std::string_view Heap::object(std::string_view id) {
  Reader reader(file_.source, id);
  // The version, and whether the object is in a block.
  if ((reader.byte() & 0xf0) != 0) file_.fail("a link that stands alone is not supported");
  const std::uint64_t offset = reader.number(offset_bytes_), length = reader.number(length_bytes_);
  if (rows_ == 0) return in_block(root_, first_size_, offset, length);
  return find(root_, rows_, offset, length, 0);
}

// A table at most 64 rows deep, whose blocks lie after each other.
std::string_view Heap::find(std::uint64_t table, std::uint64_t rows, std::uint64_t offset, std::uint64_t length,
                            int depth) {
  const std::uint64_t first_row = width_ * first_size_;
  const auto log_of = [](std::uint64_t number) { return static_cast<std::uint64_t>(std::bit_width(number)) - 1; };
  const std::uint64_t row = offset < first_row ? 0 : 1 + log_of(offset / first_row);
  const std::uint64_t direct_rows = log_of(largest_size_ / first_size_) + 2;
  if (row >= rows || rows > 64 || depth > 64) file_.fail("an object lies beyond its heap");
  const std::uint64_t size = row == 0 ? first_size_ : first_size_ << (row - 1);
  const std::uint64_t in_row = row == 0 ? offset : offset - (first_row << (row - 1));
  Reader reader = checked_.insert(table).second ? file_.visit(table) : file_.reader(table);
  const std::uint64_t entries = reader.at() + 4 + 1 + file_.offset_size + offset_bytes_;
  reader.expect("FHIB", "a table of a heap");
  reader.skip(entries - 4);
  const std::string_view addresses = reader.take(rows * width_ * file_.offset_size);
  reader.check_sum();
  Reader entry(file_.source, addresses);
  entry.skip((row * width_ + in_row / size) * file_.offset_size);
  const std::uint64_t child = entry.number(file_.offset_size);
  if (row < direct_rows) return in_block(child, size, in_row % size, length);
  return find(child, log_of(size / first_row) + 1, in_row % size, length, depth + 1);
}

std::string_view Heap::in_block(std::uint64_t address, std::uint64_t size, std::uint64_t offset, std::uint64_t length) {
  if (length > size || offset > size - length) file_.fail("an object lies beyond its block");
  Reader block = checked_.insert(address).second ? file_.visit(address) : file_.reader(address);
  block.expect("FHDB", "a block of a heap");
  return file_.at(address, size).substr(offset, length);
}

}  // namespace capstan::io::hdf5
