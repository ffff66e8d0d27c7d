// Row-sparse gradients whose repeated rows have become one.
//
// Where a rule squares a gradient or takes its norm, it has to see the sum of what a row got, not the parts. The result
// is as long as the list was, since in a trace lengths cannot depend on values: behind the sums the last row repeats,
// with zeros.
//
// Row numbers are sorted by their digits, which keeps the order of equal ones and takes two passes for a million rows.
#include "capstan/ops/optimizer.h"

#include <algorithm>
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
constexpr AttributeType kMergeAttributes =
    attribute_type<MergeAttributes>({field<&MergeAttributes::rows>("rows", true)});

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

template <class T>
void merge(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& indices = call.input(0);
  const std::int64_t rows = call.attributes<MergeAttributes>().rows;
  check_rows("merge_rows", indices, rows);
  const std::int64_t count = indices.size();
  if (count == 0) return;
  const std::int64_t width = outputs[1].size() / count;
  const std::vector<Entry> entries = in_order(indices, rows);
  std::vector<std::int64_t> firsts;  // where a row's entries begin
  auto* const merged = mutable_data<std::int64_t>(outputs[0]);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = entries[static_cast<std::size_t>(i)].row;
    if (i > 0 && row == entries[static_cast<std::size_t>(i - 1)].row) continue;
    merged[firsts.size()] = row;
    firsts.push_back(i);
  }
  const auto distinct = static_cast<std::int64_t>(firsts.size());
  std::fill(merged + distinct, merged + count, merged[distinct - 1]);
  firsts.push_back(count);
  const T* const values = call.input(1).data<T>();
  T* const sums = mutable_data<T>(outputs[1]);
  const auto sum_row = [&](std::int64_t k) {
    T* const sum = sums + k * width;
    for (std::int64_t i = firsts[static_cast<std::size_t>(k)]; i < firsts[static_cast<std::size_t>(k + 1)]; ++i) {
      const T* const value = values + entries[static_cast<std::size_t>(i)].position * width;
      if (i == firsts[static_cast<std::size_t>(k)]) {
        std::copy_n(value, width, sum);
      } else {
        for (std::int64_t j = 0; j < width; ++j) sum[j] += value[j];
      }
    }
  };
  const std::int64_t per_task = std::max<std::int64_t>(1, kTaskElements / std::max<std::int64_t>(1, width));
  const std::int64_t tasks = (distinct + per_task - 1) / per_task;
  const auto sum_rows = [&](std::int64_t task) {
    for (std::int64_t k = task * per_task; k < std::min(distinct, (task + 1) * per_task); ++k) sum_row(k);
  };
  if (tasks == 1) {
    sum_rows(0);
  } else {
    parallel_for(tasks, sum_rows);
  }
  std::fill(sums + distinct * width, sums + count * width, T{});
}

// Made by merge_rows() alone, which has no use but the steps of optimizers, and so not in the registry.
constinit const OpDef kMergeRows = {
    .name = "merge_rows",
    .text = "Ascending row numbers, and the sums of the rows of each.",
    .flags = kNotDifferentiable | kTakesAnyDTypes,
    .arity = 2,
    .outputs = 2,
    .input_names = "indices, values",
    .attributes = &kMergeAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          outputs.add(DType::kInt64, call.input(0).shape());
          outputs.add(call.input(1).dtype(), call.input(1).shape());
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          call.input(1).dtype() == DType::kFloat64 ? merge<double>(call, outputs) : merge<float>(call, outputs);
        },
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
