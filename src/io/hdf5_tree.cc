#include "src/io/hdf5_tree.h"

#include <bit>
#include <limits>
#include <vector>

namespace capstan::io::hdf5 {

namespace {

// So many bytes hold numbers up to this one.
std::size_t bytes_for(std::uint64_t most) { return (static_cast<std::size_t>(std::bit_width(most | 1)) + 7) / 8; }

class Tree {
 public:
  Tree(File& file, const std::function<void(Reader&)>& body) : file_(file), body_(body) {}

  void read(std::uint64_t address, std::uint8_t type) {
    Reader head = file_.visit(address);
    head.expect("BTHD", "a tree of records");
    if (head.byte() != 0 || head.byte() != type) file_.fail("a tree has records of another type");
    const std::uint64_t node_size = head.number(4);
    record_size_ = head.number(2);
    const std::uint64_t depth = head.number(2);
    head.skip(2);
    const std::uint64_t root = head.number(file_.offset_size), count = head.number(2);
    head.skip(file_.length_size);
    head.check_sum();
    constexpr std::uint64_t kAround = 10;  // bytes of a node that are no records
    if (record_size_ == 0 || node_size < kAround + record_size_ || depth > 32) file_.fail("a tree has odd nodes");
    // How many records a node of each level can have tells how long the numbers of records are.
    const std::uint64_t most_in_leaf = (node_size - kAround) / record_size_;
    count_size_ = bytes_for(most_in_leaf);
    total_sizes_ = {0};
    std::uint64_t total = most_in_leaf;
    for (std::uint64_t level = 1; level <= depth; ++level) {
      const std::uint64_t child = file_.offset_size + count_size_ + total_sizes_.back();
      if (node_size < kAround + child) file_.fail("a tree has odd nodes");
      const std::uint64_t most = (node_size - kAround - child) / (record_size_ + child);
      if (total > std::numeric_limits<std::uint64_t>::max() / (most + 2)) file_.fail("a tree has odd nodes");
      total = (most + 1) * total + most;
      total_sizes_.push_back(bytes_for(total));
    }
    if (!file_.is_nowhere(root)) read_node(root, count, depth);
  }

 private:
  void read_node(std::uint64_t address, std::uint64_t count, std::uint64_t depth) {
    Reader node = file_.visit(address);
    node.expect(depth == 0 ? "BTLF" : "BTIN", "a node of records");
    node.skip(2);
    Reader records(file_.source, node.take(count * record_size_));
    struct Child {
      std::uint64_t address, count;
    };
    std::vector<Child> children;
    for (std::uint64_t i = 0; depth > 0 && i <= count; ++i) {
      children.push_back({node.number(file_.offset_size), node.number(count_size_)});
      node.skip(total_sizes_[depth - 1]);
    }
    node.check_sum();
    for (std::uint64_t i = 0; i < count; ++i) {
      Reader record(file_.source, records.take(record_size_));
      body_(record);
    }
    for (const Child& child : children) read_node(child.address, child.count, depth - 1);
  }

  File& file_;
  const std::function<void(Reader&)>& body_;
  std::uint64_t record_size_ = 0;
  std::size_t count_size_ = 0;
  std::vector<std::size_t> total_sizes_;  // by level
};

}  // namespace

void for_each_record(File& file, std::uint64_t address, std::uint8_t type, const std::function<void(Reader&)>& body) {
  Tree(file, body).read(address, type);
}

}  // namespace capstan::io::hdf5
