// Variables under tapes: reads are snapshots, writes are invisible, mistakes change nothing.
#include <gtest/gtest.h>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

TEST(VariableUnderTape, LaterWritesDoNotChangeSavedValues) {
  // Each way to write, after an op that saved the value.
  const std::vector<std::pair<const char*, std::function<void(const Variable&)>>> writes = {
      {"assign",
       [](const Variable& v) {
         v.assign(constant({10.0, 20.0}));
       }},
      {"assign_add",
       [](const Variable& v) {
         v.assign_add(constant({10.0, 20.0}));
       }},
      {"assign_sub",
       [](const Variable& v) {
         v.assign_sub(constant({10.0, 20.0}));
       }},
      {"scatter_add", [](const Variable& v) { v.scatter_add(constant({0}), constant({5.0})); }},
      {"scatter_sub", [](const Variable& v) { v.scatter_sub(constant({0}), constant({5.0})); }},
      {"scatter_update", [](const Variable& v) { v.scatter_update(constant({1}), constant({5.0})); }},
      {"scatter_max", [](const Variable& v) { v.scatter_max(constant({1}), constant({5.0})); }},
      {"scatter_mul", [](const Variable& v) { v.scatter_mul(constant({1}), constant({5.0})); }},
      {"scatter_nd_add", [](const Variable& v) { v.scatter_nd_add(expand_dims(constant({1}), 1), constant({5.0})); }},
  };
  for (const auto& [name, write] : writes) {
    SCOPED_TRACE(name);
    const Variable v(constant({3.0, 4.0}));
    GradientTape tape;
    const Tensor y = v * v;
    const Tensor snapshot = v.value();
    const Tensor z = snapshot * snapshot;
    write(v);
    write(v);  // the second may happen in place
    expect_values(snapshot, {3, 4});
    expect_values(tape.gradient({y, z}, v), {12, 16});
  }
}

TEST(VariableUnderTape, AllReadsAddUpAcrossWrites) {
  const Variable v(3.0);
  GradientTape tape;
  Tensor y = v * v;
  for (int i = 0; i < 5; ++i) {
    v.assign_add(1.0);
    y = y + v * v;
  }
  // 2 * (3 + 4 + ... + 8)
  expect_values(tape.gradient(y, v), {66});
}

TEST(VariableUnderTape, WritesCutAndTheWrittenVariableIsConnected) {
  const Variable x0(3.0), x1(0.0);
  GradientTape tape;
  x1.assign_add(x0);
  const Tensor y = x1 * x1;
  const auto g = tape.gradient(y, {x0, x1});
  expect_missing(g[0]);
  expect_values(g[1], {6});
}

TEST(VariableUnderTape, AVariableMadeFromATapedTensorIsALeaf) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Variable v(x * x);
  const Tensor y = v * 2;
  const auto g = tape.gradient(y, {v, x});
  expect_values(g[0], {2});
  expect_missing(g[1]);
}

TEST(VariableUnderTape, AssignmentOfItselfAndOfATemporary) {
  const Variable v(constant({1.0, 2.0}));
  GradientTape tape({.persistent = true});
  v.assign(v);
  expect_values(v.value(), {1, 2});
  v.assign(v * 3);
  expect_values(v.value(), {3, 6});
  v.assign_add(v);
  expect_values(v.value(), {6, 12});
  const Tensor y = v * v;
  expect_values(tape.gradient(y, v), {12, 24});
}

TEST(VariableUnderTape, HandlesShareTheVariable) {
  const Variable v(3.0);
  const Variable alias = v;
  GradientTape tape;
  const Tensor y = v * alias;
  EXPECT_EQ(tape.watched_variables().size(), 1u);
  expect_values(tape.gradient(y, alias), {6});
}

TEST(VariableUnderTape, ATapeKeepsItsVariablesAlive) {
  GradientTape tape;
  Tensor y;
  {
    const Variable v(3.0, {.name = "gone"});
    y = v * v;
  }
  const std::vector<Variable> watched = tape.watched_variables();
  ASSERT_EQ(watched.size(), 1u);
  EXPECT_EQ(watched[0].name(), "gone");
  expect_values(tape.gradient(y, watched[0]), {6});
}

TEST(VariableUnderTape, TrainableIsAskedAtTheRead) {
  const Variable v(3.0);
  GradientTape tape;
  v.set_trainable(false);
  Tensor y = v * v;
  EXPECT_TRUE(tape.watched_variables().empty());
  v.set_trainable(true);
  y = y + v * 2;
  expect_values(tape.gradient(y, v), {2});
}

TEST(VariableErrors, ChangeNothing) {
  const Variable v(constant({1.0, 2.0}), {.name = "weights"});
  expect_error<ShapeError>([&] { v.assign(ones({3})); }, "\"weights\" has shape [2], the value [3]");
  expect_error<DTypeError>([&] { v.assign(ones({2}, float64)); }, "cast(x, dtype)");
  expect_error<ShapeError>([&] { v.assign_add(1.0); }, "[2], the value []");
  expect_error<ShapeError>([&] { v.assign_sub(ones({2, 2})); }, "assign_sub");
  expect_error<DTypeError>([&] { v.assign_add(constant({1, 1})); }, "int32");
  EXPECT_THROW(v.assign(Tensor()), Error);
  EXPECT_THROW(v.assign_add(Tensor()), Error);
  EXPECT_THROW(v.scatter_add(constant({2}), ones({1})), IndexError);
  EXPECT_THROW(v.scatter_update(constant({-1}), ones({1})), IndexError);
  EXPECT_THROW(v.scatter_sub(constant({0}), ones({2})), ShapeError);
  EXPECT_THROW(v.scatter_mul(constant({-1}), ones({1})), IndexError);
  EXPECT_THROW(v.scatter_div(constant({0}), ones({2})), ShapeError);
  EXPECT_THROW(v.scatter_nd_update(expand_dims(constant({2}), 1), ones({1})), IndexError);
  EXPECT_THROW(v.scatter_add(constant({0}), ones({1}, float64)), DTypeError);
  EXPECT_THROW(v.scatter_add(constant({0.0}), ones({1})), DTypeError);
  expect_values(v.value(), {1, 2});
  EXPECT_THROW(Variable{Tensor()}, ValueError);
  EXPECT_THROW(Variable(ones({2}), {.dtype = float64}), DTypeError);
  EXPECT_THROW(Variable().assign(1.0), ValueError);
  EXPECT_THROW(Variable().value(), ValueError);
  EXPECT_THROW(Variable() + 1, ValueError);
}

TEST(VariableErrors, UnderATapeLeaveItUsable) {
  const Variable v(constant({1.0, 2.0}));
  GradientTape tape;
  const Tensor y = v * v;
  EXPECT_THROW(v.assign(ones({3})), ShapeError);
  EXPECT_THROW(v + ones({3}), ShapeError);
  const Tensor z = y + v;
  expect_values(tape.gradient(z, v), {3, 5});
}

TEST(VariableScatter, ValuesOfTheCatalogue) {
  const auto v = [] { return Variable(constant({1.0, 2.0})); };
  const auto at = [](int i) { return constant({i}); };
  expect_values(v().scatter_add(at(1), constant({2.0})).scatter_add(at(1), constant({2.0})).value(), {1, 6});
  expect_values(v().scatter_sub(at(1), constant({2.0})).scatter_add(at(1), constant({2.0})).value(), {1, 2});
  expect_values(v().scatter_update(constant({0, 0}), constant({5.0, 7.0})).value(), {7, 2});
  expect_values(v().scatter_add(constant({0, 0}), constant({5.0, 7.0})).value(), {13, 2});
  const Variable table(zeros({3, 2}));
  table.scatter_add(constant({2, 0, 2}, int64), constant({{1, 2}, {3, 4}, {5, 6}}, float32));
  expect_values(table.value(), {3, 4, 0, 0, 6, 8});
}

}  // namespace
}  // namespace capstan::testing
