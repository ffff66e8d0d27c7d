#include "src/io/hdf5_file.h"

#include <optional>

#include "src/core/utf8.h"
#include "src/io/hdf5_bytes.h"
#include "src/io/hdf5_dataset.h"
#include "src/io/hdf5_heap.h"
#include "src/io/hdf5_links.h"
#include "src/io/hdf5_texts.h"
#include "src/io/hdf5_tree.h"

namespace capstan::io {

namespace hdf5 {

namespace {

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr int kDeepest = 64;  // groups within groups

class FileReader {
 public:
  FileReader(const ByteSource& source, const Content& content, std::shared_ptr<const void> owner, Hdf5Texts* texts)
      : file_{source, content, std::move(owner)}, attributes_(file_), texts_(texts) {}

  std::map<std::string, Tensor> read() {
    // Beside them their elements are there once more, twice as long where tensors lack their type.
    file_.left_values = 16 << 20;
    file_.left_stored = file_.size();
    read_object(superblock(), "", 0);
    links_.follow(file_, tensors_);
    return std::move(tensors_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { file_.fail(problem); }
  std::uint64_t offset(Reader& reader) const { return reader.number(file_.offset_size); }
  std::uint64_t length(Reader& reader) const { return reader.number(file_.length_size); }

  // The address of the root group.
  std::uint64_t superblock() {
    // It may be after bytes of the user's.
    std::uint64_t begin = 0;
    while (begin + 8 <= file_.size() && file_.at(begin, 8) != kSignature) begin = begin == 0 ? 512 : 2 * begin;
    if (begin + 8 > file_.size()) fail("it has no signature of HDF5");
    Reader reader = file_.reader(begin);
    reader.skip(8);
    const std::uint8_t version = reader.byte();
    if (version > 3) fail("superblocks of version " + std::to_string(version) + " are not supported");
    if (version < 2) reader.skip(4);
    file_.offset_size = reader.byte();
    file_.length_size = reader.byte();
    for (const std::size_t size : {file_.offset_size, file_.length_size}) {
      if (size != 2 && size != 4 && size != 8)
        fail("addresses of " + std::to_string(size) + " bytes are not supported");
    }
    reader.skip(version >= 2 ? 1 : version == 1 ? 13 : 9);
    // Addresses are counted from the superblock on, whatever it says, as it may be after other bytes.
    offset(reader);
    file_.base = begin;
    offset(reader);
    const std::uint64_t end = offset(reader);
    if (end > file_.size()) {
      fail("it should have " + std::to_string(end) + " bytes, but has " + std::to_string(file_.size()));
    }
    if (version < 2) {
      offset(reader);
      offset(reader);  // of the root's name
      return offset(reader);
    }
    const std::uint64_t root = offset(reader);
    reader.check_sum();
    return root;
  }

  // --- Objects ---

  std::vector<Message> header(std::uint64_t address) {
    Reader reader = file_.visit(address), start = reader;
    std::vector<Message> messages;
    if (start.left() >= 4 && start.take(4) == "OHDR") {
      header_2(reader, messages);
    } else {
      header_1(reader, messages);
    }
    return messages;
  }

  void header_1(Reader& reader, std::vector<Message>& messages) {
    if (const std::uint8_t version = reader.byte(); version != 1) {
      fail("object headers of version " + std::to_string(version) + " are not supported");
    }
    reader.skip(1);
    const std::uint64_t count = reader.number(2);
    reader.skip(4);
    const std::uint64_t size = reader.number(4);
    reader.skip(4);
    std::vector<std::string_view> blocks = {reader.take(size)};
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      Reader block(file_.source, blocks[b]);
      while (block.left() >= 8 && messages.size() < count) {
        const auto type = static_cast<std::uint16_t>(block.number(2));
        const std::uint64_t bytes = block.number(2);
        const std::uint8_t flags = block.byte();
        block.skip(3);
        add_message(type, flags, block.take(bytes), messages, blocks, false);
      }
    }
  }

  void header_2(Reader& reader, std::vector<Message>& messages) {
    reader.skip(4);
    if (const std::uint8_t version = reader.byte(); version != 2) {
      fail("object headers of version " + std::to_string(version) + " are not supported");
    }
    const std::uint8_t flags = reader.byte();
    if ((flags & 0x20) != 0) reader.skip(16);
    if ((flags & 0x10) != 0) reader.skip(4);
    const std::uint64_t size = reader.number(std::size_t{1} << (flags & 3));
    const std::string_view first = reader.take(size);
    reader.check_sum();
    std::vector<std::string_view> blocks = {first};
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      Reader block(file_.source, blocks[b]);
      const std::size_t head = (flags & 4) != 0 ? 6 : 4;
      while (block.left() >= head) {
        const std::uint16_t type = block.byte();
        const std::uint64_t bytes = block.number(2);
        const std::uint8_t its_flags = block.byte();
        block.skip(head - 4);
        add_message(type, its_flags, block.take(bytes), messages, blocks, true);
      }
    }
  }

  // A block that a message continues in is one more.
  void add_message(std::uint16_t type, std::uint8_t flags, std::string_view bytes, std::vector<Message>& messages,
                   std::vector<std::string_view>& blocks, bool is_new_form) {
    messages.push_back({type, bytes});
    if ((flags & 2) != 0 && type != 0) fail("a message of a header stands elsewhere, which is not supported");
    if (type != kContinuation) return;
    Reader reader(file_.source, bytes);
    const std::uint64_t address = offset(reader);
    std::string_view block = file_.at(address, length(reader));
    file_.visit(address);
    if (is_new_form) {
      if (block.size() < 8 || !block.starts_with("OCHK")) fail("a header goes on at no block of headers");
      Reader sum(file_.source, block);
      sum.skip(block.size() - 4);
      sum.check_sum();
      block = block.substr(4, block.size() - 8);
    }
    blocks.push_back(block);
  }

  void read_object(std::uint64_t address, const std::string& path, int depth) {
    if (depth > kDeepest) fail("groups stand in each other more than " + std::to_string(kDeepest) + " deep");
    // A dataset may have several names.
    if (const auto known = datasets_.find(address); known != datasets_.end()) {
      tensors_.emplace(path, known->second);
      return;
    }
    const std::vector<Message> messages = header(address);
    bool is_group = false;
    for (const Message& message : messages) {
      if (message.type == kSymbolTable) {
        is_group = true;
        read_symbol_table(message.bytes, path, depth);
      } else if (message.type == kLinkInfo) {
        is_group = true;
        read_links(message.bytes, path, depth);
      } else if (message.type == kLink) {
        is_group = true;
        read_link(message.bytes, path, depth);
      }
    }
    if (is_group) {
      links_.add_group(path);
      return read_texts(path, messages);
    }
    if (path.empty()) fail("the root is no group");
    const Tensor tensor = read_dataset(file_, path, messages);
    datasets_.emplace(address, tensor);
    tensors_.emplace(path, tensor);
  }

  void read_texts(const std::string& path, const std::vector<Message>& messages) {
    if (texts_ == nullptr) return;
    for (const Message& message : messages) {
      if (message.type == kAttribute) attributes_.add(path, message.bytes, *texts_);
    }
  }

  std::string child_path(const std::string& path, std::string_view name) const {
    if (name.empty() || !utf8::is_valid(name)) fail("a link has no name, or one that is no UTF-8");
    const std::string child = path.empty() ? std::string(name) : path + "/" + std::string(name);
    if (tensors_.contains(child)) fail("two objects are called " + in_quotes(child));
    return child;
  }
  void read_child(const std::string& path, std::string_view name, std::uint64_t address, int depth) {
    read_object(address, child_path(path, name), depth + 1);
  }
  void add_soft_link(const std::string& path, std::string_view name, std::string_view target) {
    if (!links_.add(path, child_path(path, name), target)) fail("two objects are called " + in_quotes(name));
  }

  // --- Groups as symbol tables ---

  void read_symbol_table(std::string_view bytes, const std::string& path, int depth) {
    Reader reader(file_.source, bytes);
    const std::uint64_t tree = offset(reader), heap = offset(reader);
    Reader head = file_.visit(heap);
    head.expect("HEAP", "the heap of a group");
    head.skip(4);
    const std::uint64_t size = length(head);
    length(head);
    const std::string_view names = file_.at(offset(head), size);
    read_tree(tree, -1, names, path, depth);
  }

  // Levels fall towards the leaves, so the depth is bounded by the root's level.
  void read_tree(std::uint64_t address, int expected_level, std::string_view names, const std::string& path,
                 int depth) {
    Reader node = file_.visit(address);
    node.expect("TREE", "a node of a tree");
    if (node.byte() != 0) fail("a tree of a group is one of chunks");
    const int level = node.byte();
    if (level > 32 || (expected_level >= 0 && level != expected_level)) {
      fail("a node of a tree has level " + std::to_string(level));
    }
    const std::uint64_t count = node.number(2);
    node.skip(2 * file_.offset_size);
    for (std::uint64_t i = 0; i < count; ++i) {
      length(node);
      const std::uint64_t child = offset(node);
      if (level > 0) {
        read_tree(child, level - 1, names, path, depth);
      } else {
        read_symbols(child, names, path, depth);
      }
    }
  }

  void read_symbols(std::uint64_t address, std::string_view names, const std::string& path, int depth) {
    Reader node = file_.visit(address);
    node.expect("SNOD", "a node of names");
    node.skip(2);
    const std::uint64_t count = node.number(2);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t name = offset(node), object = offset(node);
      const std::uint64_t cache = node.number(4);
      node.skip(4);
      const std::uint64_t target = node.number(4);  // of a soft link
      node.skip(12);
      if (cache == 2) {
        add_soft_link(path, text_in(names, name), text_in(names, target));
      } else {
        read_child(path, text_in(names, name), object, depth);
      }
    }
  }

  std::string_view text_in(std::string_view names, std::uint64_t begin) const {
    if (begin >= names.size()) fail("a name lies beyond its heap");
    const std::size_t end = names.find('\0', begin);
    if (end == std::string_view::npos) fail("a name does not end within its heap");
    return names.substr(begin, end - begin);
  }

  // --- Groups as links ---

  // Many links are in a heap, and a tree says where.
  void read_links(std::string_view bytes, const std::string& path, int depth) {
    Reader reader(file_.source, bytes);
    reader.skip(1);
    if ((reader.byte() & 1) != 0) reader.skip(8);
    const std::uint64_t heap_address = offset(reader), tree = offset(reader);
    if (file_.is_nowhere(heap_address)) return;
    Heap heap(file_, heap_address);
    constexpr std::uint8_t kLinksByName = 5;
    for_each_record(file_, tree, kLinksByName, [&](Reader& record) {
      record.skip(4);  // the hash of the name
      read_link(heap.object(record.take(record.left())), path, depth);
    });
  }

  void read_link(std::string_view bytes, const std::string& path, int depth) {
    Reader reader(file_.source, bytes);
    if (const std::uint8_t version = reader.byte(); version != 1) {
      fail("links of version " + std::to_string(version) + " are not supported");
    }
    const std::uint8_t flags = reader.byte();
    const std::uint8_t type = (flags & 8) != 0 ? reader.byte() : 0;
    if ((flags & 4) != 0) reader.skip(8);
    if ((flags & 16) != 0) reader.skip(1);
    const std::string_view name = reader.take(reader.number(std::size_t{1} << (flags & 3)));
    if (type == 1) return add_soft_link(path, name, reader.take(reader.number(2)));
    if (type != 0) fail("the link " + in_quotes(name) + " leads into another file, which is not supported");
    read_child(path, name, offset(reader), depth);
  }

  File file_;
  std::map<std::string, Tensor> tensors_;
  std::map<std::uint64_t, Tensor> datasets_;  // by their addresses
  SoftLinks links_;
  TextAttributes attributes_;
  Hdf5Texts* texts_;
};

}  // namespace

}  // namespace hdf5

std::map<std::string, Tensor> read_hdf5(const ByteSource& source, std::span<const std::byte> bytes,
                                        std::shared_ptr<const void> owner, Hdf5Texts* texts) {
  const hdf5::Content content({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return hdf5::FileReader(source, content, std::move(owner), texts).read();
}

std::map<std::string, Tensor> read_hdf5(ByteSource& source, std::span<std::byte> memory, Hdf5Texts* texts) {
  const hdf5::Content content(source, memory);
  return hdf5::FileReader(source, content, nullptr, texts).read();
}

}  // namespace capstan::io
