// Elementwise nodes that run over the same elements become one loop, with sums of its values at its end.
//
// Nodes join in program order: one joins the group of a node whose result it reads, and groups that it reads from
// become one. It may not if one of its other operands waits for that group by way of a node outside: the group runs as
// a whole. Nor if it reads an operand of the group in another way: a column of [4, 4] is a row of [4, 4, 1]. Afterwards
// the nodes are in an order in which each group is one piece.
#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/graph/graph.h"
#include "src/graph/loops.h"

namespace capstan {

namespace {

constexpr std::size_t kMaxNodes = 400;
constexpr std::size_t kMaxSums = 32;
// The sum of all elements takes them in the order in which they lie.
constexpr std::int64_t kFlat = -1;
// The sum over rows takes blocks of them, which have to fit into a cache.
constexpr std::int64_t kMostColumns = 256;

// A value from outside of a loop, and which elements of it the loop reads.
struct Input {
  Graph::Value value;
  FusedLoop::Access access;
};

// A node, or several that may run as one loop.
struct Candidate {
  std::vector<std::size_t> nodes;  // of the graph, in program order
  // Of groups:
  DType dtype = DType::kFloat32;
  std::int64_t count = 0;    // elements of the range
  std::int64_t columns = 0;  // 0: any; kFlat: none
  std::size_t sums = 0;
  std::vector<Input> operands;  // from outside, each once
};

// A node as a member of a loop.
struct Member {
  DType dtype;
  std::int64_t count;
  std::int64_t columns;  // 0: any; kFlat: none
  bool is_sum;
  std::vector<Input> operands = {};
};

class Grouping {
 public:
  explicit Grouping(Graph& graph)
      : graph_(graph), candidate_of_(graph.nodes.size()), producer_(graph.values.size(), kNobody) {
    std::size_t effect = kNobody;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const Graph::Value output : graph.nodes[i].outputs) producer_[at(output)] = i;
      effect_before_.push_back(effect);
      if (graph.nodes[i].has_effect() || graph.nodes[i].renew) effect = i;
    }
  }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      place(i);
    }
    write_back();
  }

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};
  const Shape& shape_of(Graph::Value value) const { return graph_.values[at(value)].shape; }
  DType dtype_of(Graph::Value value) const { return graph_.values[at(value)].dtype; }

  static std::vector<Graph::Value> data_inputs(const Graph::Node& node) {
    std::vector<Graph::Value> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!reads_shape_only(node, i)) inputs.push_back(node.inputs[i]);
    }
    return inputs;
  }

  // Calls wait(i) for the nodes whose results a node reads. One with an effect waits for the effect before it, too, so
  // that effects keep the order of the program: draws from one stream, prints, checks.
  template <class Wait>
  void for_each_wanted(std::size_t node, const Wait& wait) const {
    const Graph::Node& reader = graph_.nodes[node];
    for (const Graph::Value input : data_inputs(reader)) {
      if (producer_[at(input)] != kNobody) wait(producer_[at(input)]);
    }
    const bool keeps_order = reader.has_effect() || reader.renew;
    if (keeps_order && effect_before_[node] != kNobody) wait(effect_before_[node]);
  }

  std::optional<Member> as_member(const Graph::Node& node) const {
    if (node.outputs.size() != 1 || node.has_effect() || node.renew) return std::nullopt;
    const auto takes = [](DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; };
    if (const std::optional<SumOfNode> sum = sum_of(graph_, node)) {
      const Graph::Value x = node.inputs[0];
      if (!takes(dtype_of(x))) return std::nullopt;
      if (sum->columns > kMostColumns) return std::nullopt;
      const std::int64_t columns = sum->columns == 0 ? kFlat : sum->columns;
      return Member{dtype_of(x), shape_of(x).size(), columns, true, {{x, FusedLoop::Access::kFull}}};
    }
    const std::optional<LoopOfOp> loop = loop_of(node);
    if (!loop || loop->op->formula == nullptr) return std::nullopt;
    const Graph::Value out = node.outputs[0];
    std::optional<DType> dtype;
    Member member{dtype_of(out), shape_of(out).size(), 0, false, {}};
    if (member.count == 0) return std::nullopt;
    for (const Graph::Value input : data_inputs(node)) {
      if (dtype_of(input) != DType::kBool) {
        if (!takes(dtype_of(input)) || (dtype && *dtype != dtype_of(input))) return std::nullopt;
        dtype = dtype_of(input);
      }
      const std::optional<Placement> placement = placement_of(shape_of(input), shape_of(out));
      if (!placement) return std::nullopt;
      member.operands.push_back({input, placement->access});
      if (placement->columns == 0) continue;
      if (member.columns != 0 && member.columns != placement->columns) return std::nullopt;
      member.columns = placement->columns;
    }
    if (!dtype || (member.dtype != DType::kBool && member.dtype != *dtype)) return std::nullopt;
    member.dtype = *dtype;
    if (!can_emit(code_of(*loop), member.dtype)) return std::nullopt;
    return member;
  }

  void place(std::size_t node) {
    const std::optional<Member> member = as_member(graph_.nodes[node]);
    if (member) {
      const std::vector<std::size_t> candidates = producers_of(node);
      for (const std::size_t candidate : candidates) {
        if (rerun_of(candidate) != graph_.nodes[node].rerun) continue;
        if (!fits(candidates_[candidate], *member) || waits_for(node, candidate)) continue;
        join(node, candidate, *member);
        for (const std::size_t other : candidates) {
          if (other != candidate && can_merge(candidate, other)) merge(candidate, other);
        }
        return;
      }
    }
    candidate_of_[node] = candidates_.size();
    candidates_.push_back({});
    candidates_.back().nodes = {node};
    // A sum by itself has a kernel that is better than a loop.
    if (member && !member->is_sum) {
      candidates_.back().dtype = member->dtype;
      candidates_.back().count = member->count;
      candidates_.back().columns = member->columns;
      add_operands(*member, candidates_.size() - 1);
    }
  }

  std::int32_t rerun_of(std::size_t candidate) const { return graph_.nodes[candidates_[candidate].nodes[0]].rerun; }

  // Groups of nodes whose results this one reads, the latest first.
  std::vector<std::size_t> producers_of(std::size_t node) const {
    std::vector<std::size_t> candidates;
    for (const Graph::Value input : data_inputs(graph_.nodes[node])) {
      const std::size_t producer = producer_[at(input)];
      if (producer == kNobody) continue;
      const std::size_t candidate = candidate_of_[producer];
      if (candidates_[candidate].count != 0 &&
          std::find(candidates.begin(), candidates.end(), candidate) == candidates.end())
        candidates.push_back(candidate);
    }
    std::sort(candidates.rbegin(), candidates.rend());
    return candidates;
  }

  bool fits(const Candidate& candidate, const Member& member) const {
    return candidate.count == member.count && candidate.dtype == member.dtype && candidate.nodes.size() < kMaxNodes &&
           candidate.operands.size() < kMostOperands && candidate.sums < kMaxSums &&
           (candidate.columns == 0 || member.columns == 0 || candidate.columns == member.columns) &&
           std::all_of(member.operands.begin(), member.operands.end(), [&](const Input& operand) {
             const auto known = find_operand(candidate, operand.value);
             return known == candidate.operands.end() || known->access == operand.access;
           });
  }

  static std::vector<Input>::const_iterator find_operand(const Candidate& candidate, Graph::Value value) {
    return std::find_if(candidate.operands.begin(), candidate.operands.end(),
                        [&](const Input& operand) { return operand.value == value; });
  }

  // Whether an operand of the node comes from outside of the candidate and has to wait for it, or is a sum, which is
  // there only when the loop has ended.
  bool waits_for(std::size_t node, std::size_t candidate) {
    return reads_sum({&node, 1}, candidate) || waits_by_way({&node, 1}, candidate, kNobody);
  }

  bool reads_sum(std::span<const std::size_t> nodes, std::size_t candidate) const {
    for (const std::size_t node : nodes) {
      for (const Graph::Value input : data_inputs(graph_.nodes[node])) {
        const std::size_t producer = producer_[at(input)];
        if (producer != kNobody && candidate_of_[producer] == candidate && sum_of(graph_, graph_.nodes[producer]))
          return true;
      }
    }
    return false;
  }

  // Whether one of the nodes, of the candidate `own` if they have one, waits for a candidate by way of a third one.
  bool waits_by_way(std::span<const std::size_t> nodes, std::size_t candidate, std::size_t own) {
    ++visit_;
    visited_.resize(candidates_.size(), 0);
    std::vector<std::size_t> open;
    const auto push = [&](std::size_t reader) {
      for_each_wanted(reader, [&](std::size_t wanted) {
        const std::size_t other = candidate_of_[wanted];
        if (visited_[other] == visit_) return;
        visited_[other] = visit_;
        open.push_back(other);
      });
    };
    // What they read of the candidate itself is no waiting.
    visited_[candidate] = visit_;
    if (own != kNobody) visited_[own] = visit_;
    for (const std::size_t node : nodes) push(node);
    visited_[candidate] = 0;
    while (!open.empty()) {
      const std::size_t next = open.back();
      open.pop_back();
      if (next == candidate) return true;
      for (const std::size_t member : candidates_[next].nodes) push(member);
    }
    return false;
  }

  // Whether two groups can be one loop.
  bool can_merge(std::size_t a, std::size_t b) {
    const Candidate& x = candidates_[a];
    const Candidate& y = candidates_[b];
    const bool alike = rerun_of(a) == rerun_of(b) && x.count == y.count && x.dtype == y.dtype &&
                       x.sums + y.sums <= kMaxSums && (x.columns == 0 || y.columns == 0 || x.columns == y.columns) &&
                       x.nodes.size() + y.nodes.size() <= kMaxNodes &&
                       x.operands.size() + y.operands.size() <= kMostOperands;
    if (!alike) return false;
    for (const Input& operand : y.operands) {
      const auto known = find_operand(x, operand.value);
      if (known != x.operands.end() && known->access != operand.access) return false;
    }
    return !reads_sum(x.nodes, b) && !reads_sum(y.nodes, a) && !waits_by_way(x.nodes, b, a) &&
           !waits_by_way(y.nodes, a, b);
  }

  // The nodes of `from` move to `to`.
  void merge(std::size_t to, std::size_t from) {
    Candidate moved = std::move(candidates_[from]);
    candidates_[from] = {};
    Candidate& candidate = candidates_[to];
    for (const std::size_t node : moved.nodes) candidate_of_[node] = to;
    std::vector<std::size_t> nodes;
    std::merge(candidate.nodes.begin(), candidate.nodes.end(), moved.nodes.begin(), moved.nodes.end(),
               std::back_inserter(nodes));
    candidate.nodes = std::move(nodes);
    candidate.sums += moved.sums;
    if (candidate.columns == 0) candidate.columns = moved.columns;
    for (const Input& operand : moved.operands) {
      if (find_operand(candidate, operand.value) == candidate.operands.end()) candidate.operands.push_back(operand);
    }
    std::erase_if(candidate.operands, [&](const Input& operand) {
      const std::size_t producer = producer_[at(operand.value)];
      return producer != kNobody && candidate_of_[producer] == to;
    });
  }

  void join(std::size_t node, std::size_t candidate, const Member& member) {
    candidate_of_[node] = candidate;
    candidates_[candidate].nodes.push_back(node);
    add_operands(member, candidate);
    if (member.columns != 0) candidates_[candidate].columns = member.columns;
    if (member.is_sum) ++candidates_[candidate].sums;
  }

  void add_operands(const Member& member, std::size_t candidate) {
    for (const Input& operand : member.operands) {
      const std::size_t producer = producer_[at(operand.value)];
      const bool inside = producer != kNobody && candidate_of_[producer] == candidate;
      const bool known = find_operand(candidates_[candidate], operand.value) != candidates_[candidate].operands.end();
      if (!inside && !known) candidates_[candidate].operands.push_back(operand);
    }
  }

  // Units in an order in which each comes after what it reads, and otherwise as early as its first node.
  void write_back() {
    std::vector<Graph::Node> ordered;
    ordered.reserve(graph_.nodes.size());
    std::vector<std::uint8_t> state(candidates_.size(), 0);  // 1: being placed, 2: placed
    std::int32_t groups = 0;
    std::vector<std::pair<std::size_t, std::size_t>>
        stack;  // a candidate, and how many of its nodes have been looked at
    const auto visit = [&](std::size_t first) {
      if (state[first] != 0) return;
      state[first] = 1;
      stack.push_back({first, 0});
      while (!stack.empty()) {
        auto& [candidate, looked] = stack.back();
        std::size_t wanted = kNobody;
        while (looked < candidates_[candidate].nodes.size() && wanted == kNobody) {
          for_each_wanted(candidates_[candidate].nodes[looked], [&](std::size_t node) {
            if (state[candidate_of_[node]] == 0) wanted = candidate_of_[node];
          });
          if (wanted == kNobody) ++looked;
        }
        if (wanted != kNobody) {
          state[wanted] = 1;
          stack.push_back({wanted, 0});
          continue;
        }
        const bool is_group = candidates_[candidate].count != 0;
        for (const std::size_t node : candidates_[candidate].nodes) {
          ordered.push_back(std::move(graph_.nodes[node]));
          ordered.back().group = is_group ? groups : Graph::kNone;
        }
        groups += is_group ? 1 : 0;
        state[candidate] = 2;
        stack.pop_back();
      }
    };
    // By their last nodes.
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (candidates_[candidate_of_[i]].nodes.back() == i) visit(candidate_of_[i]);
    }
    graph_.nodes = std::move(ordered);
  }

  Graph& graph_;
  std::vector<Candidate> candidates_;
  std::vector<std::size_t> candidate_of_;   // by node
  std::vector<std::size_t> producer_;       // by value: a node
  std::vector<std::size_t> effect_before_;  // by node: the last one before it that has an effect
  std::vector<std::size_t> visited_;
  std::size_t visit_ = 0;
};

}  // namespace

void form_groups(Graph& graph) { Grouping(graph).run(); }

}  // namespace capstan
