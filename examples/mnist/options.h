// What the program `mnist` can be told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mnist {

struct Options {
  std::string data;  // a directory with the real files; empty: the program draws digits
  int epochs = 5;
  std::uint64_t seed = 1;
  int threads = 0;  // 0: all cores
  bool literal = false;
  bool eager = false;                 // steps as plain code, not as functions
  std::int64_t train_digits = 60000;  // how many are drawn
  std::int64_t test_digits = 10000;
  std::string picture = "mnist_mistakes.png";
};

// Reads the command line. Prints the help, or what is wrong, and returns nothing if the program should end; `exit_code`
// says how.
std::optional<Options> parse_options(int argc, char** argv, int* exit_code);

}  // namespace mnist
