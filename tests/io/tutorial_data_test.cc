// The archives that NumPy itself wrote for the examples, stored without compression and with zip64
// fields.
#include <gtest/gtest.h>

#include "src/io/npz.h"

namespace capstan::io {
namespace {

struct Expected {
  const char* file;
  const char* x;
  const char* y;
  float first, last;  // of x
};

TEST(TutorialData, IsWhatNumPyDrew) {
  for (const Expected& expected : {Expected{"000_linear", "float32[100, 1]", "float32[100, 1]", -1.0f, 1.0f},
                                   {"001_clipping", "float32[100, 20]", "int64[100]", 0.496714145f, -0.74490267f},
                                   {"001_losses", "float32[200, 30]", "int64[200]", 1.76405239f, 0.286518276f},
                                   {"001_training_step", "float32[500, 20]", "int64[500]", 0.496714145f, 0.644388437f},
                                   {"001_validation", "float32[100, 10]", "int64[100]", 1.62434542f, -0.18695502f}}) {
    const auto arrays = read_npz(std::string(CAPSTAN_SOURCE_DIR) + "/examples/data/" + expected.file + ".npz");
    ASSERT_EQ(arrays.size(), 2u) << expected.file;
    EXPECT_EQ(arrays.at("x").description(), expected.x) << expected.file;
    EXPECT_EQ(arrays.at("y").description(), expected.y) << expected.file;
    EXPECT_EQ(arrays.at("x").values<float>().front(), expected.first) << expected.file;
    EXPECT_EQ(arrays.at("x").values<float>().back(), expected.last) << expected.file;
  }
}

}  // namespace
}  // namespace capstan::io
