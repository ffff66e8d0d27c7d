// Ops of a program, with public headers alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

Tensor leaky(Operand x, double slope) { return maximum(x, multiply(x, slope)); }

std::vector<Tensor> both(Operand x, const Tensor& y, bool swapped, std::string_view how, std::int64_t times) {
  const Tensor sum = how == "sum" ? add(x, y) : multiply(x, y);
  const Tensor other = multiply(subtract(x, y), static_cast<double>(times));
  return swapped ? std::vector<Tensor>{other, sum} : std::vector<Tensor>{sum, other};
}

// The tests share a process, so each has names of its own.
void add_leaky(const std::string& name) {
  register_ops(std::array{op_of(leaky, name, "x, less steep below 0.", {"x", {"slope", 0.1}})});
}

TEST(RegisterOps, MakesAFunctionCallableByItsName) {
  EXPECT_FALSE(has_op("test.leaky"));
  add_leaky("test.leaky");
  EXPECT_TRUE(has_op("test.leaky"));
  const std::array x{constant({-2.0, 3.0}, float64)};
  EXPECT_EQ(call("test.leaky", x)[0].to_vector<double>(), (std::vector<double>{-0.2, 3}));
  EXPECT_EQ(call("test.leaky", x, {{"slope", 0.5}})[0].to_vector<double>(), (std::vector<double>{-1, 3}));
}

TEST(RegisterOps, TakesTensorsTruthValuesTextsAndIntegers) {
  register_ops(std::array{
      op_of(both, "test.both", "Two things of x and y.", {"x", "y", {"swapped", false}, {"how", "sum"}, "times"})});
  const std::array inputs{constant(5.0f), constant(3.0f)};
  std::vector<Tensor> outputs = call("test.both", inputs, {{"times", 2}});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].item<float>(), 8);
  EXPECT_EQ(outputs[1].item<float>(), 4);
  outputs = call("test.both", inputs, {{"times", 1}, {"swapped", true}, {"how", "product"}});
  EXPECT_EQ(outputs[0].item<float>(), 2);
  EXPECT_EQ(outputs[1].item<float>(), 15);
}

TEST(RegisterOps, HasGradientsAndIsTraced) {
  add_leaky("test.leaky_with_gradients");
  const auto f = [](const Tensor& x) { return call("test.leaky_with_gradients", std::array{x}, {{"slope", 0.25}})[0]; };
  check_gradients([&](const std::vector<Tensor>& in) { return f(in[0]); }, {constant({-2.0, -0.5, 1.0, 3.0}, float64)},
                  {.order = 2});
  const Tensor x = constant({-4.0f, 4.0f});
  EXPECT_EQ(function(f)(x).to_vector<float>(), f(x).to_vector<float>());
}

TEST(RegisterOps, ListsThem) {
  add_leaky("test.listed");
  const std::vector<OpInfo> list = list_ops();
  const auto found = std::find_if(list.begin(), list.end(), [](const OpInfo& op) { return op.name == "test.listed"; });
  ASSERT_NE(found, list.end());
  EXPECT_EQ(found->text, "x, less steep below 0.");
  EXPECT_EQ(found->input_names, "x");
  EXPECT_EQ(found->inputs, 1);
  EXPECT_EQ(found->outputs, 1);
  EXPECT_EQ(found->attributes, (std::vector<std::string_view>{"slope"}));
}

TEST(RegisterOps, ChecksCallsAsThoseOfTheLibrarysOps) {
  add_leaky("test.checked");
  register_ops(std::array{op_of(leaky, "test.required", "x, less steep below 0.", {"x", "slope"})});
  const std::array x{constant(1.0f)};
  const std::array<Tensor, 1> empty;
  EXPECT_EQ(message_of<ValueError>([&] { call("test.checked", {}); }), "test.checked: takes 1 arguments (x), not 0");
  EXPECT_EQ(message_of<ValueError>([&] {
              call("test.checked", x, {{"tilt", 1}});
            }),
            "test.checked: unknown attribute \"tilt\"; it has slope");
  EXPECT_EQ(message_of<ValueError>([&] { call("test.required", x); }),
            "test.required: attribute \"slope\" must be given");
  EXPECT_TRUE(message_of<ValueError>([&] {
                call("test.checked", empty);
              }).starts_with("test.checked: argument 0 is an empty tensor"));
  EXPECT_TRUE(message_of<ValueError>([&] {
                call("test.checked", x, {{"slope", "steep"}});
              }).starts_with("test.checked: attribute \"slope\""));
}

TEST(RegisterOps, RefusesWhatCannotBeCalledAndAddsNothingThen) {
  const NewOp good = op_of(leaky, "test.good", "x, less steep below 0.", {"x", {"slope", 0.1}});
  const auto message = [&](NewOp op) {
    const std::string text = message_of<ValueError>([&] { register_ops(std::array{good, op}); });
    EXPECT_FALSE(has_op("test.good")) << text;
    return text;
  };
  const auto with = [&](const auto& change) {
    NewOp op = good;
    op.name = "test.bad";
    change(op);
    return op;
  };
  EXPECT_EQ(message(good), "register_ops: two ops are named \"test.good\"");
  EXPECT_EQ(message(with([](NewOp& op) { op.name = "relu"; })), "register_ops: the library has an op \"relu\"");
  EXPECT_EQ(message(with([](NewOp& op) { op.name = "a b"; })),
            "register_ops: \"a b\" is no name of an op\n  help: letters, digits, _, . and :");
  EXPECT_EQ(message(with([](NewOp& op) { op.text.clear(); })),
            "register_ops: \"test.bad\" has no text that says what it does");
  EXPECT_EQ(message(with([](NewOp& op) { op.run = nullptr; })), "register_ops: \"test.bad\" has no function");
  EXPECT_EQ(message(with([](NewOp& op) { op.inputs[0].name.clear(); })),
            "register_ops: a parameter of \"test.bad\" has no name");
  EXPECT_EQ(message(with([](NewOp& op) { op.inputs[0].name = "slope"; })),
            "register_ops: \"test.bad\" has two parameters \"slope\"");
  add_leaky("test.taken");
  EXPECT_EQ(message(with([](NewOp& op) { op.name = "test.taken"; })),
            "register_ops: an op \"test.taken\" is registered already");
  EXPECT_EQ(message_of<ValueError>([] { op_of(leaky, "test.few", "x.", {"x"}); }),
            "op_of: the function of \"test.few\" has 2 parameters, not 1");
}

}  // namespace
}  // namespace capstan
