// The ways in which an optimizer updates variables, which have to agree.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "capstan/optimizers.h"

namespace capstan::testing {

enum class How { kPlain, kTraced, kRows, kRowsTraced };
inline constexpr How kEveryWay[] = {How::kPlain, How::kTraced, How::kRows, How::kRowsTraced};

constexpr bool is_traced(How how) { return how == How::kTraced || how == How::kRowsTraced; }
constexpr bool has_rows(How how) { return how == How::kRows || how == How::kRowsTraced; }

// A table, two smaller variables and an empty one after some steps, and then the optimizer's slots.
std::vector<Tensor> train(const Optimizer& optimizer, DType dtype, How how);

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const std::string& what);

// Every way gives the bits of the plain one, in float32 and float64.
void expect_same_on_every_way(const std::string& what, const std::function<Optimizer()>& make);

}  // namespace capstan::testing
