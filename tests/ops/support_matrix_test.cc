// The page docs/support-matrix.md says what is so.
#include "tests/ops/support_matrix.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace capstan::testing {
namespace {

TEST(SupportMatrix, IsUpToDate) {
  std::ifstream file(support_matrix_path(), std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  std::istringstream have(text.str());
  std::istringstream want(support_matrix());
  std::string have_line;
  std::string want_line;
  while (std::getline(want, want_line)) {
    std::getline(have, have_line);
    ASSERT_EQ(have_line, want_line) << "build/release/tests/support_matrix_check docs/support-matrix.md writes it anew";
  }
  EXPECT_FALSE(std::getline(have, have_line)) << "there is more on the page: " << have_line;
}

}  // namespace
}  // namespace capstan::testing
