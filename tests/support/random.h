// Random numbers of tests: the same on every machine and in every run.
#pragma once

#include <cstdint>
#include <string_view>

namespace capstan::testing {

// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  explicit Random(std::string_view seed) : state_(0xcbf29ce484222325u) {
    for (const char c : seed) state_ = (state_ ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
  }

  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // In [low, high).
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53); }

  // In [low, high], both included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

}  // namespace capstan::testing
