// Functions and models that are exported by tests, with inputs for several batches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "capstan/tensor.h"

namespace capstan::testing {

struct ExportCase {
  std::string name;
  std::function<void(const std::string& path)> save;
  std::function<std::vector<Tensor>(const std::vector<Tensor>& x)> run;
  std::vector<std::vector<Tensor>> inputs;  // the first of them of another length than the others
};

std::vector<ExportCase> export_cases();

}  // namespace capstan::testing
