// What objects hold, under the names that it is saved by.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/state.h"

namespace capstan::detail {

struct NamedState {
  std::vector<std::pair<std::string, Variable>> weights;
  std::vector<std::pair<std::string, std::shared_ptr<std::uint64_t>>> keys;
};

// Of a layer and those within it. Throws ValueError for a layer whose weights are not there yet.
NamedState named_state(const Layer& layer);

std::shared_ptr<StateBody> state_of(const Optimizer& optimizer);

// int64[] and float64[].
Tensor saved_number(std::int64_t number);
Tensor saved_number(double number);

// Adds a line if dtype or shape differ.
void compare_tensor(const std::string& name, const Tensor& own, const Tensor& saved, StateDifference& difference);
StateDifference compare_tensors(const NamedTensors& own, const NamedTensors& saved);

// "kernel", and "kernel_1" for the second of this name.
CAPSTAN_EXPORT std::string number_name(std::string name, std::map<std::string, int>& counts);

}  // namespace capstan::detail
