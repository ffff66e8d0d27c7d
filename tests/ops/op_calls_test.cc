// Ops that are looked up once and called with operands of any kind.
#include "capstan/op_calls.h"

#include <gtest/gtest.h>

#include <array>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

int field_of(const Op& op, std::string_view name) {
  for (std::size_t i = 0; i < op.fields().size(); ++i) {
    if (op.fields()[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

TEST(OpCalls, KnowWhatAnOpTakes) {
  const Op op("reduce_sum");
  EXPECT_EQ(op.name(), "reduce_sum");
  EXPECT_EQ(op.input_names(), "x");
  EXPECT_EQ(op.inputs(), 1);
  EXPECT_EQ(op.outputs(), 1);
  EXPECT_EQ(field_of(op, "axis"), 0);
  EXPECT_EQ(Op("concat").inputs(), -1);
  EXPECT_EQ(Op("zeros").input_names(), "");
  EXPECT_TRUE(Op("gather").takes_any_dtypes());
  EXPECT_FALSE(Op("add").takes_any_dtypes());
}

TEST(OpCalls, GiveWhatTheFunctionGives) {
  const Op op("reduce_sum");
  AttributeSet set(op);
  set.put(field_of(op, "axis"), 0);
  set.put(field_of(op, "keepdims"), true);
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  Operand operands[] = {x};
  const Tensor sums = call(op, operands, set);
  EXPECT_EQ(sums.shape(), (Shape{1, 2}));
  EXPECT_EQ(sums.to_vector<float>(), (std::vector<float>{4, 6}));
  EXPECT_TRUE(set.get(field_of(op, "keepdims")).truth);
  EXPECT_FALSE(AttributeSet(op).get(field_of(op, "keepdims")).truth);
}

TEST(OpCalls, TakeNumbersAndVariables) {
  const Op op("multiply");
  const Variable v(3.0f);
  Operand operands[] = {v, 2};
  GradientTape tape;
  const Tensor y = call(op, operands, AttributeSet(op));
  EXPECT_EQ(y.dtype(), float32);
  EXPECT_EQ(y.item<float>(), 6);
  EXPECT_EQ(tape.gradient(y, v).item<float>(), 2);
}

TEST(OpCalls, GiveSeveralResults) {
  const Op op("unstack");
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  Operand operands[] = {x};
  const std::vector<Tensor> rows = call_all(op, operands, AttributeSet(op));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].to_vector<float>(), (std::vector<float>{3, 4}));
}

TEST(OpCalls, CallComposites) {
  const Op op("clip_by_norm");
  AttributeSet set(op);
  set.put(field_of(op, "clip_norm"), 1.0);
  const Tensor x = constant({3.0, 4.0});
  Operand operands[] = {x};
  EXPECT_FLOAT_EQ(call(op, operands, set).to_vector<float>()[0], 0.6f);
}

template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(OpCalls, SayWhatIsWrong) {
  EXPECT_EQ(error_of([] { Op("no_such_op"); }), "call: there is no op \"no_such_op\"");
  const Op reshape("reshape");
  const Tensor x = constant({1.0, 2.0});
  Operand one[] = {x};
  Operand two[] = {x, x};
  EXPECT_EQ(error_of([&] { call(reshape, one, AttributeSet(reshape)); }), "reshape: attribute \"shape\" must be given");
  AttributeSet set(reshape);
  EXPECT_EQ(error_of([&] { set.put(7, 1); }), "reshape: has 1 attributes, no number 7");
  EXPECT_EQ(error_of([&] { static_cast<void>(set.get(-1)); }), "reshape: has 1 attributes, no number -1");
  set.put(0, std::vector<AttributeValue>{2, 1});
  EXPECT_EQ(error_of([&] { call(reshape, two, set); }), "reshape: takes 1 arguments (x), not 2");
  EXPECT_EQ(call(reshape, one, set).shape(), (Shape{2, 1}));
  const Op unstack("unstack");
  EXPECT_EQ(error_of([&] { call(unstack, one, AttributeSet(unstack)); }),
            "unstack: gives -1 results, not one\n  help: call it with call_all()");
  const Op clip("clip_by_average_norm");
  AttributeSet clip_set(clip);
  clip_set.put(0, 1.0);
  const Tensor nothing;
  Operand empty[] = {nothing};
  EXPECT_EQ(
      error_of([&] { call(clip, empty, clip_set); }),
      "clip_by_average_norm: argument 0 is an empty tensor\n  help: a missing gradient is an empty tensor; test it "
      "with has_value()");
}

}  // namespace
}  // namespace capstan
