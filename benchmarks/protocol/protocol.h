// How a program that is compared with other frameworks is called, and what it prints.
//
//     program --workload NAME[,NAME...]|all|list --mode eager --threads N --seconds S
//
// Prints one JSON object per workload: times in microseconds per unit, the memory used, and check values that must
// agree between implementations. All inputs come from `fill_values`, a formula, so that every program computes the same
// numbers. `list` prints the names alone. Nothing here is Capstan's, so that programs of other libraries can use it;
// peers/protocol.py is the same for Python.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace capstan::benchmarks {

struct Arguments {
  std::string workload;
  std::string mode = "eager";
  int threads = 1;
  double seconds = 1.0;
  std::string implementation;  // the library and its mode
};

struct Measurement {
  double per = 1;  // one call counts as this many units
  double seconds = 0;
  std::vector<double> check = {};
};

using Workload = std::function<void(const Arguments&, const std::string& name)>;
using Workloads = std::vector<std::pair<std::string, Workload>>;

// The library that a program measures.
struct Library {
  std::string name;
  std::vector<std::string> modes = {"eager"};
  std::function<void(int)> set_threads;
};

// scale * (2 frac(43758.5453 sin(12.9898 i + 78.233 seed)) - 1) for i = 0, 1, ..., computed in float64.
std::vector<float> fill_values(std::int64_t count, int seed, double scale = 1.0);

// Samples of at least 4 ms each, for `arguments.seconds` (or those of `m`); prints the line of the workload.
void measure(const Arguments& arguments, const std::string& workload, const std::function<void()>& step,
             const Measurement& m);

// The main function of such a program: its exit status.
int run_workloads(int argc, char** argv, const Library& library, const Workloads& workloads);

}  // namespace capstan::benchmarks
