#include "src/io/hdf5_writer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/error.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/io/file_sink.h"
#include "src/io/hdf5_bytes.h"
#include "src/io/tensor_list.h"

namespace capstan::io {
namespace {

using namespace std::string_literals;
using hdf5::kNowhere;

constexpr std::size_t kSuperblock = 96;
constexpr std::size_t kLeafEntries = 8, kChildren = 32;  // twice the numbers that the superblock states
constexpr std::size_t kHeap = 4096;                      // the least that a collection of texts takes
constexpr std::size_t kMostOfList = 64512;               // bytes of a list in an attribute: those of Keras

std::string little_endian(std::uint64_t number, std::size_t size) {
  std::string bytes(size, '\0');
  std::memcpy(bytes.data(), &number, size);
  return bytes;
}
std::string u16(std::uint64_t number) { return little_endian(number, 2); }
std::string u32(std::uint64_t number) { return little_endian(number, 4); }
std::string u64(std::uint64_t number) { return little_endian(number, 8); }

std::string padded(std::string bytes, std::size_t multiple = 8) {
  bytes.resize((bytes.size() + multiple - 1) / multiple * multiple);
  return bytes;
}

// A message of an object header.
std::string message(std::uint16_t type, std::string body) {
  body = padded(std::move(body));
  return u16(type) + u16(body.size()) + std::string(4, '\0') + body;
}

std::string object_header(const std::vector<std::string>& messages) {
  std::string all;
  std::size_t count = 0;
  for (const std::string& one : messages) {
    all += one;
    count += one.empty() ? 0 : 1;
  }
  return "\1\0"s + u16(count) + u32(1) + u32(all.size()) + u32(0) + all;
}

std::string integer_type(std::uint64_t size, bool is_signed) {
  return "\x10"s + (is_signed ? "\x8\0\0"s : "\0\0\0"s) + u32(size) + u16(0) + u16(8 * size);
}

std::string type_of(DType dtype);

// A record of two floating numbers, as h5py writes complex ones.
std::string complex_type(DType part) {
  const std::uint64_t size = size_of(part);
  std::string type = "\x16\x02\0\0"s + u32(2 * size);
  for (std::uint64_t i = 0; i < 2; ++i) {
    type += padded(i == 0 ? "r\0"s : "i\0"s) + u32(i * size) + std::string(28, '\0') + type_of(part);
  }
  return type;
}

std::string type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "\x11\x20\x1f\0"s + u32(4) + u16(0) + u16(32) + "\x17\x08\x00\x17"s + u32(127);
    case DType::kFloat64:
      return "\x11\x20\x3f\0"s + u32(8) + u16(0) + u16(64) + "\x34\x0b\x00\x34"s + u32(1023);
    case DType::kInt32:
    case DType::kInt64:
      return integer_type(size_of(dtype), true);
    case DType::kUInt8:
      return integer_type(1, false);
    case DType::kBool:
      return "\x18\x02\0\0"s + u32(1) + integer_type(1, true) + padded("FALSE\0"s) + padded("TRUE\0"s) + "\0\1"s;
    case DType::kBFloat16:
      return "\x15\0\0\0"s + u32(2);
    case DType::kComplex64:
      return complex_type(DType::kFloat32);
    case DType::kComplex128:
      return complex_type(DType::kFloat64);
  }
  return {};
}

std::string attribute(std::string name, const std::string& type, const std::string& space, const std::string& value) {
  name += '\0';
  return message(0xc, "\1\0"s + u16(name.size()) + u16(type.size()) + u16(space.size()) + padded(name) + padded(type) +
                          space + value);
}

// Texts, filled up to one length with zeros.
std::string list_attribute(const std::string& name, std::span<const std::string> list, std::size_t length) {
  std::string value;
  for (const std::string& text : list) value += text + std::string(length - text.size(), '\0');
  return attribute(name, "\x13\1\0\0"s + u32(length), "\1\1\0\0\0\0\0\0"s + u64(list.size()), value);
}

// A list in as many attributes as it takes.
std::vector<std::string> list_attributes(const std::string& writer, const std::string& name,
                                         std::span<const std::string> list) {
  std::size_t length = 1;
  for (const std::string& text : list) length = std::max(length, text.size());
  CAPSTAN_CHECK(length <= kMostOfList, ValueError, writer, ": a text of ", length, " bytes in ", in_quotes(name),
                " is more than a list can have, ", kMostOfList);
  const std::size_t each = kMostOfList / length;
  if (list.size() <= each) return {list_attribute(name, list, length)};
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < list.size(); begin += each) {
    all.push_back(list_attribute(name + std::to_string(all.size()),
                                 list.subspan(begin, std::min(each, list.size() - begin)), length));
  }
  return all;
}

// A group, or a dataset.
struct Node {
  const Tensor* tensor = nullptr;
  std::map<std::string, Node> children = {};
  std::vector<std::string> attributes = {};  // of a group, as messages
};

// Everything before the elements is made in memory, children before the groups that list them; where elements lie is
// known when all of it is there.
class Writer {
 public:
  Writer(const std::string& writer, const std::map<std::string, Tensor>& tensors, const Hdf5Attributes& attributes) {
    metadata_.resize(kSuperblock);
    for (const auto& [name, given] : tensors) {
      const Tensor& tensor = values_.emplace(name, writable(writer.c_str(), name, given)).first->second;
      Node& node = add(writer, name);
      CAPSTAN_CHECK(node.children.empty(), ValueError, writer, ": ", in_quotes(name),
                    " is a tensor, and another one lies in it");
      node.tensor = &tensor;
    }
    for (const auto& [key, text] : attributes.texts) {
      const std::size_t end = key.rfind('@');
      add(writer, key.substr(0, end)).attributes.push_back(text_attribute(key.substr(end + 1), text));
    }
    for (const auto& [key, list] : attributes.lists) {
      const std::size_t end = key.rfind('@');
      Node& group = add(writer, key.substr(0, end));
      for (std::string& one : list_attributes(writer, key.substr(end + 1), list)) {
        group.attributes.push_back(std::move(one));
      }
    }
  }

  // The file in the pieces of memory in which it lies.
  const std::vector<std::span<const std::byte>>& pieces() {
    const Group root = add_group(root_);
    const std::uint64_t end = metadata_.size() + data_size_;
    const std::string superblock = "\x89HDF\r\n\x1a\n"s + "\0\0\0\0\0\x8\x8\0"s + u16(kLeafEntries / 2) +
                                   u16(kChildren / 2) + u32(0) + u64(0) + u64(kNowhere) + u64(end) + u64(kNowhere) +
                                   u64(0) + u64(root.header) + u32(1) + u32(0) + u64(root.tree) + u64(root.names);
    std::copy(superblock.begin(), superblock.end(), metadata_.begin());
    for (const auto& [place, offset] : elements_) {
      const std::string address = u64(metadata_.size() + offset);
      std::copy(address.begin(), address.end(), metadata_.begin() + static_cast<std::ptrdiff_t>(place));
    }
    pieces_.insert(pieces_.begin(), std::as_bytes(std::span(metadata_)));
    return pieces_;
  }

 private:
  struct Group {
    std::uint64_t header, tree, names;
  };
  // A node of a B-tree, or one of its leaves, with the last of its names.
  struct Branch {
    std::uint64_t address, last_name;
  };

  // The node of this name, with those that it lies in; the root has none.
  Node& add(const std::string& writer, const std::string& name) {
    Node* node = &root_;
    std::size_t begin = 0;
    while (!name.empty() && begin <= name.size()) {
      const std::size_t end = std::min(name.find('/', begin), name.size());
      CAPSTAN_CHECK(end > begin, ValueError, writer, ": the name ", in_quotes(name), " has an empty part");
      node = &node->children[name.substr(begin, end - begin)];
      CAPSTAN_CHECK(node->tensor == nullptr, ValueError, writer, ": ", in_quotes(name.substr(0, end)),
                    " is a tensor, and another one lies in it");
      begin = end + 1;
    }
    return *node;
  }

  std::uint64_t append(const std::string& bytes) {
    const std::uint64_t address = metadata_.size();
    metadata_ += padded(bytes);
    return address;
  }

  Group add_group(const Node& group) {
    std::string names(8, '\0');  // the empty name, which is before all others
    std::vector<Branch> branches;
    std::string leaf;
    std::size_t count = 0;
    std::uint64_t last_name = 0;
    const auto finish_leaf = [&] {
      if (count == 0) return;
      std::string node = "SNOD\1\0"s + u16(count) + leaf;
      node.resize(8 + kLeafEntries * 40);
      branches.push_back({append(node), last_name});
      leaf.clear();
      count = 0;
    };
    for (const auto& [name, child] : group.children) {
      const std::uint64_t address = child.tensor != nullptr ? add_dataset(*child.tensor) : add_group(child).header;
      last_name = names.size();
      names += padded(name + '\0');
      leaf += u64(last_name) + u64(address) + std::string(24, '\0');
      if (++count == kLeafEntries) finish_leaf();
    }
    finish_leaf();
    const std::uint64_t tree = add_tree(std::move(branches));
    const std::uint64_t texts = append(names);
    // The free list is empty, which the specification writes as 1.
    const std::uint64_t heap = append("HEAP\0\0\0\0"s + u64(names.size()) + u64(1) + u64(texts));
    std::vector<std::string> messages = {message(0x11, u64(tree) + u64(heap))};
    messages.insert(messages.end(), group.attributes.begin(), group.attributes.end());
    return {append(object_header(messages)), tree, heap};
  }

  // Level above level, until one node is enough.
  std::uint64_t add_tree(std::vector<Branch> branches) {
    for (int level = 0;; ++level) {
      std::vector<Branch> parents;
      std::uint64_t before = 0;
      const std::size_t nodes = std::max<std::size_t>(1, (branches.size() + kChildren - 1) / kChildren);
      const std::uint64_t first = metadata_.size();
      constexpr std::size_t kNodeSize = 24 + kChildren * 8 + (kChildren + 1) * 8;
      for (std::size_t i = 0; i < nodes; ++i) {
        const std::size_t begin = i * kChildren, end = std::min(branches.size(), begin + kChildren);
        std::string node = "TREE\0"s + static_cast<char>(level) + u16(end - begin) +
                           u64(i == 0 ? kNowhere : first + (i - 1) * kNodeSize) +
                           u64(i + 1 == nodes ? kNowhere : first + (i + 1) * kNodeSize) + u64(before);
        for (std::size_t child = begin; child < end; ++child) {
          before = branches[child].last_name;
          node += u64(branches[child].address) + u64(before);
        }
        node.resize(kNodeSize);
        parents.push_back({append(node), before});
      }
      if (nodes == 1) return parents.front().address;
      branches = std::move(parents);
    }
  }

  std::uint64_t add_dataset(const Tensor& tensor) {
    const std::span<const std::byte> bytes = bytes_of(tensor);
    std::string space = "\1"s + static_cast<char>(tensor.rank()) + "\0\0\0\0\0\0"s;
    for (int i = 0; i < tensor.rank(); ++i) space += u64(static_cast<std::uint64_t>(tensor.shape()[i]));
    const std::string dtype = tensor.dtype() == DType::kBFloat16 ? text_attribute("dtype", "bfloat16") : "";
    const std::string header =
        object_header({message(1, space), message(3, type_of(tensor.dtype())), message(5, "\2\2\2\1\0\0\0\0"s),
                       message(8, "\3\1"s + u64(kNowhere) + u64(bytes.size())), dtype});
    const std::uint64_t address = append(header);
    if (!bytes.empty()) {
      // The address in the layout, which is the last message but for the attribute.
      elements_.emplace_back(address + header.size() - dtype.size() - 24 + 2, data_size_);
      add_elements(bytes);
    }
    return address;
  }

  void add_elements(std::span<const std::byte> bytes) {
    static constexpr std::byte kZeros[8] = {};
    pieces_.push_back(bytes);
    const std::size_t rest = (8 - bytes.size() % 8) % 8;
    if (rest > 0) pieces_.emplace_back(kZeros, rest);
    data_size_ += bytes.size() + rest;
  }

  // A text of any length, which lies in a collection of its own; equal ones share it.
  std::string text_attribute(const std::string& name, const std::string& text) {
    const auto [found, is_new] = texts_.emplace(text, 0);
    if (is_new) {
      const std::string object = u16(1) + u16(0) + u32(0) + u64(text.size()) + padded(text);
      const std::size_t size = std::max(kHeap, 32 + object.size());
      std::string heap = "GCOL\1\0\0\0"s + u64(size) + object;
      heap += u16(0) + u16(0) + u32(0) + u64(size - heap.size());
      heap.resize(size);
      found->second = append(heap);
    }
    const std::string type = "\x19\1\1\0"s + u32(16) + "\x10\0\0\0"s + u32(1) + u16(0) + u16(8);
    return attribute(name, type, "\1\0\0\0\0\0\0\0"s, u32(text.size()) + u64(found->second) + u32(1));
  }

  Node root_;
  std::map<std::string, Tensor> values_;  // dense
  std::string metadata_;
  std::vector<std::span<const std::byte>> pieces_;
  std::uint64_t data_size_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> elements_;  // where their address is, and their offset
  std::map<std::string, std::uint64_t> texts_;                     // their collections
};

}  // namespace

void write_hdf5(const std::string& writer, const std::string& path, const std::map<std::string, Tensor>& tensors,
                const Hdf5Attributes& attributes) {
  write_file(writer, path, Writer(writer, tensors, attributes).pieces());
}

std::vector<std::byte> hdf5_bytes(const std::string& writer, const std::map<std::string, Tensor>& tensors) {
  Writer file(writer, tensors, {});
  const std::vector<std::span<const std::byte>>& pieces = file.pieces();
  std::size_t size = 0;
  for (const auto piece : pieces) size += piece.size();
  std::vector<std::byte> bytes;
  bytes.reserve(size);
  for (const auto piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

}  // namespace capstan::io
