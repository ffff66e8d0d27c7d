// Compares what Capstan computes of a program with what it should be.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/nested/program.h"
#include "tests/nested/run_with_transforms.h"

namespace capstan::nested {

// One way to compute something of a program.
struct Mode {
  Quantity quantity;
  Place place;
};
std::vector<Mode> all_modes();
// Some of them, others for each number: the value and two more.
std::vector<Mode> some_modes(const Program& program);
std::string name_of(const Mode& mode);

struct Failure {
  Mode mode;
  std::string text;  // "derivative by x: 1.5, not 2.5", "derivative by t: missing, not [1 2 3]", "throws: ..."
};

// Counts of comparisons of numbers, by mode.
struct Counts {
  std::int64_t programs = 0;
  std::array<std::array<std::int64_t, kPlaces>, kQuantities> comparisons = {};
  std::int64_t all_comparisons() const;
  void add(const Program& program, const Mode& mode);
  // "value, eager: 500", line by line.
  std::string text() const;
};
// How many numbers are compared, beside those of leaves that do not stand in the program.
std::int64_t comparisons_of(const Program& program, const Mode& mode);

// Nothing if all is right. Throws Unsuitable for a program that says nothing.
std::optional<Failure> check(const Program& program, const std::vector<Mode>& modes);

// The failure, the program made small, and its text in C++.
std::string report(const Program& program, const Failure& failure);

}  // namespace capstan::nested
