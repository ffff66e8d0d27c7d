// support_matrix_check [FILE]: writes the support matrix of all ops to the file, or to standard output.
#include <cstdio>
#include <exception>
#include <fstream>

#include "tests/ops/support_matrix.h"

int main(int argc, char** argv) {
  try {
    const std::string page = capstan::testing::support_matrix();
    if (argc < 2) {
      std::fputs(page.c_str(), stdout);
      return 0;
    }
    if (argc > 2 || argv[1][0] == '-') {
      std::fputs("usage: support_matrix_check [FILE]\n", stderr);
      return 2;
    }
    std::ofstream file(argv[1], std::ios::binary);
    file << page;
    file.close();
    if (file) return 0;
    std::fprintf(stderr, "support_matrix_check: cannot write %s\n", argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "support_matrix_check: %s\n", error.what());
  }
  return 1;
}
