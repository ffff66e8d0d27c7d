// A path visits the states blank, label 1, blank, label 2, ..., blank in order, one per frame; it may stay, go on, or
// leave out a blank between two different labels. Sums over all paths up to a frame (alpha) and from it on (beta) are
// kept as logarithms, which neither underflow nor need scaling. The derivative of everything along a direction comes
// from running the same code on dual numbers.
#include "src/kernels/loss/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace capstan {

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

double value_of(double x) { return x; }
double value_of(CtcDual x) { return x.value; }
CtcDual operator+(CtcDual a, CtcDual b) { return {a.value + b.value, a.slope + b.slope}; }
CtcDual operator-(CtcDual a, CtcDual b) { return {a.value - b.value, a.slope - b.slope}; }
double exponential(double x) { return std::exp(x); }
CtcDual exponential(CtcDual x) {
  const double value = std::exp(x.value);
  return {value, value == 0 ? 0 : value * x.slope};
}
double negated(double x) { return -x; }
CtcDual negated(CtcDual x) { return {-x.value, -x.slope}; }

template <class Number>
Number constant_of(double value) {
  return Number{value};
}

// The weighted mean of slopes is the derivative of a logarithm of a sum.
double log_of_sum(const double*, const double*, int, double logarithm, double) { return logarithm; }
CtcDual log_of_sum(const CtcDual* terms, const double* weights, int count, double logarithm, double sum) {
  double slope = 0;
  for (int i = 0; i < count; ++i) {
    if (weights[i] > 0) slope += weights[i] * terms[i].slope;
  }
  return {logarithm, slope / sum};
}

// log(sum(exp(terms))) of at most three terms.
template <class Number>
Number log_sum(const Number* terms, int count) {
  double largest = kNone;
  for (int i = 0; i < count; ++i) largest = std::max(largest, value_of(terms[i]));
  if (largest == kNone) return constant_of<Number>(kNone);
  double weights[3];
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    weights[i] = std::exp(value_of(terms[i]) - largest);
    sum += weights[i];
  }
  return log_of_sum(terms, weights, count, largest + std::log(sum), sum);
}

double add_weighted(double sum, double weight, double) { return sum + weight; }
CtcDual add_weighted(CtcDual sum, double weight, CtcDual term) {
  return {sum.value + weight, sum.slope + weight * term.slope};
}
double log_total(double sum, double largest) { return largest + std::log(sum); }
CtcDual log_total(CtcDual sum, double largest) { return {largest + std::log(sum.value), sum.slope / sum.value}; }

template <class Number>
void log_softmax_row(const Number* x, std::int64_t n, Number* out) {
  double largest = kNone;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, value_of(x[i]));
  Number sum = constant_of<Number>(0);
  for (std::int64_t i = 0; i < n; ++i) sum = add_weighted(sum, std::exp(value_of(x[i]) - largest), x[i]);
  const Number total = log_total(sum, largest);
  for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] - total;
}

}  // namespace

template <class Number>
Number ctc_sequence(const CtcSequence<Number>& sequence, Number* memory, Number* gradient) {
  const std::int64_t frames = sequence.frames;
  const std::int64_t classes = sequence.classes;
  const std::int64_t states = 2 * sequence.label_count + 1;
  if (frames == 0) return constant_of<Number>(sequence.label_count == 0 ? 0 : -kNone);
  Number* const log_p = memory;
  Number* const alpha = log_p + frames * classes;
  Number* beta = alpha + frames * states;
  Number* next_beta = beta + states;
  for (std::int64_t t = 0; t < frames; ++t) {
    log_softmax_row(sequence.logits + t * classes, classes, log_p + t * classes);
  }
  const auto class_of = [&](std::int64_t s) { return s % 2 == 0 ? sequence.blank : sequence.labels[s / 2]; };
  const auto may_skip = [&](std::int64_t s) { return s % 2 == 1 && s >= 3 && class_of(s) != class_of(s - 2); };

  for (std::int64_t s = 0; s < states; ++s) {
    alpha[s] = s < 2 ? log_p[class_of(s)] : constant_of<Number>(kNone);
  }
  for (std::int64_t t = 1; t < frames; ++t) {
    const Number* before = alpha + (t - 1) * states;
    for (std::int64_t s = 0; s < states; ++s) {
      Number terms[3] = {before[s]};
      int count = 1;
      if (s >= 1) terms[count++] = before[s - 1];
      if (may_skip(s)) terms[count++] = before[s - 2];
      alpha[t * states + s] = log_sum(terms, count) + log_p[t * classes + class_of(s)];
    }
  }
  const Number* last = alpha + (frames - 1) * states;
  const Number ends[2] = {last[states - 1], states > 1 ? last[states - 2] : constant_of<Number>(kNone)};
  const Number total = log_sum(ends, 2);
  std::fill_n(gradient, frames * classes, constant_of<Number>(0));
  if (value_of(total) == kNone) return constant_of<Number>(-kNone);

  for (std::int64_t s = 0; s < states; ++s) beta[s] = constant_of<Number>(s >= states - 2 ? 0 : kNone);
  for (std::int64_t t = frames - 1; t >= 0; --t) {
    Number* row = gradient + t * classes;
    for (std::int64_t c = 0; c < classes; ++c) row[c] = exponential(log_p[t * classes + c]);
    for (std::int64_t s = 0; s < states; ++s) {
      const Number visits = alpha[t * states + s] + beta[s];
      if (value_of(visits) != kNone) row[class_of(s)] = row[class_of(s)] - exponential(visits - total);
    }
    if (t == 0) break;
    for (std::int64_t s = 0; s < states; ++s) {
      Number terms[3];
      int count = 0;
      for (std::int64_t to = s; to < std::min(states, s + 3); ++to) {
        if (to == s + 2 && !may_skip(to)) continue;
        terms[count++] = beta[to] + log_p[t * classes + class_of(to)];
      }
      next_beta[s] = log_sum(terms, count);
    }
    std::swap(beta, next_beta);
  }
  return negated(total);
}

template double ctc_sequence<double>(const CtcSequence<double>&, double*, double*);
template CtcDual ctc_sequence<CtcDual>(const CtcSequence<CtcDual>&, CtcDual*, CtcDual*);

}  // namespace capstan
