#include "src/ops/registry.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>
#include <string>

#include "capstan/error.h"
#include "capstan/registry.h"
#include "tests/op_samples/op_test.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

TEST(Registry, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const OpDef* op : all_ops()) EXPECT_TRUE(names.insert(op->name).second) << op->name;
  EXPECT_GE(names.size(), 90u);
}

TEST(Registry, ListsWhatItFinds) {
  for (const OpInfo& op : list_ops()) {
    EXPECT_TRUE(has_op(op.name)) << op.name;
  }
  EXPECT_FALSE(has_op("no_such_op"));
  EXPECT_EQ(find_op(""), nullptr);
}

TEST(Registry, EveryOpHasTheFunctionsOfItsKind) {
  for (const OpDef* op : all_ops()) {
    EXPECT_EQ(find_op(op->name), op);
    EXPECT_FALSE(op->name.empty());
    switch (op->kind) {
      case OpKind::kElementwise:
        EXPECT_NE(op->loops, nullptr) << op->name;
        break;
      case OpKind::kStructured:
        EXPECT_NE(op->infer, nullptr) << op->name;
        EXPECT_NE(op->kernel, nullptr) << op->name;
        break;
      case OpKind::kComposite:
        EXPECT_NE(op->compose, nullptr) << op->name;
        break;
    }
    EXPECT_LE(int{op->inputs.count}, kMaxInputs) << op->name;
  }
}

TEST(Registry, HasEveryOpThatSamplesAreOf) {
  const std::vector<std::string_view> tested = testing::tested_ops();
  EXPECT_GE(tested.size(), 300u);
  for (const std::string_view name : tested) EXPECT_NE(find_op(name), nullptr) << "samples of \"" << name << "\"";
}

TEST(Call, RunsAnOpByItsName) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  const std::vector<Tensor> inputs = {x};
  EXPECT_EQ(call("reduce_sum", inputs)[0].item<float>(), 10);
  const Tensor rows = call("reduce_sum", inputs, {{"axis", 1}, {"keepdims", true}})[0];
  EXPECT_EQ(rows.shape(), Shape({2, 1}));
  EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{3, 7}));
}

TEST(Call, NamesWhatIsWrong) {
  const std::vector<Tensor> one = {constant({1.0, 2.0})};
  EXPECT_EQ(message_of<ValueError>([&] { call("no_such_op", one); }), "call: there is no op \"no_such_op\"");
  EXPECT_EQ(message_of<ValueError>([&] {
              call("reduce_sum", one, {{"axes", 1}});
            }),
            "reduce_sum: unknown attribute \"axes\"; it has axis, keepdims");
  EXPECT_EQ(message_of<ValueError>([&] {
              call("reduce_sum", one, {{"axis", 0.5}});
            }),
            "reduce_sum: attribute \"axis\" must be an axis, a list of axes, or none, not 0.5");
  EXPECT_EQ(message_of<ValueError>([&] {
              call("reduce_sum", one, {{"keepdims", 1}});
            }),
            "reduce_sum: attribute \"keepdims\" must be true or false, not 1");
  EXPECT_EQ(message_of<ValueError>([&] {
              call("exp", one, {{"axis", 1}});
            }),
            "exp: unknown attribute \"axis\"; it has none");
  EXPECT_EQ(message_of<ValueError>([&] { call("reshape", one); }), "reshape: attribute \"shape\" must be given");
  EXPECT_EQ(message_of<ValueError>([&] { call("add", one); }), "add: takes 2 arguments (x, y), not 1");
}

TEST(AttributeValue, PrintsAsItIsWritten) {
  EXPECT_EQ(AttributeValue().to_string(), "none");
  EXPECT_EQ(AttributeValue(true).to_string(), "true");
  EXPECT_EQ(AttributeValue(3).to_string(), "3");
  EXPECT_EQ(AttributeValue(3.0).to_string(), "3.0");
  EXPECT_EQ(AttributeValue(1e-12).to_string(), "1e-12");
  EXPECT_EQ(AttributeValue(-std::numeric_limits<double>::infinity()).to_string(), "-inf");
  EXPECT_EQ(AttributeValue("SAME").to_string(), "\"SAME\"");
  EXPECT_EQ(AttributeValue(std::vector<AttributeValue>{1, "a"}).to_string(), "[1, \"a\"]");
}

TEST(Attributes, GoThereAndBack) {
  std::int64_t integer = 0;
  set_field(integer, 7, "op", "n");
  EXPECT_EQ(get_field(integer).integer, 7);
  double number = 0;
  set_field(number, 2, "op", "x");
  EXPECT_EQ(number, 2.0);
  set_field(number, "-inf", "op", "x");
  EXPECT_EQ(number, -std::numeric_limits<double>::infinity());
  DType dtype = float32;
  set_field(dtype, "bfloat16", "op", "dtype");
  EXPECT_EQ(dtype, bfloat16);
  EXPECT_EQ(get_field(dtype).text, "bfloat16");
  Axes axes;
  set_field(axes, std::vector<AttributeValue>{0, -1}, "op", "axis");
  EXPECT_EQ(get_field(axes).to_string(), "[0, -1]");
  set_field(axes, AttributeValue(), "op", "axis");
  EXPECT_TRUE(axes.all());
  set_field(axes, std::vector<AttributeValue>{}, "op", "axis");
  EXPECT_FALSE(axes.all());
  EXPECT_EQ(axes.size(), 0);
  OptionalInt optional;
  set_field(optional, 5, "op", "axis");
  EXPECT_EQ(get_field(optional).integer, 5);
  set_field(optional, AttributeValue(), "op", "axis");
  EXPECT_FALSE(optional.has_value);
  IntList list;
  set_field(list, 2, "op", "strides");
  EXPECT_EQ(get_field(list).to_string(), "[2]");
  set_field(list, std::vector<AttributeValue>{std::vector<AttributeValue>{1, 2}, std::vector<AttributeValue>{3, 4}},
            "op", "paddings");
  EXPECT_EQ(get_field(list).to_string(), "[1, 2, 3, 4]");
}

TEST(Attributes, EqualListsAndTextsAreOne) {
  const std::vector<std::int64_t> a = {1, 2, 3};
  EXPECT_EQ(intern(std::span<const std::int64_t>(a)), intern(std::span<const std::int64_t>(std::vector(a))));
  EXPECT_EQ(intern(std::string_view("SAME")), intern(std::string("SA") + "ME"));
  EXPECT_NE(intern(std::string_view("SAME")).text, intern(std::string_view("VALID")).text);
}

TEST(Attributes, MoreAxesThanATensorHasAreAnError) {
  Axes axes;
  EXPECT_EQ(message_of<ValueError>(
                [&] { set_field(axes, std::vector<AttributeValue>(9, AttributeValue(0)), "reduce_sum", "axis"); }),
            "reduce_sum: attribute \"axis\" has 9 axes, a tensor at most 8");
}

}  // namespace
}  // namespace capstan
