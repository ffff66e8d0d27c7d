// Runs programs with Capstan: each transform of the tree is a call of the library.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/nested/program.h"

namespace capstan::nested {

// What the program is differentiated by.
struct Leaves {
  Tensor w, x;
  Variable v;
  Tensor a, t;
  Variable u;
};
Leaves make_leaves(const Program& program);

// Functions that programs keep from one call to the next.
using KeptFunctions = std::map<const Node*, Function<std::function<Tensor(const std::vector<Tensor>&)>>>;

// The value of the program for this argument; the functions of the library keep themselves in `functions`.
Tensor evaluate(const Program& program, const Leaves& leaves, const Tensor& a,
                const std::shared_ptr<KeptFunctions>& functions);

// What is computed of a program, and where the tapes and accumulators of the outermost level are.
enum class Quantity : std::uint8_t {
  kValue,
  kReverse,
  kForward,
  kReverseOverReverse,
  kForwardOverReverse,
  kReverseOverForward
};
enum class Place : std::uint8_t {
  kEager,   // no function around the program
  kInside,  // the whole computation is one function
  kAround,  // the program is a function, called without a tape before
};
constexpr int kQuantities = 6;
constexpr int kPlaces = 3;
const char* name_of(Quantity quantity);
const char* name_of(Place place);

// The value alone, or one tensor for each of kSources, empty if it is missing. Second derivatives are those along the
// direction, which has one number for each element of a leaf.
std::vector<Tensor> compute(const Program& program, Quantity quantity, Place place,
                            const std::array<double, kCoordinates>& direction);

}  // namespace capstan::nested
