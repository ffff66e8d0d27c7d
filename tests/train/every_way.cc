#include "tests/train/every_way.h"

#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "src/core/apply.h"
#include "tests/support/compare.h"

namespace capstan::testing {

std::vector<Tensor> train(const Optimizer& optimizer, DType dtype, How how) {
  const Variable table(random::uniform({6, 3}, -1, 1, dtype, 1));
  const Variable bias(random::uniform({3}, -1, 1, dtype, 2));
  const Variable one(scalar(0.5, dtype));
  const Variable none(zeros({0, 2}, dtype));
  const std::vector<Variable> variables{table, bias, one, none};
  const auto step = [&](const Tensor& ids) {
    GradientTape tape;
    const Tensor y = (embedding_lookup(table, ids) + bias) * one + reduce_sum(none);
    std::vector<Tensor> gradients = tape.gradient(reduce_sum(y * y), variables);
    if (!has_rows(how)) gradients[0] = gradients[0].to_dense();
    optimizer.apply_gradients(gradients, variables);
  };
  auto traced = function(step);
  for (const Tensor& ids : {constant({3, 1, 3}), constant({0, 0, 5}), constant({2, 4, 1})}) {
    is_traced(how) ? traced(ids) : step(ids);
  }
  std::vector<Tensor> all;
  for (const Variable& variable : variables) all.push_back(variable.value());
  for (const Variable& slot : optimizer.variables()) all.push_back(slot.value());
  return all;
}

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << what << ", tensor " << i;
}

void expect_same_on_every_way(const std::string& what, const std::function<Optimizer()>& make) {
  for (const DType dtype : {float32, float64}) {
    const std::vector<Tensor> want = train(make(), dtype, How::kPlain);
    for (const How how : kEveryWay) {
      expect_same(train(make(), dtype, how), want, what + ", way " + std::to_string(static_cast<int>(how)));
    }
  }
}

}  // namespace capstan::testing
