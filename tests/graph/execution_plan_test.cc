// The passes from a graph to a plan, by its text before and after each; see src/graph/execution_plan.h.
#include "src/graph/execution_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "src/graph/stages.h"
#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Tensors;
using testing::trace;

class PlanPasses : public ::testing::Test {
 protected:
  ~PlanPasses() override { stage_steps(Stages::kWorthwhile); }

  // Begins with a graph that has been compiled.
  void begin(Graph graph) {
    plan_.graph = std::move(graph);
    compile(plan_.graph, 0);
    linearize(plan_);
  }
  std::string text() const { return "\n" + to_text(plan_); }

  ExecutionPlan plan_;
};

TEST_F(PlanPasses, LinearizeMakesAStepOfEachOpAndEachLoop) {
  begin(trace({{{32, 16}}, {{16, 8}}, {{8}}}, [](const Tensors& in) -> Tensors {
    const Tensor y = tanh(matmul(in[0], in[1]) + in[2]);
    return {reduce_max(y), exp(y) * 2.0};
  }));
  EXPECT_EQ(text(), R"(
matmul: %0 %1 -> %3
loop(add, tanh, exp, multiply): %3 %2 constant -> %5, %9
reduce_max: %5 -> %6
)");
}

TEST_F(PlanPasses, AttachEpiloguesMakesLoopsPartOfTheProductThatTheyWaitFor) {
  begin(trace({{{64, 32}}, {{32, 48}}, {{48}}}, [](const Tensors& in) -> Tensors {
    const Tensor y = matmul(in[0], in[1]);
    const Tensor largest = reduce_max(in[1], 0);
    return {relu(matmul(y, in[1], {.transpose_b = true}) + 1.0), y + in[2], tanh(y * largest), tanh(largest),
            reduce_sum(y, 0)};
  }));
  EXPECT_EQ(text(), R"(
matmul: %0 %1 -> %3
reduce_max: %1 -> %4
matmul: %3 %1 -> %5
loop(add, relu): %5 constant -> %8
loop(add): %3 %2 -> %9
loop(multiply, tanh): %3 %4 -> %11
loop(tanh): %4 -> %12
reduce_sum: %3 -> %13
)");
  attach_epilogues(plan_);
  // `largest` is not there yet when the first product begins.
  EXPECT_EQ(text(), R"(
matmul + loop(add): %0 %1 %3 %2 -> %3, %9
reduce_max: %1 -> %4
matmul + loop(add, relu): %3 %1 %5 constant -> %5, %8
loop(multiply, tanh): %3 %4 -> %11
loop(tanh): %4 -> %12
reduce_sum: %3 -> %13
)");
}

TEST_F(PlanPasses, AttachEpiloguesMakesSumsOverTheRowsOfAProductPartOfItsStep) {
  begin(trace({{{64, 32}}, {{32, 48}}, {{48}}}, [](const Tensors& in) -> Tensors {
    return {batch_norm_training(matmul(in[0], in[1]), in[2], in[2]).y};
  }));
  EXPECT_EQ(text(), R"(
matmul: %0 %1 -> %3
batch_norm_moments: %3 %2 -> %5, %6, %7
loop(subtract, multiply, add): %3 %5 %7 %2 -> %4
)");
  attach_epilogues(plan_);
  EXPECT_EQ(text(), R"(
matmul + batch_norm_moments: %0 %1 %3 %2 -> %3, %5, %6, %7
loop(subtract, multiply, add): %3 %5 %7 %2 -> %4
)");
}

TEST_F(PlanPasses, AttachProloguesMakesTheLoopThatAKernelReadsPartOfItsStep) {
  begin(trace({{{1, 4, 4, 2}}, {{2}}}, [](const Tensors& in) -> Tensors {
    return {max_pool2d(in[0] * in[1] + 1.0, {2, 2}, {2, 2}, "VALID")};
  }));
  EXPECT_EQ(text(), R"(
loop(multiply, add): %0 %1 constant -> %4
max_pool2d: %4 -> %5
)");
  attach_prologues(plan_);
  EXPECT_EQ(text(), R"(
loop(multiply, add) + max_pool2d: %4 %0 %1 constant -> %5
)");
}

TEST_F(PlanPasses, AttachProloguesRunsALoopInEachKernelThatReadsIt) {
  begin(trace({{{1, 4, 4, 2}}, {{2}}, {{1, 2, 2, 2}}}, [](const Tensors& in) -> Tensors {
    const Tensor y = in[0] * in[1] + 1;
    const Tensor largest = reduce_max(in[0]);
    return {max_pool2d(y, {2, 2}, {2, 2}, "VALID"), largest, max_pool2d_scatter(y, in[2], {2, 2}, {2, 2}, "VALID"),
            avg_pool2d(y, {2, 2}, {2, 2}, "VALID")};
  }));
  EXPECT_EQ(text(), R"(
loop(multiply, add): %0 %1 constant -> %5
reduce_max: %0 -> %6
max_pool2d: %5 -> %7
max_pool2d_scatter: %5 %2 -> %8
avg_pool2d: %5 -> %9
)");
  attach_prologues(plan_);
  EXPECT_EQ(text(), R"(
reduce_max: %0 -> %6
loop(multiply, add) + max_pool2d: %5 %0 %1 constant -> %7
loop(multiply, add) + max_pool2d_scatter: %5 %2 %0 %1 constant -> %8
loop(multiply, add) + avg_pool2d: %5 %0 %1 constant -> %9
)");
}

TEST_F(PlanPasses, FindPlacesTellsResultsViewsAndVariables) {
  Variable weights(ones({16, 16}));
  begin(trace({{{16, 16}}}, [&](const Tensors& in) -> Tensors {
    const Tensor largest = reduce_max(reshape(matmul(in[0], weights), {4, 64}), 0);
    const Tensor rows = in[0](slice(2, 4)) + 1.0;
    weights.assign_sub(in[0] * 0.5);
    return {largest, rows};
  }));
  EXPECT_EQ(text(), R"(
matmul: %0 %1 -> %2
reshape: %2 -> %3
reduce_max: %3 -> %4
getitem: %0 -> %5
loop(add): %5 constant -> %7
loop(multiply, subtract): %0 constant %1 -> %10
)");
  find_places(plan_);
  EXPECT_EQ(text(), R"(
matmul: %0 %1 -> %2 arena 0
no step: reshape: %2 -> %3 arena 0
reduce_max: %3 -> %4 result
no step: getitem: %0 -> %5 in %0 at 128
loop(add): %5 constant -> %7 result
loop(multiply, subtract): %0 constant %1 -> %10 in place of %1
)");
}

TEST_F(PlanPasses, PlanMemoryPutsWhatDoesNotLiveAtOnceInOnePlace) {
  begin(trace({{{32, 32}}}, [](const Tensors& in) -> Tensors {
    Tensor x = in[0];
    for (int i = 0; i < 4; ++i) x = matmul(x, in[0]);
    return {reduce_max(x)};
  }));
  find_places(plan_);
  EXPECT_EQ(text(), R"(
matmul: %0 %0 -> %1 arena 0
matmul: %1 %0 -> %2 arena 0
matmul: %2 %0 -> %3 arena 0
matmul: %3 %0 -> %4 arena 0
reduce_max: %4 -> %5 result
)");
  plan_memory(plan_);
  EXPECT_EQ(text(), R"(
matmul: %0 %0 -> %1 arena 0
matmul: %1 %0 -> %2 arena 4096
matmul: %2 %0 -> %3 arena 0
matmul: %3 %0 -> %4 arena 4096
reduce_max: %4 -> %5 result
)");
  EXPECT_EQ(plan_.arena_bytes, 2u * 4096);
}

TEST_F(PlanPasses, FindStagesGivesStepsThatDoNotWaitForEachOtherTasks) {
  stage_steps(Stages::kAll);
  begin(trace({{{32, 32}}, {{32, 32}}}, [](const Tensors& in) -> Tensors {
    const Tensor a = matmul(matmul(in[0], in[0]), in[0]), b = matmul(in[1], in[1]);
    return {reduce_max(a), reduce_max(b)};
  }));
  find_places(plan_);
  find_stages(plan_);
  EXPECT_EQ(text(), R"(
stage 0 task 0: matmul: %0 %0 -> %2 arena 0
stage 0 task 0: matmul: %2 %0 -> %3 arena 0
stage 0 task 1: matmul: %1 %1 -> %4 arena 0
stage 0 task 0: reduce_max: %3 -> %5 result
stage 0 task 1: reduce_max: %4 -> %6 result
)");
  plan_memory(plan_);
  collect_stages(plan_);
  ASSERT_EQ(plan_.stages.size(), 1u);
  EXPECT_EQ(plan_.stages[0].end, plan_.steps.size());
  EXPECT_EQ(plan_.stages[0].tasks, (std::vector<std::vector<std::size_t>>{{0, 1, 3}, {2, 4}}));
}

TEST_F(PlanPasses, FindUsersTellsWhereARunHasToWriteAnAddress) {
  begin(trace({{{8, 8}}}, [](const Tensors& in) -> Tensors {
    return {matmul(in[0], in[0]), matmul(reshape(in[0], {4, 16}), ones({16, 2}))};
  }));
  find_places(plan_);
  plan_memory(plan_);
  find_users(plan_);
  EXPECT_EQ(text(), R"(
matmul: %0 %0 -> %1 result
matmul: %2 constant -> %4 result
)");
  const auto x = static_cast<std::size_t>(plan_.graph.arguments[0]);
  std::vector<std::int32_t> users(plan_.users.begin() + plan_.first_user[x],
                                  plan_.users.begin() + plan_.first_user[x + 1]);
  EXPECT_EQ(users, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(plan_.first_view[x + 1] - plan_.first_view[x], 1);
}

}  // namespace
}  // namespace capstan
