// The forward-backward algorithm of connectionist temporal classification, for one sequence.
#pragma once

#include <cstdint>

namespace capstan {

// A number and its derivative along a direction.
struct CtcDual {
  double value = 0;
  double slope = 0;
};

// One sequence: logits [frames, classes], labels [labels]. A Number is a double or a CtcDual.
template <class Number>
struct CtcSequence {
  const Number* logits;
  std::int64_t frames;
  std::int64_t classes;
  const std::int64_t* labels;
  std::int64_t label_count;
  std::int64_t blank;
};

// How many Numbers of memory ctc_sequence needs.
constexpr std::int64_t ctc_memory(std::int64_t frames, std::int64_t classes, std::int64_t label_count) {
  return frames * classes + (frames + 2) * (2 * label_count + 1);
}

// Returns the loss and writes its gradient [frames, classes]; if there is no path, infinity and zeros.
template <class Number>
Number ctc_sequence(const CtcSequence<Number>& sequence, Number* memory, Number* gradient);
extern template double ctc_sequence<double>(const CtcSequence<double>&, double*, double*);
extern template CtcDual ctc_sequence<CtcDual>(const CtcSequence<CtcDual>&, CtcDual*, CtcDual*);

}  // namespace capstan
