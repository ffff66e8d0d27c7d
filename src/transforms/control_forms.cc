// What nodes of control flow are, apart from how they run: compared with another, as data for files, and for other
// lengths than those that they were traced for. These have the same parts, whose shapes are inferred anew and which
// have programs of their own, so that one trace serves batches of any size (shape_family.h).
#include <utility>

#include "src/core/check.h"
#include "src/core/row_shape.h"
#include "src/graph/shapes.h"
#include "src/transforms/control_nodes.h"

namespace capstan {

namespace {

const Shape& shape_of(const Graph& graph, Graph::Value value) { return graph.values[at(value)].shape; }

// What a loop carries on keeps its shape.
void check_carried(const Subgraph& body, std::size_t carried) {
  for (std::size_t k = 0; k < carried; ++k) {
    const Shape& before = shape_of(body.graph, body.graph.arguments[k]);
    const Shape& after = shape_of(body.graph, body.graph.results[k]);
    CAPSTAN_CHECK(before == after, ShapeError, "a loop carries ", before, " on, and its body gives ", after);
  }
}

// Of parts, one by one.
template <class Parts>
std::string difference_of_parts(const Parts& parts, const Parts& others) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (std::string what = difference_of(*parts[i], *others[i]); !what.empty()) return what;
  }
  return "";
}

}  // namespace

AttributeValue Branches::form() const {
  return form_with({{"results", list_of(results)}, {"written", list_of(written)}});
}

std::shared_ptr<const Control> Branches::for_lengths(std::span<const Shape> slots) const {
  const auto node = std::make_shared<Branches>(*this);
  node->paths_by_branch_.clear();
  for (Subgraph& branch : node->branches) {
    branch = with_lengths(branch, slots);
    for (const std::size_t result : results) {
      const Graph& first = node->branches[0].graph;
      const Shape &a = shape_of(first, first.results[result]),
                  &b = shape_of(branch.graph, branch.graph.results[result]);
      CAPSTAN_CHECK(a == b, ShapeError, op->name, ": the branches give ", a, " and ", b);
    }
  }
  node->complete(slots.size());
  return node;
}

std::string Branches::difference(const Control& other) const {
  const auto& node = static_cast<const Branches&>(other);
  if (branches.size() != node.branches.size() || results != node.results || written != node.written) {
    return "its branches differ";
  }
  return difference_of_parts(parts(), node.parts());
}

AttributeValue WhileLoop::form() const {
  return form_with({{"variables", static_cast<std::int64_t>(count)}, {"limit", limit}});
}

std::shared_ptr<const Control> WhileLoop::for_lengths(std::span<const Shape> slots) const {
  const auto node = std::make_shared<WhileLoop>(*this);
  node->condition = with_lengths(condition, slots);
  node->body = with_lengths(body, slots);
  check_carried(node->body, count);
  node->complete(slots.size());
  return node;
}

std::string WhileLoop::difference(const Control& other) const {
  const auto& node = static_cast<const WhileLoop&>(other);
  if (count != node.count || limit != node.limit) return "its loop variables or its limit differ";
  return difference_of_parts(parts(), node.parts());
}

AttributeValue RowLoop::form() const {
  return form_with({{"carried", static_cast<std::int64_t>(carried)},
                    {"sliced", static_cast<std::int64_t>(sliced)},
                    {"backwards", reverse}});
}

std::shared_ptr<const Control> RowLoop::for_lengths(std::span<const Shape> slots) const {
  const auto node = std::make_shared<RowLoop>(*this);
  node->rows = slots[carried][0];
  std::vector<Shape> of_row(slots.begin(), slots.end());
  for (std::size_t k = carried; k < carried + sliced; ++k) {
    CAPSTAN_CHECK(slots[k][0] == node->rows && node->rows > 0, ShapeError, op->name, ": the elements have ", node->rows,
                  " and ", slots[k][0], " rows");
    of_row[k] = row_shape(slots[k]);
  }
  node->body = with_lengths(body, of_row);
  check_carried(node->body, carried);
  node->complete(slots.size());
  return node;
}

std::string RowLoop::difference(const Control& other) const {
  const auto& node = static_cast<const RowLoop&>(other);
  const bool is_alike =
      carried == node.carried && sliced == node.sliced && collected == node.collected && reverse == node.reverse;
  return is_alike ? difference_of_parts(parts(), node.parts()) : "its rows or what it carries differ";
}

}  // namespace capstan
