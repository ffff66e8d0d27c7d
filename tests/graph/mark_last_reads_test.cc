#include <gtest/gtest.h>

#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Tensors;
using testing::trace;

TEST(MarkLastReads, TheLastReaderMayHaveTheBuffer) {
  Graph graph = trace({{{2}, float32}, {{2}, float32}}, [](const Tensors& in) -> Tensors {
    const Tensor a = in[0] + in[1];
    const Tensor b = a * in[0];
    return {exp(b), a};
  });
  mark_last_reads(graph);
  EXPECT_EQ(graph.nodes[0].last_reads, 0b10u);  // in[1]; in[0] is read again
  EXPECT_EQ(graph.nodes[1].last_reads, 0b10u);  // in[0]; a is a result
  EXPECT_EQ(graph.nodes[2].last_reads, 0b1u);
}

TEST(MarkLastReads, AnOperandThatStandsTwiceIsGivenUpOnce) {
  Graph graph = trace({{{2}, float32}}, [](const Tensors& in) -> Tensors { return {in[0] * in[0]}; });
  mark_last_reads(graph);
  EXPECT_EQ(graph.nodes[0].last_reads, 0b10u);
  EXPECT_EQ(testing::run(graph, {constant({2.0, 3.0})})[0].to_vector<double>(), (std::vector<double>{4, 9}));
}

TEST(MarkLastReads, ConstantsAndWrittenValuesAreKept) {
  const Variable v({1.0, 2.0});
  Graph graph = trace({{{2}, float32}}, [&](const Tensors& in) -> Tensors {
    const Tensor next = in[0] * constant({3.0, 4.0});
    v.assign(next);
    return {next + 1.0};
  });
  mark_last_reads(graph);
  EXPECT_EQ(graph.nodes[0].last_reads, 0b1u);
  EXPECT_EQ(graph.nodes[1].last_reads, 0u);
}

TEST(MarkLastReads, OutputsThatNobodyReadsAreMarked) {
  Graph graph = trace({{{3, 2}, float32}}, [](const Tensors& in) -> Tensors { return {unstack(in[0])[1]}; });
  mark_last_reads(graph);
  EXPECT_EQ(graph.nodes[0].unread_outputs, 0b101u);
}

TEST(MarkLastReads, MoreOperandsThanBitsAreKept) {
  Graph graph = trace({{{1}, float32}}, [](const Tensors& in) -> Tensors {
    Tensors parts;
    for (int i = 0; i < 70; ++i) parts.push_back(in[0] + static_cast<double>(i));
    return {concat(parts, 0)};
  });
  mark_last_reads(graph);
  EXPECT_EQ(graph.nodes.back().last_reads, ~std::uint64_t{0});
  EXPECT_EQ(testing::run(graph, {constant({1.0})})[0].to_vector<double>()[69], 70);
}

}  // namespace
}  // namespace capstan
