#include "tests/nested/jet.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace capstan::nested {

void Jet::resize(std::size_t size) {
  c_.resize(size, 0.0);
  present_.resize(size, 0);
}

Jet Jet::infinitesimal(int i, double factor) {
  const std::size_t bit = std::size_t{1} << i;
  Jet result;
  result.present_[0] = 0;
  result.resize(2 * bit);
  result.c_[bit] = factor;
  result.present_[bit] = 1;
  return result;
}

Jet Jet::derivative(int i, bool* found) const {
  const std::size_t bit = std::size_t{1} << i;
  if (c_.size() <= bit) return Jet(0);
  Jet result;
  result.c_.assign(c_.begin() + static_cast<std::ptrdiff_t>(bit), c_.end());
  result.present_.assign(present_.begin() + static_cast<std::ptrdiff_t>(bit), present_.end());
  if (!result.any()) return Jet(0);
  if (found != nullptr) *found = true;
  return result;
}

bool Jet::is_finite_and_below(double bound) const {
  return std::ranges::all_of(c_, [&](double c) { return std::fabs(c) < bound; });
}

Jet Jet::half(bool upper) const {
  const auto middle = static_cast<std::ptrdiff_t>(c_.size() / 2);
  Jet result;
  result.c_.assign(upper ? c_.begin() + middle : c_.begin(), upper ? c_.end() : c_.begin() + middle);
  result.present_.assign(upper ? present_.begin() + middle : present_.begin(),
                         upper ? present_.end() : present_.begin() + middle);
  return result;
}

bool Jet::any() const {
  return std::ranges::any_of(present_, [](std::uint8_t present) { return present != 0; });
}

Jet Jet::join(Jet lower, Jet upper, std::size_t size) {
  lower.resize(size);
  upper.resize(size);
  lower.c_.insert(lower.c_.end(), upper.c_.begin(), upper.c_.end());
  lower.present_.insert(lower.present_.end(), upper.present_.begin(), upper.present_.end());
  return lower;
}

Jet operator+(const Jet& a, const Jet& b) {
  Jet result = a;
  if (result.c_.size() < b.c_.size()) result.resize(b.c_.size());
  for (std::size_t i = 0; i < b.c_.size(); ++i) {
    result.c_[i] += b.c_[i];
    result.present_[i] |= b.present_[i];
  }
  return result;
}

Jet operator-(const Jet& a, const Jet& b) { return a + Jet(-1) * b; }

Jet operator*(const Jet& a, const Jet& b) {
  Jet result;
  result.present_[0] = 0;
  result.resize(std::max(a.c_.size(), b.c_.size()));
  for (std::size_t i = 0; i < a.c_.size(); ++i) {
    if (a.present_[i] == 0) continue;
    for (std::size_t j = 0; j < b.c_.size(); ++j) {
      if ((i & j) != 0 || b.present_[j] == 0) continue;
      result.c_[i | j] += a.c_[i] * b.c_[j];
      result.present_[i | j] = 1;
    }
  }
  return result;
}

Jet sin(const Jet& x) {
  return compose(x, [](const Jet& at, bool) {
    return at.is_plain() ? std::pair(Jet(std::sin(at.value())), Jet(std::cos(at.value())))
                         : std::pair(sin(at), cos(at));
  });
}

Jet cos(const Jet& x) {
  return compose(x, [](const Jet& at, bool) {
    return at.is_plain() ? std::pair(Jet(std::cos(at.value())), Jet(-std::sin(at.value())))
                         : std::pair(cos(at), Jet(-1) * sin(at));
  });
}

Jet tanh(const Jet& x) {
  return compose(x, [](const Jet& at, bool) {
    const Jet y = at.is_plain() ? Jet(std::tanh(at.value())) : tanh(at);
    return std::pair(y, Jet(1) - y * y);
  });
}

Jet sigmoid(const Jet& x) {
  return compose(x, [](const Jet& at, bool) {
    const Jet y = at.is_plain() ? Jet(1 / (1 + std::exp(-at.value()))) : sigmoid(at);
    return std::pair(y, y - y * y);
  });
}

Jet reciprocal(const Jet& x) {
  return compose(x, [](const Jet& at, bool) {
    const Jet y = at.is_plain() ? Jet(1 / at.value()) : reciprocal(at);
    return std::pair(y, Jet(-1) * y * y);
  });
}

}  // namespace capstan::nested
