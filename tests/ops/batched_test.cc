// Every op for many items at once: outputs and gradients of its samples are those of a loop over the items, be the
// gradients part of what is batched or taken through it. Ops that have no rule are listed.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/bindings.h"
#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/tape.h"
#include "capstan/vectorized_map.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"

namespace capstan::testing {
namespace {

constexpr int kItems = 3;

// Ops without a batching rule.
const std::set<std::string> kItemByItem = {
    // Elements decide of what shape the result is, so only a look at each item can tell that it is the same for all.
    "bincount",
    "unique",
    "unique_with_counts",
    "where_indices",
};
// Ops whose rule does without some inputs or attributes.
const std::set<std::string> kSometimesItemByItem = {
    "attention_gradients",           // what a seed drops depends on the place among all elements
    "gru",                           // recurrent kernels that differ from item to item
    "gru_gradients",                 // the same
    "gru_tangents",                  // the same
    "lstm",                          // recurrent kernels that differ from item to item
    "lstm_gradients",                // the same
    "lstm_of_rows",                  // the same
    "lstm_tangents",                 // the same
    "max_pool2d_places",             // places that count the examples before would count those of other items
    "reshape",                       // to the largest rank there is
    "scaled_dot_product_attention",  // as its gradients
    "sequence_mask",                 // without maxlen items have masks of different lengths
};

std::vector<const OpDef*> tested_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    if (testing::test_of(*op) != nullptr && !has_flag(*op, kStateful)) ops.push_back(op);
  }
  return ops;
}

// What an input is in one of the items: floating ones differ a little, rows of indices and the like change places.
Tensor item_of(const Tensor& x, bool differentiable, int item) {
  if (differentiable) return x * cast(constant(1 + 0.03125 * item, float64), x.dtype());
  return x.rank() == 0 ? identity(x) : roll(x, item, 0);
}

// Collects what is said of ops that run item by item, and says it.
class Reports {
 public:
  Reports() {
    warnings_.clear();
    set_binding_hooks({.warning = [](std::string_view text) { warnings_.emplace_back(text); }});
  }
  ~Reports() {
    set_binding_hooks({});
    for (const std::string& line : warnings_) {
      const std::string name = line.substr(0, line.find(" runs item by item"));
      EXPECT_TRUE(kItemByItem.contains(name) || kSometimesItemByItem.contains(name)) << line;
    }
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

 private:
  static inline std::vector<std::string> warnings_;
};

void compare(const OpDef& op, const Sample& sample, const std::vector<bool>& batched) {
  std::vector<Results> expected;
  std::vector<std::vector<Tensor>> items(sample.inputs.size());
  try {
    for (int item = 0; item < kItems; ++item) {
      std::vector<Tensor> inputs;
      for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
        inputs.push_back(batched[i] ? item_of(sample.inputs[i], sample.differentiable[i], item) : sample.inputs[i]);
        items[i].push_back(inputs.back());
      }
      expected.push_back(run_and_differentiate(op, sample, inputs));
    }
  } catch (const Error&) {
    return;  // the sample does not bear the change
  }
  const auto is_full = [](const Tensor& x) { return x.has_value() && x.rank() == kMaxRank; };
  if (std::any_of(sample.inputs.begin(), sample.inputs.end(), is_full) ||
      std::any_of(expected[0].outputs.begin(), expected[0].outputs.end(), is_full)) {
    return;  // no room for one more axis
  }
  std::vector<Tensor> rows;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    if (batched[i]) rows.push_back(stack(items[i]));
  }
  const auto inputs_of = [&](const std::vector<Tensor>& row) {
    std::vector<Tensor> inputs;
    std::size_t next = 0;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i)
      inputs.push_back(batched[i] ? row[next++] : sample.inputs[i]);
    return inputs;
  };
  Results actual;
  std::vector<Tensor> through;  // gradients by the batched inputs, one tensor for all items
  try {
    const Reports reports;
    actual = vectorized_map(
        [&](const std::vector<Tensor>& row) { return run_and_differentiate(op, sample, inputs_of(row)); }, rows);
    GradientTape tape;
    tape.watch(rows);
    const std::vector<Tensor> outputs = vectorized_map(
        [&](const std::vector<Tensor>& row) {
          Sample item = sample;
          item.inputs = inputs_of(row);
          return run(op, item);
        },
        rows);
    std::vector<Tensor> targets;
    for (const Tensor& output : outputs) {
      if (is_differentiable(output.dtype())) targets.push_back(output);
    }
    std::vector<Tensor> sources;
    std::size_t next = 0;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      if (batched[i] && sample.differentiable[i]) sources.push_back(rows[next]);
      next += batched[i] ? 1 : 0;
    }
    if (!targets.empty() && !sources.empty()) through = tape.gradient(targets, sources);
    for (Tensor& gradient : through) gradient = gradient.has_value() ? gradient.to_dense() : gradient;
  } catch (const TraceError&) {
    return;  // it reads elements; every such op is listed in in_function_test.cc
  } catch (const ShapeError& error) {
    // A tensor of the op has all axes that there can be, so the items find no room.
    ASSERT_NE(std::string_view(error.what()).find("exceeds the largest rank"), std::string_view::npos) << error.what();
    return;
  }
  const auto check = [](const std::vector<Tensor>& all, const auto& of_item) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      std::vector<Tensor> list;
      for (int item = 0; item < kItems; ++item) list.push_back(of_item(item, k));
      if (!list[0].has_value()) {
        EXPECT_FALSE(all[k].has_value());
        continue;
      }
      EXPECT_TRUE(is_close(all[k], stack(list))) << all[k].to_string() << "\ninstead of " << stack(list).to_string();
    }
  };
  check(actual.outputs, [&](int item, std::size_t k) { return expected[static_cast<std::size_t>(item)].outputs[k]; });
  const auto gradient_of = [&](int item, std::size_t k) {
    return expected[static_cast<std::size_t>(item)].gradients[k];
  };
  check(actual.gradients, gradient_of);
  std::vector<std::size_t> places;  // of the batched inputs among those that are differentiable
  std::size_t next = 0;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    if (batched[i] && sample.differentiable[i]) places.push_back(next);
    next += sample.differentiable[i] ? 1 : 0;
  }
  check(through, [&](int item, std::size_t k) { return gradient_of(item, places[k]); });
}

class Batched : public ::testing::TestWithParam<const OpDef*> {};

INSTANTIATE_TEST_SUITE_P(Ops, Batched, ::testing::ValuesIn(tested_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(Batched, IsALoopOverTheItems) {
  const OpDef& op = *GetParam();
  const DType dtype = dtypes_of(op).empty() ? DType::kFloat64 : dtypes_of(op).front();
  for (const Sample& sample : samples_of(op, dtype)) {
    const std::size_t count = sample.inputs.size();
    if (count == 0) continue;
    SCOPED_TRACE(sample.text);
    compare(op, sample, std::vector<bool>(count, true));
    for (std::size_t i = 0; i < count && count > 1; ++i) {
      SCOPED_TRACE("only input " + std::to_string(i));
      std::vector<bool> one(count);
      one[i] = true;
      compare(op, sample, one);
    }
  }
}

TEST(BatchingRules, AreMissingForTheseOpsOnly) {
  for (const OpDef* op : all_ops()) {
    // An op that reads shapes alone never differs from item to item; one that draws does so for each of them.
    const bool shapes_alone = op->inputs.count != kVariadic && op->shape_inputs == (1u << op->inputs.count) - 1;
    const bool differs = !shapes_alone && !has_flag(*op, kStateful);
    const bool without = op->kind == OpKind::kStructured && differs && op->batch == nullptr;
    EXPECT_EQ(without, kItemByItem.contains(std::string(op->name))) << op->name;
  }
  for (const std::string& name : kItemByItem) EXPECT_NE(find_op(name), nullptr) << name;
}

}  // namespace
}  // namespace capstan::testing
