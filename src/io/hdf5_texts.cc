#include "src/io/hdf5_texts.h"

#include <algorithm>
#include <optional>

#include "src/io/hdf5_bytes.h"

namespace capstan::io::hdf5 {

namespace {

constexpr std::uint64_t padded(std::uint64_t size) { return (size + 7) / 8 * 8; }

struct Attribute {
  std::string_view name, type, space, data;
};

// Nothing for one whose type is elsewhere, which those of texts do not.
std::optional<Attribute> parse(const File& file, std::string_view message) {
  Reader reader(file.source, message);
  const std::uint8_t version = reader.byte(), flags = reader.byte();
  if (version < 1 || version > 3) file.fail("an attribute has version " + std::to_string(version));
  if (version > 1 && flags != 0) return {};
  std::uint64_t sizes[3];
  for (std::uint64_t& size : sizes) size = reader.number(2);
  if (version == 3) reader.skip(1);
  Attribute attribute;
  std::string_view* const parts[] = {&attribute.name, &attribute.type, &attribute.space};
  for (int i = 0; i < 3; ++i) {
    *parts[i] = reader.take(sizes[i]);
    if (version == 1) reader.skip(padded(sizes[i]) - sizes[i]);
  }
  attribute.name = attribute.name.substr(0, attribute.name.find('\0'));
  attribute.data = reader.take(reader.left());
  return attribute;
}

// How many elements there are; nothing for more than one axis.
std::optional<std::uint64_t> count_of(const File& file, std::string_view space) {
  Reader reader(file.source, space);
  const std::uint8_t version = reader.byte(), rank = reader.byte();
  reader.skip(1);
  if ((version != 1 && version != 2) || rank > 1) return {};
  if (version == 1) {
    reader.skip(5);
  } else if (reader.byte() == 2) {
    return 0;
  }
  return rank == 0 ? 1 : reader.number(file.length_size);
}

}  // namespace

const TextAttributes::Heap& TextAttributes::heap(std::uint64_t address) {
  const auto [known, is_new] = heaps_.emplace(address, Heap());
  if (!is_new) return known->second;
  Reader head = file_.reader(address);
  head.expect("GCOL", "a heap of texts");
  head.skip(4);
  const std::uint64_t size = head.number(file_.length_size);
  // Heaps do not lie over each other.
  scanned_ += size;
  if (size < head.at() || scanned_ > file_.size()) {
    file_.fail("a heap of texts has " + std::to_string(size) + " bytes");
  }
  Reader reader(file_.source, file_.at(address, size));
  reader.skip(head.at());
  while (reader.left() >= 8 + file_.length_size) {
    const std::uint64_t number = reader.number(2);
    reader.skip(6);
    const std::uint64_t length = reader.number(file_.length_size);
    if (number == 0) break;  // what is free
    known->second.emplace(number, reader.take(length));
    reader.skip(std::min<std::uint64_t>((8 - length % 8) % 8, reader.left()));
  }
  return known->second;
}

std::string TextAttributes::take(std::string_view text) {
  taken_ += text.size() + 1;
  if (taken_ > file_.size()) file_.fail("the texts of its attributes would take more memory than the file has");
  return std::string(text.substr(0, text.find('\0')));
}

void TextAttributes::add(const std::string& path, std::string_view message,
                         std::map<std::string, std::vector<std::string>>& texts) {
  const std::optional<Attribute> attribute = parse(file_, message);
  const std::optional<std::uint64_t> count = attribute ? count_of(file_, attribute->space) : std::nullopt;
  if (!count) return;
  Reader type(file_.source, attribute->type);
  const int kind = type.byte() & 15;
  const std::uint64_t bits = type.number(3), size = type.number(4);
  const bool has_any_length = kind == 9 && (bits & 15) == 1;
  if (kind != 3 && !has_any_length) return;
  if (has_any_length && size != 8 + file_.offset_size)
    file_.fail("an attribute has texts of " + std::to_string(size) + " bytes");
  if (size == 0 || *count > attribute->data.size() / size) file_.fail("the texts of an attribute are cut off");
  std::vector<std::string> list;
  Reader data(file_.source, attribute->data);
  for (std::uint64_t i = 0; i < *count; ++i) {
    if (!has_any_length) {
      list.push_back(take(data.take(size)));
      continue;
    }
    const std::uint64_t length = data.number(4), address = data.number(file_.offset_size), number = data.number(4);
    if (length == 0) {
      list.push_back(take({}));
      continue;
    }
    const Heap& objects = heap(address);
    const auto found = objects.find(number);
    if (found == objects.end() || found->second.size() < length) {
      file_.fail("a text of an attribute is not in its heap");
    }
    list.push_back(take(found->second.substr(0, length)));
  }
  texts.emplace(path + "@" + std::string(attribute->name), std::move(list));
}

}  // namespace capstan::io::hdf5
