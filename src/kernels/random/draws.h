// Draws from distributions that need more than one transformed word: each is a function of a key and a position, which
// reads blocks (key, position, 0), (key, position, 1), ... of the stream until it accepts.
#pragma once

#include <cstdint>

namespace capstan {

// Gamma with concentration alpha > 0; NaN for other alpha. As a logarithm it does not underflow for small alpha.
double draw_log_gamma(std::uint64_t key, std::uint64_t position, double alpha);
// Poisson with mean lam, 0 <= lam < infinity.
double draw_poisson(std::uint64_t key, std::uint64_t position, double lam);
// Successes of `count` trials, a whole number >= 0, with probability 0 <= p <= 1.
double draw_binomial(std::uint64_t key, std::uint64_t position, double count, double p);

}  // namespace capstan
