// The types of the loops of optimizer.cc, shared by its instruction sets.
#pragma once

#include <cstdint>

namespace capstan {

// The numbers of an Adam step, in the variable's dtype.
template <class T>
struct AdamNumbers {
  T alpha;   // the rate with both bias corrections
  T rest_1;  // 1 - beta_1
  T rest_2;  // 1 - beta_2
  T epsilon;
};

template <class T>
struct OptimizerLoops {
  void (*sgd)(T* w, const T* g, T rate, std::int64_t n);
  void (*momentum)(T* w, T* m, const T* g, T rate, T momentum, bool nesterov, std::int64_t n);
  void (*adam)(T* w, T* m, T* v, T* largest, const T* g, const AdamNumbers<T>& numbers, std::int64_t n);
};

}  // namespace capstan
