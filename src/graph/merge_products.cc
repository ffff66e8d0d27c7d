// Products that read the same operand, and of which none waits for another, become one node (src/ops/math/products.h).
//
// Short ones need no node of their own to run at once: they are tasks of a stage (stages.cc). One node is better where
// the operand in common is a right one that is stored transposed and has to be packed, which takes as long as a product
// of sixteen rows or so: it is packed once. Four products of 8 rows by 128 x 128 take 9 us instead of 15 on one thread,
// two of 32 rows by 256 x 256 58 instead of 65, of 64 rows 108 instead of 115.
//
// It is better, too, where each is large enough to share itself out, but so small that the waits for the last task of
// each show. On two threads x by eight matrices, 32 x 256 x 256, takes 111 us instead of 163, by two 28 instead of 31;
// by three, 64 x 128 x 128, 22 instead of 23.5, 64 x 256 x 256, 85 instead of 86. If the left operand is stored
// transposed nothing is gained. On one thread nothing changes: nothing is copied together, each result is computed
// where it belongs, with the bits of its matmul. (A variant with one wider matrix had to copy it: -3 to 8 %.)
//
// A large product with a loop after it is left alone, since its kernel calls the loop (epilogues.cc).
#include <algorithm>
#include <cstring>
#include <optional>

#include "src/graph/graph.h"
#include "src/kernels/linalg/gemm.h"
#include "src/ops/math/products.h"

namespace capstan {

namespace {

using Value = Graph::Value;

constexpr std::int64_t kMostRows = 64;          // of a product whose operand is packed
constexpr std::int64_t kLargeWork = 5'000'000;  // multiply-adds: too long to gain anything
constexpr std::size_t kNear = 128;              // nodes in between
constexpr std::size_t kMostProducts = 16;

class Merging {
 public:
  explicit Merging(Graph& graph) : graph_(graph) { find_neighbours(); }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!is_candidate(i)) continue;
      if (!try_merge(i, true)) try_merge(i, false);
    }
  }

 private:
  // Where loops begin and end, who makes a value, as the node after it, and the first node that reads it.
  void find_neighbours() {
    const std::vector<Graph::Node>& nodes = graph_.nodes;
    made_by_.assign(graph_.values.size(), 0);
    read_by_.assign(graph_.values.size(), nodes.size());
    has_loop_.assign(graph_.values.size(), false);
    for (std::size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
      end = graph_.end_of_unit(begin);
      for (std::size_t n = begin; n < end; ++n) {
        for (const Value output : nodes[n].outputs) made_by_[at(output)] = end;
        for (const Value input : nodes[n].inputs) {
          read_by_[at(input)] = std::min(read_by_[at(input)], begin);
          if (nodes[n].group != Graph::kNone) has_loop_[at(input)] = true;
        }
      }
    }
  }

  const Shape& shape_of(Value value) const { return graph_.values[at(value)].shape; }
  std::optional<ProductSides> sides(std::size_t n) const {
    return sides_of_matmul(*graph_.nodes[n].op, graph_.nodes[n].attributes);
  }
  std::int64_t work(std::size_t n) const {
    const Graph::Node& node = graph_.nodes[n];
    const Shape& left = shape_of(node.inputs[0]);
    return left.size() * shape_of(node.outputs[0])[1];
  }

  bool is_candidate(std::size_t n) const {
    const Graph::Node& node = graph_.nodes[n];
    if (!sides(n) || shape_of(node.outputs[0]).rank() != 2) return false;
    const DType dtype = graph_.values[at(node.outputs[0])].dtype;
    const Shape& out = shape_of(node.outputs[0]);
    return (dtype == DType::kFloat32 || dtype == DType::kFloat64) && out[0] > 1 && out[1] > 1 && work(n) > 0 &&
           work(n) < kLargeWork;
  }

  // Whether product n gains from being merged with others that have the same operand on this side.
  bool gains(std::size_t n, bool same_right) const {
    const Value out = graph_.nodes[n].outputs[0];
    const bool packs = same_right && sides(n)->transpose_b && shape_of(out)[0] <= kMostRows;
    if (work(n) < kGemmParallelWork) return packs;
    return !has_loop_[at(out)] && !sides(n)->transpose_a;
  }

  bool try_merge(std::size_t first, bool same_right) {
    if (!gains(first, same_right)) return false;
    const Value common = graph_.nodes[first].inputs[same_right ? 1 : 0];
    const ProductSides like = *sides(first);
    std::vector<std::size_t> members;
    // After what they read and in front of what reads them.
    std::size_t earliest = 0, latest = graph_.nodes.size();
    const std::size_t end = std::min(graph_.nodes.size(), first + kNear);
    for (std::size_t n = first; n < end && members.size() < kMostProducts; ++n) {
      const Graph::Node& node = graph_.nodes[n];
      if (!is_candidate(n) || node.inputs[same_right ? 1 : 0] != common || !gains(n, same_right)) continue;
      const ProductSides own = *sides(n);
      if (own.transpose_a != like.transpose_a || own.transpose_b != like.transpose_b) continue;
      if (node.rerun != graph_.nodes[first].rerun || node.inputs[0] == node.inputs[1]) continue;
      const std::size_t behind = std::max(made_by_[at(node.inputs[0])], made_by_[at(node.inputs[1])]);
      const std::size_t before = read_by_[at(node.outputs[0])];
      if (std::max(earliest, behind) > std::min(latest, before)) continue;
      earliest = std::max(earliest, behind);
      latest = std::min(latest, before);
      members.push_back(n);
    }
    if (members.size() < 2) return false;
    merge(members, std::max(earliest, first), common, {like.transpose_a, like.transpose_b, same_right});
    return true;
  }

  // The node comes in front of what is node `place` now.
  void merge(const std::vector<std::size_t>& members, std::size_t place, Value common, const ProductSides& sides) {
    Graph::Node products{.op = &kProducts, .inputs = {common}, .outputs = {}};
    products.rerun = graph_.nodes[members[0]].rerun;
    std::memcpy(products.attributes, &sides, sizeof(sides));
    for (const std::size_t n : members) {
      products.inputs.push_back(graph_.nodes[n].inputs[sides.same_right ? 0 : 1]);
      products.outputs.push_back(graph_.nodes[n].outputs[0]);
    }
    std::vector<Graph::Node>& nodes = graph_.nodes;
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(place), std::move(products));
    for (auto n = members.rbegin(); n != members.rend(); ++n) {
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(*n < place ? *n : *n + 1));
    }
    find_neighbours();
  }

  Graph& graph_;
  std::vector<std::size_t> made_by_, read_by_;  // by value
  std::vector<bool> has_loop_;                  // by value: a loop reads it
};

}  // namespace

void merge_products(Graph& graph) { Merging(graph).run(); }

}  // namespace capstan
