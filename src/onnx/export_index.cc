// Ops that look elements up by numbers, and those that sort.
#include <algorithm>
#include <numeric>
#include <string>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"

#include "src/onnx/export.h"

namespace capstan::onnx {
namespace {

// An axis moved to a place.
std::vector<int> moved(int rank, int from, int to) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return order;
}

std::string as_int64(const OpCall& c, std::size_t i) {
  return c.dtype(i) == DType::kInt64 ? c.in(i) : c.cast_to(c.in(i), DType::kInt64);
}

void gather(OpCall& c) {
  const int rank = c.rank();
  auto batch = static_cast<int>(c.integer("batch_dims"));
  if (batch < 0) batch += c.rank(1);
  const AttributeValue given = c.value("axis");
  const int axis = given.has_value() ? c.axis("axis", rank) : batch;
  if (batch == 0) return c.give(c.node("Gather", {c.in(0), c.in(1)}, {attribute("axis", axis)}));
  // Rows of each of the first axes, with the axis that is looked up right after these.
  std::string x = c.in(0);
  if (axis != batch) x = c.transposed(x, moved(rank, axis, batch));
  const std::string indices = c.unsqueezed(as_int64(c, 1), {c.rank(1)});
  std::string y = c.node("GatherND", {x, indices}, {attribute("batch_dims", batch)});
  // [batch, looked up, outer, inner] to [batch, outer, looked up, inner].
  if (axis != batch) {
    const int looked = c.rank(1) - batch, outer = axis - batch;
    std::vector<int> order;
    for (int i = 0; i < batch; ++i) order.push_back(i);
    for (int i = 0; i < outer; ++i) order.push_back(batch + looked + i);
    for (int i = 0; i < looked; ++i) order.push_back(batch + i);
    for (int i = batch + looked + outer; i < c.out_shape().rank(); ++i) order.push_back(i);
    y = c.transposed(y, order);
  }
  c.give(y);
}

void write_gather_nd(OpCall& c) {
  c.give(c.node("GatherND", {c.in(0), as_int64(c, 1)}, {attribute("batch_dims", c.integer("batch_dims"))}));
}

// Not OneHot, which counts negative numbers from the end.
void write_one_hot(OpCall& c) {
  const int axis = c.axis("axis", c.rank() + 1);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(c.rank()) + 1, 1);
  const std::int64_t depth = c.integer("depth");
  shape[static_cast<std::size_t>(axis)] = depth;
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(depth));
  std::iota(numbers.begin(), numbers.end(), 0);
  const std::string places = c.tensor(constant(numbers, Shape(shape)), "classes");
  const std::string is_on = c.node("Equal", {c.unsqueezed(as_int64(c, 0), {axis}), places});
  const double on = c.number("on_value"), off = c.number("off_value");
  if (on == 1 && off == 0) return c.give(c.cast_to(is_on, c.out_dtype()));
  c.give(c.node("Where", {is_on, c.scalar(on, c.out_dtype()), c.scalar(off, c.out_dtype())}));
}

void write_sequence_mask(OpCall& c) {
  const AttributeValue given = c.value("maxlen");
  if (!given.has_value()) c.refuse("without maxlen its shape depends on the lengths");
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(given.integer));
  std::iota(numbers.begin(), numbers.end(), 0);
  const std::string places = c.tensor(constant(numbers, {given.integer}), "places");
  const std::string is_within = c.node("Less", {places, c.unsqueezed(as_int64(c, 0), {c.rank()})});
  c.give(c.out_dtype() == DType::kBool ? is_within : c.cast_to(is_within, c.out_dtype()));
}

void write_reverse_sequence(OpCall& c) {
  const int sequence = c.axis("seq_axis", c.rank()), batch = c.axis("batch_axis", c.rank());
  if (std::max(sequence, batch) > 1) c.refuse("ONNX reverses along the first two axes only");
  c.give(c.node("ReverseSequence", {c.in(0), as_int64(c, 1)},
                {attribute("time_axis", sequence), attribute("batch_axis", batch)}));
}

void write_scatter_nd(OpCall& c) {
  const Tensor zero = capstan::cast(constant({0}), c.out_dtype());
  const std::string zeros = c.node("ConstantOfShape", {c.lengths("shape")}, {attribute("value", zero)});
  c.give(c.node("ScatterND", {zeros, as_int64(c, 0), c.in(1)}, {attribute("reduction", "add")}));
}
enum class Scatter : std::uint8_t { kUpdate, kAdd, kSubtract, kMax, kMin };
template <Scatter kHow>
void scatter_into(OpCall& c) {
  constexpr const char* kNames[] = {"none", "add", "add", "max", "min"};
  std::string updates = c.in(2);
  if (kHow == Scatter::kSubtract) updates = c.node("Neg", {updates});
  c.give(c.node("ScatterND", {c.in(0), as_int64(c, 1), updates},
                {attribute("reduction", kNames[static_cast<int>(kHow)])}));
}

// --- Sorting ---

// Values and places of the k largest or smallest numbers along an axis, in order.
std::vector<std::string> top(const OpCall& c, const std::string& k, int axis, bool largest) {
  return c.nodes("TopK", {c.in(0), k},
                 {attribute("axis", axis), attribute("largest", largest ? 1 : 0), attribute("sorted", 1)}, 2);
}
std::vector<std::string> sorted(const OpCall& c) {
  const int axis = c.axis("axis", c.rank());
  const Shape length = {c.shape(0)[axis]}, second = {c.second_shape(0)[axis]};
  return top(c, c.lengths_of(length, second), axis, c.text("direction") == "DESCENDING");
}
void write_sort(OpCall& c) { c.give(sorted(c)[0]); }
void write_argsort(OpCall& c) { c.give(c.cast_to(sorted(c)[1], c.out_dtype())); }
void write_top_k(OpCall& c) {
  const std::vector<std::string> found = top(c, c.integers_of({c.integer("k")}), c.rank() - 1, true);
  c.give(found[0]);
  c.give(c.is_used(1) ? c.cast_to(found[1], c.out_dtype(1)) : found[1]);
}

// How many of the sorted numbers are before each value.
void write_searchsorted(OpCall& c) {
  const int rank = c.rank();
  const std::string sorted_row = c.unsqueezed(c.in(0), {rank - 1}), values = c.unsqueezed(c.in(1), {rank});
  const std::string before = c.node(c.text("side") == "right" ? "LessOrEqual" : "Less", {sorted_row, values});
  const std::string count =
      c.node("ReduceSum", {c.cast_to(before, c.out_dtype()), c.integers_of({rank})}, {attribute("keepdims", 0)});
  c.give(count);
}

constexpr ExportRow kIndexRows[] = {
    {"argsort", write_argsort},
    {"gather", gather},
    {"gather_nd", write_gather_nd},
    {"one_hot", write_one_hot},
    {"reverse_sequence", write_reverse_sequence},
    {"scatter_nd", write_scatter_nd},
    {"searchsorted", write_searchsorted},
    {"sequence_mask", write_sequence_mask},
    {"sort", write_sort},
    {"tensor_scatter_nd_add", scatter_into<Scatter::kAdd>},
    {"tensor_scatter_nd_max", scatter_into<Scatter::kMax>},
    {"tensor_scatter_nd_min", scatter_into<Scatter::kMin>},
    {"tensor_scatter_nd_sub", scatter_into<Scatter::kSubtract>},
    {"tensor_scatter_nd_update", scatter_into<Scatter::kUpdate>},
    {"top_k", write_top_k},
};

}  // namespace

std::span<const ExportRow> index_rows() { return kIndexRows; }

}  // namespace capstan::onnx
