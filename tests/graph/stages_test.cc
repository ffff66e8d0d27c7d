// Steps that run at once: which they are, and that nobody sees it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "src/core/thread_pool.h"
#include "src/graph/program.h"
#include "src/graph/stages.h"
#include "tests/support/traced.h"
#include "tests/support/compare.h"
#include "tests/support/make_tensor.h"

namespace capstan {
namespace {

using testing::Body;
using testing::filled;
using testing::run;
using testing::Tensors;
using testing::trace;
using testing::trace_like;

class StagesTest : public ::testing::Test {
 protected:
  ~StagesTest() override {
    stage_steps(Stages::kWorthwhile);
    set_thread_count(0);
  }
};

// The nodes of each stage by task, like "matmul matmul | matmul".
std::vector<std::string> stages_of(const Program& program) {
  std::vector<std::map<int, std::string>> tasks;
  for (const ExecutionPlan::Step& step : program.plan().steps) {
    if (step.stage < 0) continue;
    tasks.resize(std::max(tasks.size(), static_cast<std::size_t>(step.stage) + 1));
    std::string& text = tasks[static_cast<std::size_t>(step.stage)][step.task];
    for (const std::size_t n : nodes_of(program.plan(), step)) {
      text += (text.empty() ? "" : " ") + std::string(program.graph().nodes[n].op->name);
    }
  }
  std::vector<std::string> texts;
  for (const auto& stage : tasks) {
    std::string text;
    for (const auto& [task, names] : stage) text += (text.empty() ? "" : " | ") + names;
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::string> stages_of(const Tensors& arguments, const Body& body) {
  return stages_of(Program(trace_like(arguments, body)));
}

// With stages and without, whatever they gain, for several numbers of threads; again and again, so that tasks run at
// once.
void expect_same(const Tensors& arguments, const Body& body, const std::vector<Variable>& variables = {}) {
  for (const Stages stages : {Stages::kNone, Stages::kWorthwhile, Stages::kAll}) {
    stage_steps(stages);
    for (const int threads : {1, 2, 4}) {
      SCOPED_TRACE(threads);
      set_thread_count(threads);
      for (int i = 0; i < (threads == 1 ? 1 : 10); ++i) testing::expect_same_runs(arguments, body, variables);
    }
  }
  stage_steps(Stages::kWorthwhile);
}

Tensors eight_products(const Tensors& in) {
  Tensors products;
  for (std::size_t i = 0; i < 8; ++i) products.push_back(matmul(in[i], in[8 + i]));
  return products;
}

Tensors matrices(std::size_t count, const Shape& shape, DType dtype = float32) {
  Tensors all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(filled(shape, i + 1, dtype));
  return all;
}

TEST_F(StagesTest, ProductsThatDoNotWaitForEachOther) {
  const Tensors in = matrices(16, {96, 96});
  EXPECT_EQ(stages_of(in, eight_products),
            std::vector<std::string>{"matmul | matmul | matmul | matmul | matmul | matmul | matmul | matmul"});
  expect_same(in, eight_products);
  expect_same(matrices(16, {40, 40}, float64), eight_products);
}

TEST_F(StagesTest, ATaskHasWhatWaitsForEachOther) {
  const Tensors in = matrices(5, {64, 64});
  const Body body = [](const Tensors& x) -> Tensors {
    Tensor actor = x[0], critic = x[0];
    for (std::size_t i = 1; i < 3; ++i) actor = tanh(matmul(actor, x[i]));
    for (std::size_t i = 3; i < 5; ++i) critic = relu(matmul(critic, x[i]));
    return {actor, critic};
  };
  EXPECT_EQ(stages_of(in, body), std::vector<std::string>{"matmul tanh matmul tanh | matmul relu matmul relu"});
  expect_same(in, body);
}

TEST_F(StagesTest, LoopsBelowWhatIsSharedOut) {
  const Tensors in = matrices(4, {160, 160});
  const Body body = [](const Tensors& x) -> Tensors {
    Tensors y;
    for (std::size_t i = 0; i < 4; ++i) y.push_back(tanh(exp(x[i]) * sin(x[i])));
    return y;
  };
  EXPECT_EQ(stages_of(in, body).size(), 1u);
  expect_same(in, body);
}

TEST_F(StagesTest, TheTwoProductsOfACell) {
  const Tensors in = {filled({32, 6, 64}, 1), filled({64, 256}, 2), filled({64, 256}, 3)};
  const Tensor b = filled({256}, 4);
  const Body body = [&](const Tensors& x) -> Tensors {
    Tensor h = zeros({32, 64}), c = zeros({32, 64});
    const Tensor u = x[2];
    for (const Tensor& input : unstack(x[0], 1)) {
      const Tensors gates = split(matmul(input, x[1]) + matmul(h, u) + b, 4, 1);
      c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
      h = sigmoid(gates[3]) * tanh(c);
    }
    return {h};
  };
  const std::vector<std::string> stages = stages_of(in, body);
  ASSERT_EQ(stages.size(), 6u);
  EXPECT_EQ(stages[0], "matmul | matmul");
  expect_same(in, body);
}

TEST_F(StagesTest, WhatIsShortOrLongOrWaitsHasNone) {
  // Two products of a microsecond gain nothing; large ones share themselves out; a chain waits.
  EXPECT_TRUE(stages_of(matrices(16, {8, 8}), eight_products).empty());
  EXPECT_TRUE(stages_of(matrices(16, {128, 128}), eight_products).empty());
  EXPECT_TRUE(stages_of(matrices(2, {64, 64}), [](const Tensors& in) -> Tensors {
                Tensor x = in[0];
                for (int i = 0; i < 8; ++i) x = tanh(matmul(x, in[1]));
                return {x};
              }).empty());
}

TEST_F(StagesTest, EffectsKeepTheirOrder) {
  stage_steps(Stages::kAll);
  const Tensors in = matrices(16, {96, 96});
  const Program program(trace_like(in, [](const Tensors& x) -> Tensors {
    Tensors all;
    for (std::size_t i = 0; i < 4; ++i) {
      all.push_back(matmul(x[i], x[8 + i]));
      debugging::assert_positive(x[i] + 2.0);
      all.push_back(matmul(x[i], x[9 + i]));
      all.push_back(random::uniform({3}));
    }
    return all;
  }));
  for (const std::string& stage : stages_of(program)) {
    EXPECT_EQ(stage.find("assert"), stage.npos) << stage;
    EXPECT_EQ(stage.find("random"), stage.npos) << stage;
  }
}

// A step that writes a variable where it lies is never beside one that may fail or that reads what it held.
TEST_F(StagesTest, VariablesAreWrittenByThemselves) {
  const Variable v(filled({64, 64}, 30)), w(filled({64, 64}, 31));
  const Tensors in = matrices(3, {64, 64});
  const Body body = [&](const Tensors& x) -> Tensors {
    const Tensor y = matmul(x[0], v), z = matmul(x[1], w);
    v.assign(v - 0.1 * x[2]);
    w.assign_sub(0.1 * x[1]);
    return {y, z, matmul(x[2], x[0]), matmul(v, x[0])};
  };
  expect_same(in, body, {v, w});
}

TEST_F(StagesTest, WhatFailsFirstInARowIsWhatFails) {
  stage_steps(Stages::kAll);
  for (const int threads : {1, 2, 4}) {
    set_thread_count(threads);
    const Variable v(ones({4}));
    const Tensors in = {filled({64, 64}, 1), filled({64, 4}, 2), constant({0, 1}), constant({0, 1})};
    const Body body = [&](const Tensors& x) -> Tensors {
      // The task of the second gather is longer and begins first.
      v.assign(v * 2.0);
      const Tensor first = gather(x[1], x[2]);
      const Tensor second = gather(matmul(matmul(x[0], x[0]), x[1]), x[3]);
      return {first, second};
    };
    const Program program(trace_like(in, body));
    EXPECT_FALSE(stages_of(program).empty());
    for (int i = 0; i < 20; ++i) {
      run(program, in);
      const Tensor before = testing::copy(v.value());
      Tensors bad = in;
      bad[2] = constant({0, 77});
      bad[3] = constant({0, 99});
      try {
        run(program, bad);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const IndexError& error) {
        EXPECT_NE(std::string(error.what()).find("77"), std::string::npos) << error.what();
      }
      bad[2] = in[2];
      EXPECT_THROW(run(program, bad), IndexError);
      EXPECT_TRUE(testing::same_bits(v.value(), before));
    }
  }
}

TEST_F(StagesTest, AProfileSeesEveryStep) {
  const Tensors in = matrices(16, {96, 96});
  const Program program(trace_like(in, eight_products));
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    const Profile profile = capstan::profile([&] {
      for (int i = 0; i < 50; ++i) run(program, in);
    });
    ASSERT_EQ(profile.rows().size(), 1u);
    EXPECT_EQ(profile.rows()[0].name, "matmul");
    EXPECT_EQ(profile.rows()[0].count, 400);
    EXPECT_EQ(profile.rows()[0].flops, 400 * 2.0 * 96 * 96 * 96);
  }
}

TEST_F(StagesTest, ABudgetOfMemoryComesFirst) {
  stage_steps(Stages::kAll);
  const Graph graph = trace_like(matrices(16, {96, 96}), eight_products);
  EXPECT_FALSE(stages_of(Program(graph)).empty());
  EXPECT_TRUE(stages_of(Program(graph, 1000)).empty());
}

TEST_F(StagesTest, ATaskUsesItsMemoryAgain) {
  const Body chains = [](const Tensors& in) -> Tensors {
    Tensors ends;
    for (std::size_t i = 0; i < 2; ++i) {
      Tensor x = in[i];
      for (int k = 0; k < 10; ++k) x = matmul(x, in[i]);
      ends.push_back(reduce_max(x));
    }
    return ends;
  };
  const Program program(trace_like(matrices(2, {64, 64}), chains));
  EXPECT_EQ(stages_of(program).size(), 1u);
  testing::expect_apart(program);
  // Two places for each chain.
  EXPECT_EQ(program.arena_bytes(), 4u * 64 * 64 * 4);
}

TEST_F(StagesTest, RunsInSeveralThreadsAtOnce) {
  stage_steps(Stages::kAll);
  set_thread_count(3);
  const Tensors in = matrices(16, {48, 48});
  testing::expect_same_in_threads(trace_like(in, eight_products), 4, [&](int) { return in; });
}

// Many small steps, all that can be in stages in stages.
TEST_F(StagesTest, RandomGraphs) {
  stage_steps(Stages::kAll);
  set_thread_count(3);
  for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fuse_loops(seed % 3 != 0);
    const Variable v(filled({4, 4}, seed + 3000));
    testing::expect_same_runs({filled({4, 4}, seed), filled({4, 4}, seed + 1000), filled({4}, seed + 2000)},
                              [&](const Tensors& in) { return testing::random_steps(seed, 40, in, &v); }, {v});
  }
  fuse_loops(true);
}

}  // namespace
}  // namespace capstan
