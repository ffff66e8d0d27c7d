// Row-sparse gradients whose repeated rows have become one.
//
// Where a rule squares a gradient or takes its norm, it has to see the sum of what a row got, not the parts. The result
// is as long as the list was, since in a trace lengths cannot depend on values: after the sums the last row repeats,
// with zeros.
//
// Row numbers are sorted by their digits, which keeps the order of equal ones and takes two passes for a million rows.
#include "capstan/ops/optimizer.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "src/core/allocator.h"
#include "src/core/check.h"
#include "src/core/row_sparse.h"
#include "src/core/thread_pool.h"
#include "src/ops/indices.h"

namespace capstan {

namespace {

struct MergeAttributes {
  std::int64_t rows;  // of the dense tensor
};

struct Entry {
  std::int64_t row, position;
};

std::vector<Entry> in_order(const TensorRef& indices, std::int64_t rows) {
  std::vector<Entry> entries(static_cast<std::size_t>(indices.size()));
  with_indices(indices, [&](const auto* index) {
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = {index[i], static_cast<std::int64_t>(i)};
  });
  const auto before = [](const Entry& a, const Entry& b) { return a.row < b.row; };
  if (std::is_sorted(entries.begin(), entries.end(), before)) return entries;
  constexpr int kBits = 10;
  std::vector<Entry> other(entries.size());
  for (int shift = 0; (rows - 1) >> shift > 0; shift += kBits) {
    const auto digit = [shift](const Entry& entry) { return entry.row >> shift & ((1 << kBits) - 1); };
    std::int64_t next[1 << kBits] = {};
    for (const Entry& entry : entries) ++next[digit(entry)];
    std::int64_t begin = 0;
    for (std::int64_t& count : next) begin += std::exchange(count, begin);
    for (const Entry& entry : entries) other[static_cast<std::size_t>(next[digit(entry)]++)] = entry;
    entries.swap(other);
  }
  return entries;
}

// sums[k] is the sum of the values of the entries from firsts[k] to firsts[k + 1].
template <class T>
void sum_rows(std::span<const Entry> entries, std::span<const std::int64_t> firsts, std::int64_t width, const T* values,
              T* sums) {
  const auto distinct = static_cast<std::int64_t>(firsts.size()) - 1;
  const std::int64_t per_task = std::max<std::int64_t>(1, kTaskElements / std::max<std::int64_t>(1, width));
  parallel_for((distinct + per_task - 1) / per_task, [&](std::int64_t task) {
    for (std::int64_t k = task * per_task; k < std::min(distinct, (task + 1) * per_task); ++k) {
      T* const sum = sums + k * width;
      const auto first = static_cast<std::size_t>(firsts[static_cast<std::size_t>(k)]);
      const auto last = static_cast<std::size_t>(firsts[static_cast<std::size_t>(k + 1)]);
      std::copy_n(values + entries[first].position * width, width, sum);
      for (std::size_t i = first + 1; i < last; ++i) {
        const T* const value = values + entries[i].position * width;
        for (std::int64_t j = 0; j < width; ++j) sum[j] += value[j];
      }
    }
  });
  std::fill(sums + distinct * width, sums + static_cast<std::int64_t>(entries.size()) * width, T{});
}

void merge(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& indices = call.input(0);
  const TensorRef& values = call.input(1);
  const std::int64_t rows = call.attributes<MergeAttributes>().rows;
  check_rows("merge_rows", indices, rows);
  if (indices.size() == 0) return;
  const std::vector<Entry> entries = in_order(indices, rows);
  std::vector<std::int64_t> firsts;  // where the entries of a row begin
  auto* const merged = mutable_data<std::int64_t>(outputs[0]);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0 && entries[i].row == entries[i - 1].row) continue;
    merged[firsts.size()] = entries[i].row;
    firsts.push_back(static_cast<std::int64_t>(i));
  }
  std::fill(merged + firsts.size(), merged + entries.size(), entries.back().row);
  firsts.push_back(indices.size());
  const std::int64_t width = values.size() / indices.size();
  if (values.dtype() == DType::kFloat64) {
    sum_rows(entries, firsts, width, values.data<double>(), mutable_data<double>(outputs[1]));
  } else {
    sum_rows(entries, firsts, width, values.data<float>(), mutable_data<float>(outputs[1]));
  }
}

// Made by merge_rows() alone, which has no use but the steps of optimizers, and so not in the registry.
constinit const OpDef kMergeRows = {
    .name = "merge_rows",
    .text = "Ascending row numbers, and the sums of the rows of each.",
    .flags = kNotDifferentiable | kTakesAnyDTypes,
    .outputs = 2,
    .inputs = "indices, values",
    .attributes = &attribute_table<MergeAttributes, "rows", 1>,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          outputs.add(DType::kInt64, call.input(0).shape());
          outputs.add(call.input(1).dtype(), call.input(1).shape());
        },
    .kernel = merge,
};

}  // namespace

Tensor merge_rows(const Tensor& gradient) {
  if (!gradient.is_row_sparse()) return gradient;
  const MergeAttributes attributes{gradient.dim(0)};
  const Tensor indices = gradient.indices();
  const Tensor values = gradient.values();
  CAPSTAN_CHECK(has_vector_loops(values.dtype()), DTypeError, "merge_rows: dtype ", values.dtype(),
                " is not float32 or float64", arguments({{"values", values}}));
  Operand inputs[] = {indices, values};
  std::vector<Tensor> merged = apply_all(kMergeRows, inputs, &attributes);
  return make_row_sparse(std::move(merged[0]), std::move(merged[1]), gradient.shape());
}

}  // namespace capstan
