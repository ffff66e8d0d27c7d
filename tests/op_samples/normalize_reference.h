// What the slow references of normalisations share.
#pragma once

#include <cmath>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing::reference {

// Mean and biased variance of every channel of x [..., channels].
struct ChannelMoments {
  std::vector<double> mean;
  std::vector<double> variance;
};
inline ChannelMoments moments_of(const ReferenceTensor& x) {
  const auto channels = static_cast<std::size_t>(x.shape[-1]);
  const double rows = static_cast<double>(x.values.size() / channels);
  ChannelMoments result{std::vector<double>(channels), std::vector<double>(channels)};
  for (std::size_t i = 0; i < x.values.size(); ++i) result.mean[i % channels] += x.values[i] / rows;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    result.variance[i % channels] += std::pow(x.values[i] - result.mean[i % channels], 2) / rows;
  }
  return result;
}

}  // namespace capstan::testing::reference
