// Short forms for tests with small tensors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "capstan/tape.h"

namespace capstan::testing {

inline double value(const Tensor& tensor) { return tensor.item<double>(); }

// The elements of a tensor, row-major, within a relative distance (absolute below 1).
inline void expect_values(const Tensor& tensor, const std::vector<double>& want, double tolerance = 1e-6) {
  ASSERT_TRUE(tensor.has_value()) << "the gradient is missing";
  const std::vector<double> got = tensor.to_dense().to_vector<double>();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    } else {
      EXPECT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::abs(want[i]))) << "element " << i;
    }
  }
}

inline void expect_missing(const Tensor& tensor) {
  EXPECT_FALSE(tensor.has_value()) << "got " << tensor.to_string() << ", want a missing gradient";
}

// The exception of type E that `call` throws; its text holds `part`.
template <class E, class Call>
void expect_error(const Call& call, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace capstan::testing
