// nested_coverage_check [FILE]: writes what the programs that nest transforms reach to the file, or to standard output.
#include <cstdio>
#include <fstream>

#include "tests/nested/coverage.h"

int main(int argc, char** argv) {
  const std::string page = capstan::nested::coverage_page(capstan::nested::all_programs());
  if (argc < 2) {
    std::fputs(page.c_str(), stdout);
    return 0;
  }
  std::ofstream file(argv[1], std::ios::binary);
  file << page;
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "nested_coverage_check: cannot write %s\n", argv[1]);
  return 1;
}
