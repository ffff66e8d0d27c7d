#include "tests/nested/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "tests/nested/cpp_text.h"
#include "tests/nested/generate.h"
#include "tests/nested/reference.h"
#include "tests/nested/shrink.h"

namespace capstan::nested {
namespace {

constexpr std::array<const char*, kSources.size()> kSourceNames = {"w", "x", "v", "a", "t", "u"};

std::string text_of(std::span<const double> values) {
  std::string text;
  for (const double value : values) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    text += (text.empty() ? "" : " ") + std::string(digits);
  }
  return values.size() == 1 ? text : "[" + text + "]";
}

// Nothing, or what differs.
std::optional<std::string> difference(const Tensor& got, std::span<const Derivative> want, double tolerance) {
  std::vector<double> numbers;
  for (const Derivative& one : want) numbers.push_back(one.value);
  if (!got.has_value()) {
    const bool connected = std::ranges::any_of(want, [](const Derivative& one) { return one.connected; });
    if (!connected) return std::nullopt;
    return "missing, not " + text_of(numbers);
  }
  const std::vector<double> found = got.to_vector<double>();
  bool wrong = found.size() != numbers.size();
  for (std::size_t i = 0; !wrong && i < found.size(); ++i) wrong = !(std::fabs(found[i] - numbers[i]) <= tolerance);
  if (!wrong) return std::nullopt;
  return text_of(found) + ", not " + text_of(numbers);
}

// Iterations and steps end when they are exact enough for their purpose; their derivatives are less so.
double relative_tolerance(const Program& program) {
  if (uses(program.root, Op::kOdeint)) return 2e-6;
  return uses(program.root, Op::kFixedPoint) || uses(program.root, Op::kRoot) ? 1e-7 : 1e-9;
}

}  // namespace

std::vector<Mode> all_modes() {
  std::vector<Mode> modes;
  for (int quantity = 0; quantity < kQuantities; ++quantity) {
    for (int place = 0; place < kPlaces; ++place) {
      // A value that is computed inside of a function is one that has a function around it.
      if (static_cast<Quantity>(quantity) == Quantity::kValue && static_cast<Place>(place) == Place::kInside) continue;
      modes.push_back({static_cast<Quantity>(quantity), static_cast<Place>(place)});
    }
  }
  return modes;
}

std::string name_of(const Mode& mode) { return std::string(name_of(mode.quantity)) + ", " + name_of(mode.place); }

std::int64_t Counts::all_comparisons() const {
  std::int64_t sum = 0;
  for (const auto& places : comparisons) {
    for (const std::int64_t count : places) sum += count;
  }
  return sum;
}

std::vector<Mode> some_modes(const Program& program) {
  std::vector<Mode> modes = all_modes();
  // Every evaluation of the outer field solves an equation, and the adjoint equation of an adjoint equation takes
  // minutes.
  if (nests(program.root, Op::kOdeint)) {
    std::erase_if(modes, [](const Mode& mode) { return mode.quantity > Quantity::kForward; });
  }
  std::seed_seq seed{program.number};
  std::mt19937 random(seed);
  for (std::size_t i = modes.size() - 1; i > 1; --i) std::swap(modes[i], modes[1 + random() % i]);
  modes.resize(3);
  return modes;
}

std::int64_t comparisons_of(const Program& program, const Mode& mode) {
  if (mode.quantity == Quantity::kValue || mode.quantity == Quantity::kForward) return 1;
  std::int64_t count = 0;
  for (const int source : leaves_of(program.root)) count += length_of(source);
  return count;
}

void Counts::add(const Program& program, const Mode& mode) {
  comparisons[static_cast<std::size_t>(mode.quantity)][static_cast<std::size_t>(mode.place)] +=
      comparisons_of(program, mode);
}

std::string Counts::text() const {
  std::string text = std::to_string(programs) + " programs, " + std::to_string(all_comparisons()) + " comparisons\n";
  for (const Mode& mode : all_modes()) {
    const std::int64_t count =
        comparisons[static_cast<std::size_t>(mode.quantity)][static_cast<std::size_t>(mode.place)];
    text += name_of(mode) + ": " + std::to_string(count) + "\n";
  }
  return text;
}

std::optional<Failure> check(const Program& program, const std::vector<Mode>& modes) {
  const std::array<double, kCoordinates> direction = direction_of(program.number);
  const Expected expected = evaluate_plainly(program, direction);
  const double relative = relative_tolerance(program);
  for (const Mode& mode : modes) {
    std::vector<Tensor> got;
    try {
      got = compute(program, mode.quantity, mode.place, direction);
    } catch (const std::exception& error) {
      return Failure{mode, "throws: " + std::string(error.what())};
    }
    if (mode.quantity == Quantity::kValue || mode.quantity == Quantity::kForward) {
      const Derivative want = mode.quantity == Quantity::kValue ? Derivative{expected.value, true} : expected.along;
      const Tensor one = got.empty() ? Tensor() : got[0];
      const double tolerance = relative * (1 + std::fabs(want.value));
      if (const auto text = difference(one, std::span(&want, 1), tolerance)) return Failure{mode, *text};
    } else {
      const Gradient& want = mode.quantity == Quantity::kReverse              ? expected.gradient
                             : mode.quantity == Quantity::kForwardOverReverse ? expected.along_gradient
                                                                              : expected.of_along;
      double scale = 0;
      for (const Derivative& one : want) scale = std::max(scale, std::fabs(one.value));
      for (std::size_t i = 0; i < kSources.size(); ++i) {
        const auto first = static_cast<std::size_t>(kSources[i]);
        const auto length = static_cast<std::size_t>(length_of(kSources[i]));
        if (const auto text = difference(got[i], std::span(want).subspan(first, length), relative * (1 + scale))) {
          return Failure{mode, "derivative by " + std::string(kSourceNames[i]) + ": " + *text};
        }
      }
    }
  }
  return std::nullopt;
}

std::string report(const Program& program, const Failure& failure) {
  // An error may turn into a wrong number and back while a program shrinks; that would show another defect.
  const auto is_error = [](const Failure& one) { return one.text.starts_with("throws"); };
  const Program small = shrink(program, [&](const Program& one) {
    try {
      const std::optional<Failure> found = check(one, {failure.mode});
      return found && is_error(*found) == is_error(failure);
    } catch (const Unsuitable&) {
      return false;
    }
  });
  const std::optional<Failure> found = check(small, {failure.mode});
  return cpp_text(small, failure.mode, found ? found->text : failure.text);
}

}  // namespace capstan::nested
