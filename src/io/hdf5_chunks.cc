// Where the chunks of a dataset lie.
//
// Files of the first form have a tree. The later ones have what suits the dataset: a single chunk, or chunks after
// each other, need no index; if no axis grows without end there is an array of chunks, if one does an array that grows,
// and if several do a tree of another kind. Arrays count chunks by the lengths that axes may have, not by those that
// they have, and the axis that grows is the slowest.
#include "src/io/hdf5_chunks.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "src/io/hdf5_tree.h"
#include "src/io/byte_source.h"

namespace capstan::io::hdf5 {

namespace {

constexpr std::uint64_t parts_of(std::uint64_t length, std::uint64_t part) {
  return length / part + (length % part != 0 ? 1 : 0);
}

class ChunkIndex {
 public:
  ChunkIndex(File& file, const std::string& dataset, const Grid& grid) : file_(file), dataset_(dataset), grid_(grid) {}

  std::vector<Chunk> of_tree(std::uint64_t tree) {
    if (!file_.is_nowhere(tree)) read_tree(tree, -1);
    return std::move(chunks_);
  }

  std::vector<Chunk> of_index(Reader& layout, std::uint8_t flags) {
    switch (const std::uint8_t index = layout.byte()) {
      case 1:
        read_single(layout, flags);
        break;
      case 2: {
        const std::uint64_t begin = layout.number(file_.offset_size);
        for_each_place(false, [&](std::uint64_t number, std::vector<std::uint64_t> place) {
          chunks_.push_back({std::move(place), begin + number * grid_.chunk_bytes, grid_.chunk_bytes});
        });
        break;
      }
      case 3:
        layout.skip(1);
        read_array(layout.number(file_.offset_size));
        break;
      case 4:
        layout.skip(5);
        read_growing_array(layout.number(file_.offset_size));
        break;
      case 5:
        layout.skip(6);
        read_later_tree(layout.number(file_.offset_size));
        break;
      default:
        fail("its index of chunks of kind " + std::to_string(index) + " is not supported");
    }
    std::erase_if(chunks_, [&](const Chunk& chunk) { return file_.is_nowhere(chunk.address); });
    return std::move(chunks_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    file_.fail("dataset " + in_quotes(dataset_) + ": " + problem);
  }
  std::size_t rank() const { return grid_.shape.size(); }

  void read_tree(std::uint64_t address, int expected_level) {
    Reader node = file_.visit(address);
    node.expect("TREE", "a node of a tree");
    if (node.byte() != 1) fail("the tree of its chunks is one of a group");
    const int level = node.byte();
    if (level > 32 || (expected_level >= 0 && level != expected_level)) fail("a node of its tree has a wrong level");
    const std::uint64_t count = node.number(2);
    node.skip(2 * file_.offset_size);
    for (std::uint64_t i = 0; i < count; ++i) {
      Chunk chunk{{}, 0, node.number(4), node.number(4)};
      for (std::size_t axis = 0; axis < rank(); ++axis) chunk.place.push_back(node.number(8));
      node.skip(8);
      chunk.address = node.number(file_.offset_size);
      if (level > 0) {
        read_tree(chunk.address, level - 1);
      } else {
        chunks_.push_back(std::move(chunk));
      }
    }
  }

  void read_single(Reader& layout, std::uint8_t flags) {
    Chunk chunk{std::vector<std::uint64_t>(rank(), 0), 0, grid_.chunk_bytes};
    if ((flags & 2) != 0) {
      chunk.size = layout.number(file_.length_size);
      chunk.skipped = layout.number(4);
    }
    chunk.address = layout.number(file_.offset_size);
    chunks_.push_back(std::move(chunk));
  }

  // Calls body(number, place) for each chunk of the shape, by rising numbers, which count those of the longest lengths
  // as well. An axis without an end is the slowest where `grows`, else the first is.
  void for_each_place(bool grows, const std::function<void(std::uint64_t, std::vector<std::uint64_t>)>& body) {
    std::vector<std::size_t> order;  // of the axes, from the slowest on
    for (std::size_t i = 0; i < rank(); ++i) {
      const bool is_slowest = grows && grid_.most[i] == kNowhere;
      order.insert(is_slowest ? order.begin() : order.end(), i);
    }
    std::vector<std::uint64_t> counts, steps(rank());
    std::uint64_t here = 1, all = 1;  // chunks of the shape, and numbers
    for (std::size_t k = rank(); k-- > 0;) {
      const std::size_t axis = order[k];
      const std::uint64_t most = grid_.most[axis] == kNowhere ? grid_.shape[axis] : grid_.most[axis];
      steps[axis] = all;
      for (const auto& [product, length] : {std::pair{&here, grid_.shape[axis]}, {&all, most}}) {
        const std::uint64_t parts = parts_of(length, grid_.chunk[axis]);
        if (parts != 0 && *product > (std::uint64_t{1} << 62) / parts) fail("it has too many chunks");
        *product *= parts;
      }
    }
    // Of those that were never written there may be some more.
    if (here > file_.size() + (1 << 20)) fail("it has more chunks than the file has bytes");
    for (std::uint64_t i = 0; i < here; ++i) {
      std::vector<std::uint64_t> place(rank());
      std::uint64_t rest = i, number = 0;
      for (std::size_t k = rank(); k-- > 0;) {
        const std::size_t axis = order[k];
        const std::uint64_t parts = parts_of(grid_.shape[axis], grid_.chunk[axis]);
        place[axis] = rest % parts * grid_.chunk[axis];
        number += rest % parts * steps[axis];
        rest /= parts;
      }
      body(number, std::move(place));
    }
  }

  // --- Arrays ---

  // What stands for a chunk in an array or a tree: its address, and with filters its size and those that were skipped.
  void set_entry(std::size_t size, bool is_filtered) {
    entry_ = size;
    is_filtered_ = is_filtered;
    size_bytes_ = is_filtered ? size - file_.offset_size - 4 : 0;
    if (size < file_.offset_size + (is_filtered ? 5 : 0) || size_bytes_ > 8)
      fail("its index of chunks has odd entries");
  }
  void add(Reader entry, std::vector<std::uint64_t> place) {
    Chunk chunk{std::move(place), entry.number(file_.offset_size), grid_.chunk_bytes};
    if (is_filtered_) {
      chunk.size = entry.number(size_bytes_);
      chunk.skipped = entry.number(4);
    }
    chunks_.push_back(std::move(chunk));
  }
  Reader entry(std::string_view entries, std::uint64_t number) const {
    Reader reader(file_.source, entries);
    reader.skip(number * entry_);
    return reader;
  }
  bool bit(std::string_view bits, std::uint64_t number) const {
    if (number / 8 >= bits.size()) fail("its array of chunks has odd pages");
    return (static_cast<unsigned char>(bits[number / 8]) & 0x80U >> number % 8) != 0;
  }
  // Entries with their checksum after them.
  std::string_view page(std::uint64_t address, std::uint64_t count) {
    Reader reader = file_.reader(address);
    const std::string_view entries = reader.take(count * entry_);
    reader.check_sum();
    return entries;
  }

  void read_array(std::uint64_t address) {
    if (file_.is_nowhere(address)) return;
    Reader head = file_.visit(address);
    head.expect("FAHD", "an array of chunks");
    head.skip(1);
    const bool is_filtered = head.byte() == 1;
    set_entry(head.byte(), is_filtered);
    const std::uint8_t page_bits = head.byte();
    const std::uint64_t most = head.number(file_.length_size), block_address = head.number(file_.offset_size);
    head.check_sum();
    if (file_.is_nowhere(block_address)) return;
    if (page_bits > 40 || most > file_.size()) fail("its array of chunks has odd pages");
    Reader block = file_.visit(block_address);
    block.expect("FADB", "a block of chunks");
    block.skip(2 + file_.offset_size);
    const std::uint64_t length = std::uint64_t{1} << page_bits;
    const bool has_pages = most > length;
    const std::string_view bits = has_pages ? block.take(parts_of(parts_of(most, length), 8)) : std::string_view();
    std::string_view entries = has_pages ? std::string_view() : block.take(most * entry_);
    block.check_sum();
    const std::uint64_t first_page = block_address + block.at();
    std::uint64_t current = kNowhere;
    for_each_place(false, [&](std::uint64_t number, std::vector<std::uint64_t> place) {
      if (number >= most) fail("its array of chunks is too short");
      if (!has_pages) return add(entry(entries, number), std::move(place));
      const std::uint64_t its_page = number / length;
      if (!bit(bits, its_page)) return;
      if (its_page != current) {
        entries = page(first_page + its_page * (length * entry_ + 4), std::min(length, most - its_page * length));
        current = its_page;
      }
      add(entry(entries, number % length), std::move(place));
    });
  }

  // Its first entries are stored with the addresses of blocks and of tables of blocks. Tables and their blocks get
  // longer: table k has 2^(k/2) blocks, of 2^((k+1)/2) times as many entries as the shortest.
  struct GrowingArray {
    std::uint64_t first = 0, shortest = 0, direct_tables = 0, page = 0;
    std::size_t offset_bytes = 0;
    std::string_view entries;
    std::vector<std::uint64_t> blocks, tables;
  };

  void read_growing_array(std::uint64_t address) {
    if (file_.is_nowhere(address)) return;
    Reader head = file_.visit(address);
    head.expect("EAHD", "an array of chunks that grows");
    head.skip(1);
    const bool is_filtered = head.byte() == 1;
    set_entry(head.byte(), is_filtered);
    GrowingArray array;
    const std::uint64_t bits = head.byte();
    array.first = head.byte();
    array.shortest = head.byte();
    const std::uint64_t pointers = head.byte(), page_bits = head.byte();
    head.skip(6 * file_.length_size);
    const std::uint64_t index = head.number(file_.offset_size);
    head.check_sum();
    if (file_.is_nowhere(index)) return;
    const auto log_of = [](std::uint64_t number) { return static_cast<std::uint64_t>(std::bit_width(number)) - 1; };
    if (bits > 64 || !std::has_single_bit(array.shortest) || !std::has_single_bit(pointers) || page_bits > 40 ||
        log_of(array.shortest) + 2 * log_of(pointers) > bits + 1) {
      fail("its array of chunks has odd blocks");
    }
    array.offset_bytes = (bits + 7) / 8;
    array.page = std::uint64_t{1} << page_bits;
    array.direct_tables = 2 * log_of(pointers);
    Reader block = file_.visit(index);
    block.expect("EAIB", "an index of chunks");
    block.skip(2 + file_.offset_size);
    array.entries = block.take(array.first * entry_);
    for (std::uint64_t i = 0; i < 2 * (pointers - 1); ++i) array.blocks.push_back(block.number(file_.offset_size));
    const std::uint64_t tables = 1 + bits - log_of(array.shortest);
    for (std::uint64_t i = array.direct_tables; i < tables; ++i)
      array.tables.push_back(block.number(file_.offset_size));
    block.check_sum();
    read_entries(array);
  }

  void read_entries(const GrowingArray& array) {
    std::uint64_t table = 0, begin = 0, first_block = 0;  // the first entry of the table, and its first block
    std::uint64_t current_table = kNowhere, current_block = kNowhere, current_page = kNowhere;
    std::vector<std::uint64_t> addresses;
    std::string_view bits, entries;
    for_each_place(true, [&](std::uint64_t number, std::vector<std::uint64_t> place) {
      if (number < array.first) return add(entry(array.entries, number), std::move(place));
      number -= array.first;
      const auto blocks_of = [](std::uint64_t k) { return std::uint64_t{1} << k / 2; };
      const auto length_of = [&](std::uint64_t k) { return array.shortest << (k + 1) / 2; };
      while (number - begin >= blocks_of(table) * length_of(table)) {
        begin += blocks_of(table) * length_of(table);
        first_block += blocks_of(table);
        ++table;
      }
      const std::uint64_t length = length_of(table), block = (number - begin) / length, pages = length / array.page;
      if (table != current_table) {
        current_table = table;
        current_block = kNowhere;
        bits = {};
        addresses = addresses_of(array, table, first_block, blocks_of(table), pages, bits);
      }
      if (addresses.empty() || file_.is_nowhere(addresses[block])) return;
      const std::uint64_t in_block = (number - begin) % length;
      if (block != current_block) {
        current_block = block;
        current_page = kNowhere;
        Reader reader = file_.visit(addresses[block]);
        reader.expect("EADB", "a block of chunks");
        reader.skip(2 + file_.offset_size + array.offset_bytes);
        entries = pages > 1 ? std::string_view() : reader.take(length * entry_);
        reader.check_sum();
      }
      if (pages <= 1) return add(entry(entries, in_block), std::move(place));
      const std::uint64_t its_page = in_block / array.page;
      if (!bit(bits, block * pages + its_page)) return;
      if (its_page != current_page) {
        current_page = its_page;
        const std::uint64_t before = 4 + 2 + file_.offset_size + array.offset_bytes + 4;
        entries = page(addresses[block] + before + its_page * (array.page * entry_ + 4), array.page);
      }
      add(entry(entries, in_block % array.page), std::move(place));
    });
  }

  // The blocks of a table; none, if it was never written. `bits` get which of their pages were.
  std::vector<std::uint64_t> addresses_of(const GrowingArray& array, std::uint64_t table, std::uint64_t first_block,
                                          std::uint64_t count, std::uint64_t pages, std::string_view& bits) {
    if (table < array.direct_tables) {
      if (first_block + count > array.blocks.size() || pages > 1) fail("its array of chunks has odd blocks");
      const auto begin = array.blocks.begin() + static_cast<std::ptrdiff_t>(first_block);
      return {begin, begin + static_cast<std::ptrdiff_t>(count)};
    }
    if (table - array.direct_tables >= array.tables.size()) fail("its array of chunks is too short");
    const std::uint64_t address = array.tables[table - array.direct_tables];
    if (file_.is_nowhere(address)) return {};
    Reader reader = file_.visit(address);
    reader.expect("EASB", "a table of chunks");
    reader.skip(2 + file_.offset_size + array.offset_bytes);
    if (pages > 1) bits = reader.take(count * parts_of(pages, 8));
    std::vector<std::uint64_t> addresses;
    for (std::uint64_t i = 0; i < count; ++i) addresses.push_back(reader.number(file_.offset_size));
    reader.check_sum();
    return addresses;
  }

  // --- The later tree ---

  void read_later_tree(std::uint64_t address) {
    if (file_.is_nowhere(address)) return;
    constexpr std::uint8_t kPlain = 10, kFiltered = 11;
    Reader head = file_.reader(address);
    head.skip(5);
    const bool is_filtered = head.byte() == kFiltered;
    for_each_record(file_, address, is_filtered ? kFiltered : kPlain, [&](Reader& record) {
      const std::size_t places = 8 * rank();
      if (record.left() < places) fail("its index of chunks has odd entries");
      set_entry(record.left() - places, is_filtered);
      Reader entry(file_.source, record.take(entry_));
      std::vector<std::uint64_t> place;
      for (std::size_t axis = 0; axis < rank(); ++axis) {
        const std::uint64_t number = record.number(8);
        if (number > (std::uint64_t{1} << 62) / grid_.chunk[axis]) fail("a chunk lies outside of it");
        place.push_back(number * grid_.chunk[axis]);
      }
      add(entry, std::move(place));
    });
  }

  File& file_;
  const std::string& dataset_;
  const Grid& grid_;
  std::size_t entry_ = 0, size_bytes_ = 0;
  bool is_filtered_ = false;
  std::vector<Chunk> chunks_;
};

}  // namespace

std::vector<Chunk> chunks_of_tree(File& file, const std::string& dataset, const Grid& grid, std::uint64_t address) {
  return ChunkIndex(file, dataset, grid).of_tree(address);
}

std::vector<Chunk> chunks_of_index(File& file, const std::string& dataset, const Grid& grid, Reader& layout,
                                   std::uint8_t flags) {
  return ChunkIndex(file, dataset, grid).of_index(layout, flags);
}

}  // namespace capstan::io::hdf5
