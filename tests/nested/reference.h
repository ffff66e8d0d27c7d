// What a program computes, without Capstan: each transform replaced by its mathematics, derivatives by infinitesimals.
#pragma once

#include <array>
#include <stdexcept>
#include <vector>

#include "tests/nested/program.h"

namespace capstan::nested {

// A program that says nothing: its numbers explode, an equation has no certain solution, a condition is close to its
// border, or it would take too long.
class Unsuitable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A derivative by one of the leaves. Where nothing connects them, none and zero are both right.
struct Derivative {
  double value = 0;
  bool connected = false;
};
using Gradient = std::array<Derivative, kCoordinates>;

struct Expected {
  double value = 0;
  Gradient gradient;
  Derivative along;   // the derivative along the direction
  Gradient of_along;  // the gradient of the derivative along the direction
  Gradient
      along_gradient;  // the derivative of the gradient along the direction: the same unless a custom gradient lies
};

// `direction` has one number for each leaf. Throws Unsuitable.
Expected evaluate_plainly(const Program& program, const std::array<double, kCoordinates>& direction);

// The value alone, with other leaves.
double plain_value(const Program& program, const std::array<double, kCoordinates>& leaves);

}  // namespace capstan::nested
