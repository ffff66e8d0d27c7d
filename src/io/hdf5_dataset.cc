#include "src/io/hdf5_dataset.h"

#include <zlib.h>

#include <cstring>
#include <algorithm>
#include <array>
#include <optional>

#include "src/io/hdf5_chunks.h"
#include "src/io/raw_array.h"
#include "src/io/tensor_list.h"

namespace capstan::io::hdf5 {

namespace {

using namespace std::string_literals;

struct Type {
  std::string_view name;  // of tensor_list.h
  std::uint64_t size = 0;
  bool is_big_endian = false;
};

struct Filter {
  std::uint64_t id;
  bool is_optional;
};

// Bytes of a file that can be read at any place.
class PartOfFile final : public ByteSource {
 public:
  PartOfFile(ByteSource& file, std::uint64_t begin, std::uint64_t size)
      : ByteSource(file.reader(), file.name()), file_(file), place_(begin), left_(size) {}

  std::size_t read(std::byte* out, std::size_t size) override {
    size = std::min<std::uint64_t>(size, left_);
    if (!file_.read_at(place_, out, size)) fail("the file got shorter", kFetchAgain);
    place_ += size;
    left_ -= size;
    return size;
  }
  std::uint64_t most_bytes() const override { return left_; }

 private:
  ByteSource& file_;
  std::uint64_t place_, left_;
};

class DatasetReader {
 public:
  DatasetReader(File& file, const std::string& name, const std::vector<Message>& messages)
      : file_(file), name_(name), messages_(messages) {}

  Tensor read() {
    if (find(kExternalFiles) != nullptr) fail("its data are in another file, which is not read");
    read_dataspace(needed(kDataspace, "dataspace"));
    read_type(needed(kDatatype, "datatype"));
    if (const Message* filters = find(kFilters)) read_filters(filters->bytes);
    const std::optional<std::int64_t> count = checked_count(shape_);
    if (!count || static_cast<std::uint64_t>(*count) > (std::uint64_t{1} << 62) / type_.size) fail("it is too large");
    size_ = static_cast<std::uint64_t>(*count) * type_.size;
    Reader layout(file_.source, needed(kLayout, "layout"));
    const std::uint8_t version = layout.byte();
    if (version != 3 && version != 4) fail("its layout of version " + std::to_string(version) + " is not supported");
    switch (const std::uint8_t kind = layout.byte()) {
      case 0:
        return tensor(stored(layout.take(layout.number(2))));
      case 1: {
        const std::uint64_t address = layout.number(file_.offset_size), size = layout.number(file_.length_size);
        if (file_.is_nowhere(address)) return tensor(filled());
        if (size != size_) fail("its layout has " + std::to_string(size) + " bytes, not " + std::to_string(size_));
        return contiguous(address);
      }
      case 2:
        return tensor(from_chunks(layout, version));
      default:
        fail("its layout of kind " + std::to_string(kind) + " is not supported");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    file_.fail("dataset " + in_quotes(name_) + ": " + problem);
  }

  const Message* find(std::uint16_t type) const {
    const auto found =
        std::find_if(messages_.begin(), messages_.end(), [&](const Message& one) { return one.type == type; });
    return found == messages_.end() ? nullptr : &*found;
  }
  std::string_view needed(std::uint16_t type, const char* what) const {
    const Message* const message = find(type);
    if (message == nullptr) fail(std::string("it has no ") + what);
    return message->bytes;
  }

  // --- What it is ---

  void read_dataspace(std::string_view bytes) {
    Reader reader(file_.source, bytes);
    const std::uint8_t version = reader.byte(), rank = reader.byte(), flags = reader.byte();
    if (version != 1 && version != 2) fail("its dataspace of version " + std::to_string(version) + " is not supported");
    if (version == 1) {
      reader.skip(5);
    } else if (reader.byte() == 2) {
      fail("it has no elements, not even none of them");
    }
    if (rank > kMaxRank) fail("it has " + std::to_string(rank) + " axes, more than " + std::to_string(kMaxRank));
    for (int i = 0; i < rank; ++i) shape_.push_back(static_cast<std::int64_t>(reader.number(file_.length_size)));
    grid_.shape.assign(shape_.begin(), shape_.end());
    grid_.most = grid_.shape;
    for (std::size_t i = 0; (flags & 1) != 0 && i < grid_.most.size(); ++i) {
      grid_.most[i] = reader.number(file_.length_size);
      if (file_.length_size < 8 && grid_.most[i] == (std::uint64_t{1} << 8 * file_.length_size) - 1)
        grid_.most[i] = kNowhere;
      if (grid_.most[i] < grid_.shape[i]) fail("its axes are longer than they may be");
    }
  }

  void read_type(std::string_view bytes) {
    Reader reader(file_.source, bytes);
    const std::uint8_t first = reader.byte(), kind = first & 15, version = first >> 4;
    const std::uint64_t bits = reader.number(3);
    type_.size = reader.number(4);
    if (kind == 8) {
      read_truth_values(reader, version, bits);
      return;
    }
    type_.is_big_endian = kind < 2 && (bits & 1) != 0;
    if (kind == 0) {
      read_integer(reader, (bits & 8) != 0);
      return;
    }
    if (kind == 1) {
      read_floating(reader, bits);
      return;
    }
    if (kind == 6) {
      read_complex(reader, version, bits & 0xffff);
      return;
    }
    if (kind == 5 && type_.size == 2 && has_attribute("dtype")) {
      type_.name = "BF16";
      return;
    }
    fail("its datatype of class " + std::to_string(kind) + " is not supported");
  }

  void read_integer(Reader& reader, bool is_signed) {
    struct Integer {
      std::uint64_t size;
      std::string_view with_sign, without_sign;
    };
    static constexpr Integer kFormats[] = {{1, "I8", "U8"}, {2, "I16", "U16"}, {4, "I32", "U32"}, {8, "I64", "U64"}};
    const bool is_whole = reader.number(2) == 0 && reader.number(2) == 8 * type_.size;
    for (const Integer& format : kFormats) {
      if (!is_whole || format.size != type_.size) continue;
      type_.name = is_signed ? format.with_sign : format.without_sign;
      return;
    }
    fail("its integers of " + std::to_string(type_.size) + " bytes are not supported");
  }

  // The formats of IEEE 754 only.
  void read_floating(Reader& reader, std::uint64_t bits) {
    struct Floating {
      std::string_view name;
      std::uint64_t size;
      std::array<std::uint64_t, 6> numbers;  // sign, exponent's place and length, mantissa's place and length, bias
    };
    static constexpr Floating kFormats[] = {
        {"F16", 2, {15, 10, 5, 0, 10, 15}}, {"F32", 4, {31, 23, 8, 0, 23, 127}}, {"F64", 8, {63, 52, 11, 0, 52, 1023}}};
    const bool is_whole = reader.number(2) == 0 && reader.number(2) == 8 * type_.size;
    std::array<std::uint64_t, 6> numbers = {bits >> 8 & 255};
    for (std::size_t i = 1; i < 5; ++i) numbers[i] = reader.byte();
    numbers[5] = reader.number(4);
    for (const Floating& format : kFormats) {
      // Bit 6 of the order of bytes is that of the VAX; bits 4 and 5 say that the highest bit of a mantissa is implied.
      if (is_whole && format.size == type_.size && format.numbers == numbers && (bits & 0x40) == 0 &&
          (bits >> 4 & 3) == 2) {
        type_.name = format.name;
        return;
      }
    }
    fail("its floating numbers are none of IEEE 754 with 16, 32 or 64 bits");
  }

  // A record of two floating numbers, r and i, as h5py writes complex numbers.
  void read_complex(Reader& reader, std::uint8_t version, std::uint64_t members) {
    const std::uint64_t size = type_.size;
    if (members != 2 || (size != 8 && size != 16)) fail("its datatype is a record, which is not supported");
    for (std::uint64_t i = 0; i < 2; ++i) {
      const bool is_named = reader.take(version < 3 ? 8 : 2).starts_with(i == 0 ? "r\0"s : "i\0"s);
      const std::uint64_t place = reader.number(version < 3 ? 4 : 1);
      if (version == 1) reader.skip(28);
      const std::uint8_t kind = reader.byte() & 15;
      const std::uint64_t bits = reader.number(3);
      type_.size = reader.number(4);
      if (!is_named || place != i * size / 2 || kind != 1 || type_.size != size / 2 || (bits & 1) != 0) {
        fail("its datatype is a record, which is not supported");
      }
      read_floating(reader, bits);
    }
    type_.name = size == 8 ? "C64" : "C128";
    type_.size = size;
  }

  // An enumeration of FALSE and TRUE, as h5py writes truth values.
  void read_truth_values(Reader& reader, std::uint8_t version, std::uint64_t members) {
    const std::uint8_t base = reader.byte();
    reader.skip(3);
    const std::uint64_t base_size = reader.number(4);
    reader.skip(4);
    if ((base & 15) != 0 || base_size != 1 || type_.size != 1 || (members & 0xffff) != 2) {
      fail("its enumeration is not that of FALSE and TRUE");
    }
    // Names are padded to eight bytes up to version 2 of the enumeration, whatever that of its integers is.
    const bool is_padded = version < 3;
    for (const std::string_view name : {"FALSE", "TRUE"}) {
      const std::size_t size = is_padded ? 8 : name.size() + 1;
      if (!reader.take(size).starts_with(std::string(name) + '\0'))
        fail("its enumeration is not that of FALSE and TRUE");
    }
    if (reader.byte() != 0 || reader.byte() != 1) fail("its enumeration is not that of FALSE and TRUE");
    type_.name = "BOOL";
  }

  bool has_attribute(std::string_view name) const {
    for (const Message& message : messages_) {
      if (message.type != kAttribute) continue;
      Reader reader(file_.source, message.bytes);
      const std::uint8_t version = reader.byte();
      reader.skip(1);
      const std::uint64_t size = reader.number(2);
      reader.skip(version == 3 ? 5 : 4);
      if (reader.take(size).starts_with(std::string(name) + '\0')) return true;
    }
    return false;
  }

  void read_filters(std::string_view bytes) {
    Reader reader(file_.source, bytes);
    const std::uint8_t version = reader.byte(), count = reader.byte();
    if (version != 1 && version != 2) fail("its filters of version " + std::to_string(version) + " are not supported");
    if (version == 1) reader.skip(6);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = reader.number(2);
      const std::uint64_t name = version == 1 || id >= 256 ? reader.number(2) : 0;
      const std::uint64_t flags = reader.number(2), values = reader.number(2);
      reader.skip(version == 1 ? (name + 7) / 8 * 8 : name);
      reader.skip(4 * values + (version == 1 && values % 2 != 0 ? 4 : 0));
      if (id < 1 || id > 3) fail("its filter " + std::to_string(id) + " is not supported");
      filters_.push_back({id, (flags & 1) != 0});
    }
  }

  // --- Its elements ---

  std::string_view stored(std::string_view bytes) const {
    if (bytes.size() != size_) {
      fail("its layout has " + std::to_string(bytes.size()) + " bytes, not " + std::to_string(size_));
    }
    return bytes;
  }

  void take_memory(std::uint64_t bytes) {
    if (bytes > file_.left_values) fail("it would take more memory than the file has stored");
    file_.left_values -= bytes;
  }

  // What elements are that were never written; empty for zeros.
  std::string_view fill_value() const {
    if (const Message* const message = find(kFillValue)) {
      Reader reader(file_.source, message->bytes);
      const std::uint8_t version = reader.byte();
      const std::uint8_t flags = reader.byte();
      if (version < 3) {
        reader.skip(1);
        if (reader.byte() == 0 && version == 2) return {};
      } else if ((flags & 0x20) == 0) {
        return {};
      }
      return check_fill(reader.take(reader.number(4)));
    }
    if (const Message* const message = find(kOldFillValue)) {
      Reader reader(file_.source, message->bytes);
      return check_fill(reader.take(reader.number(4)));
    }
    return {};
  }
  std::string_view check_fill(std::string_view value) const {
    if (!value.empty() && value.size() != type_.size) fail("its fill value has another size than its elements");
    return value;
  }

  std::string_view filled() {
    take_memory(size_);
    elements_.assign(size_, '\0');
    const std::string_view value = fill_value();
    for (std::size_t at = 0; !value.empty() && at < size_; at += value.size())
      value.copy(elements_.data() + at, value.size());
    return elements_;
  }

  std::string_view from_chunks(Reader& layout, std::uint8_t version) {
    const std::uint8_t flags = version == 3 ? 0 : layout.byte();
    const std::size_t rank = layout.byte();
    if (rank != shape_.size() + 1) fail("its chunks have another number of axes");
    std::size_t length_size = 4;
    std::uint64_t tree = 0;
    if (version == 3) {
      tree = layout.number(file_.offset_size);
    } else {
      length_size = layout.byte();
    }
    if (length_size < 1 || length_size > 8) fail("the lengths of its chunks are of an unknown size");
    for (std::size_t i = 0; i + 1 < rank; ++i) grid_.chunk.push_back(layout.number(length_size));
    if (layout.number(length_size) != type_.size) fail("its chunks have elements of another size");
    check_chunk();
    return joined(version == 3 ? chunks_of_tree(file_, name_, grid_, tree)
                               : chunks_of_index(file_, name_, grid_, layout, flags));
  }

  void check_chunk() {
    grid_.chunk_bytes = type_.size;
    for (const std::uint64_t length : grid_.chunk) {
      if (length == 0 || length > (std::uint64_t{1} << 31) / grid_.chunk_bytes)
        fail("its chunks are empty or larger than 2 GiB");
      grid_.chunk_bytes *= length;
    }
  }

  std::string_view joined(const std::vector<Chunk>& chunks) {
    // Deflated bytes grow at most 1032 times; every chunk lies in the file once.
    std::uint64_t stored = 0;
    for (const Chunk& chunk : chunks) {
      file_.place(chunk.address, chunk.size);
      file_.visit(chunk.address);
      stored += chunk.size;
    }
    file_.left_values += std::min(size_, most_inflated(stored));
    filled();
    for (const Chunk& chunk : chunks) put(chunk);
    return elements_;
  }

  // Copies the rows of a chunk to their places; those beyond the end of an axis are left out.
  void put(const Chunk& chunk) {
    const std::string content = unfiltered(chunk);
    const std::size_t rank = shape_.size();
    for (std::size_t i = 0; i < rank; ++i) {
      if (chunk.place[i] % grid_.chunk[i] != 0 || chunk.place[i] >= static_cast<std::uint64_t>(shape_[i])) {
        fail("a chunk lies outside of it");
      }
    }
    const std::uint64_t row =
        rank == 0
            ? 1
            : std::min(grid_.chunk[rank - 1], static_cast<std::uint64_t>(shape_[rank - 1]) - chunk.place[rank - 1]);
    std::vector<std::uint64_t> index(rank, 0);
    for (;;) {
      std::uint64_t from = 0, to = 0;
      for (std::size_t i = 0; i < rank; ++i) {
        from = from * grid_.chunk[i] + index[i];
        to = to * static_cast<std::uint64_t>(shape_[i]) + chunk.place[i] + index[i];
      }
      std::memcpy(elements_.data() + to * type_.size, content.data() + from * type_.size, row * type_.size);
      std::size_t axis = rank < 2 ? 0 : rank - 1;
      while (axis > 0) {
        const std::size_t i = axis - 1;
        if (++index[i] < grid_.chunk[i] && chunk.place[i] + index[i] < static_cast<std::uint64_t>(shape_[i])) break;
        index[i] = 0;
        --axis;
      }
      if (axis == 0) return;
    }
  }

  std::string unfiltered(const Chunk& chunk) {
    std::string content(file_.at(chunk.address, chunk.size));
    for (std::size_t i = filters_.size(); i-- > 0;) {
      if ((chunk.skipped >> i & 1) != 0) continue;
      content = filters_[i].id == 1   ? inflated(content)
                : filters_[i].id == 2 ? unshuffled(content)
                                      : without_checksum(std::move(content));
    }
    if (content.size() != grid_.chunk_bytes) {
      fail("a chunk has " + std::to_string(content.size()) + " bytes, not " + std::to_string(grid_.chunk_bytes));
    }
    return content;
  }

  std::string inflated(const std::string& content) const {
    if (most_inflated(content.size()) < grid_.chunk_bytes) fail("a chunk cannot have as many bytes as it should");
    // A checksum may be after the elements.
    std::string result(grid_.chunk_bytes + 4, '\0');
    uLongf size = result.size();
    if (uncompress(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(content.data()),
                   content.size()) != Z_OK) {
      fail("a chunk does not inflate, or to more than it should");
    }
    result.resize(size);
    return result;
  }

  // The first bytes of all elements are first, then the second ones.
  std::string unshuffled(const std::string& content) const {
    std::string result = content;
    const std::size_t count = content.size() / type_.size;
    for (std::size_t byte = 0; byte < type_.size; ++byte) {
      for (std::size_t i = 0; i < count; ++i) result[i * type_.size + byte] = content[byte * count + i];
    }
    return result;
  }

  std::string without_checksum(std::string content) const {
    if (content.size() < 4) fail("a chunk is shorter than its checksum");
    std::uint32_t sum = 0;
    std::memcpy(&sum, content.data() + content.size() - 4, 4);
    content.resize(content.size() - 4);
    if (fletcher32(content) != sum) fail("the checksum of a chunk differs");
    return content;
  }

  // Elements after each other, which no others share. They are read to where they stay, or lie in bytes that stay.
  Tensor contiguous(std::uint64_t address) {
    const std::string_view bytes = file_.place(address, size_);
    if (size_ > file_.left_stored) fail("the datasets would have more bytes than the file");
    file_.left_stored -= size_;
    const bool is_swapped = type_.is_big_endian && type_.size > 1;
    if (file_.content.source() == nullptr || is_swapped) return tensor(file_.at(address, size_));
    PartOfFile part(*file_.content.source(), static_cast<std::uint64_t>(bytes.data() - file_.content.bytes().data()),
                    size_);
    const ListedTensor listed{name_, std::string(type_.name), shape_, 0, size_, {}};
    check_listed(part, listed);
    return read_listed(part, listed);
  }

  Tensor tensor(std::string_view bytes) const {
    std::string swapped;
    const bool is_swapped = type_.is_big_endian && type_.size > 1;
    if (is_swapped) {
      swapped = bytes;
      for (std::size_t at = 0; at < swapped.size(); at += type_.size) {
        std::reverse(swapped.data() + at, swapped.data() + at + type_.size);
      }
      bytes = swapped;
    }
    const ListedTensor listed{name_, std::string(type_.name), shape_, 0, bytes.size(), {}};
    const std::unique_ptr<ByteSource> source =
        open_memory(file_.source.reader(), file_.source.name(), std::as_bytes(std::span(bytes)),
                    is_swapped || bytes.data() == elements_.data() ? nullptr : file_.owner);
    check_listed(*source, listed);
    return read_listed(*source, listed);
  }

  File& file_;
  const std::string& name_;
  const std::vector<Message>& messages_;
  std::vector<std::int64_t> shape_;
  Type type_;
  std::uint64_t size_ = 0;
  std::vector<Filter> filters_;
  Grid grid_;
  std::string elements_;
};

}  // namespace

Tensor read_dataset(File& file, const std::string& name, const std::vector<Message>& messages) {
  return DatasetReader(file, name, messages).read();
}

}  // namespace capstan::io::hdf5
