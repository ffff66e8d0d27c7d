// Numbers with infinitesimals, for exact derivatives of any order.
//
// A jet is a polynomial in e_0, e_1, ... with e_i * e_i = 0: to differentiate, one adds a fresh e_i to the argument and
// takes the factor of e_i in the result. Derivatives of derivatives use one more; the last one added is the innermost.
// A coefficient may be absent, which says that nothing connects the result with those infinitesimals: absent is not the
// same as zero.
#pragma once

#include <cstdint>
#include <vector>

namespace capstan::nested {

class Jet {
 public:
  Jet(double value = 0) : c_{value}, present_{1} {}

  double value() const { return c_[0]; }
  // Without infinitesimals.
  bool is_plain() const { return c_.size() == 1; }
  // factor * e_i.
  static Jet infinitesimal(int i, double factor = 1);
  // The factor of e_i, for the greatest i in use: with it every e_i goes away. 0 if it is absent.
  Jet derivative(int i, bool* found = nullptr) const;
  // The coefficient of the product of the e_i whose bits are set.
  double coefficient(unsigned bits) const { return bits < c_.size() ? c_[bits] : 0; }
  bool is_present(unsigned bits) const { return bits < c_.size() && present_[bits] != 0; }
  bool is_finite_and_below(double bound) const;

  friend Jet operator+(const Jet& a, const Jet& b);
  friend Jet operator-(const Jet& a, const Jet& b);
  friend Jet operator*(const Jet& a, const Jet& b);
  friend Jet sin(const Jet& x);
  friend Jet cos(const Jet& x);
  friend Jet tanh(const Jet& x);
  friend Jet sigmoid(const Jet& x);
  friend Jet reciprocal(const Jet& x);

  // A function given by its value and derivative for jets with fewer infinitesimals: f(A + B e) = f(A) + f'(A) B e, e
  // being the innermost. `f` gets A and returns (f(A), f'(A)).
  template <class F>
  friend Jet compose(const Jet& x, const F& f);

 private:
  std::vector<double> c_;  // by the bits of the infinitesimals
  std::vector<std::uint8_t> present_;

  Jet half(bool upper) const;
  bool any() const;
  static Jet join(Jet lower, Jet upper, std::size_t size);
  void resize(std::size_t size);
};

template <class F>
Jet compose(const Jet& x, const F& f) {
  if (x.is_plain()) return f(x, false).first;
  const Jet lower = x.half(false);
  const Jet upper = x.half(true);
  if (!upper.any()) return compose(lower, f);
  const auto [value, slope] = f(lower, true);
  return Jet::join(value, slope * upper, lower.c_.size());
}

}  // namespace capstan::nested
