// A tape with ten million records: no stack overflow, and no more time per record than with a hundred thousand.
//
//     ulimit -s 256; long_tape [RECORDS]
//
// Prints nanoseconds per record, forward and backward, for 100,000 records and for RECORDS (10,000,000), and the ratio.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

double nanoseconds_per_record(long records) {
  using Clock = std::chrono::steady_clock;
  const Tensor x = constant(0.999);
  const auto start = Clock::now();
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (long i = 0; i < records; ++i) y = y * x;
  const Tensor gradient = tape.gradient(y, x);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!gradient.has_value()) std::abort();
  return seconds / static_cast<double>(records) * 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  const long records = argc > 1 ? std::atol(argv[1]) : 10'000'000;
  double few = 1e9;
  for (int i = 0; i < 10; ++i) few = std::min(few, nanoseconds_per_record(100'000));
  double many = 1e9;
  for (int i = 0; i < 3; ++i) many = std::min(many, nanoseconds_per_record(records));
  std::printf("100000 records: %.1f ns each\n%ld records: %.1f ns each\nratio: %.2f\n", few, records, many, many / few);
  return 0;
}
