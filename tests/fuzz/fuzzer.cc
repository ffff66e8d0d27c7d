// The entry points of libFuzzer, for every reader: a program `NAME_fuzzer` runs the reader NAME.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "capstan/error.h"
#include "tests/fuzz/readers.h"

namespace {
const capstan::testing::FileReader* reader = nullptr;
}  // namespace

extern "C" int LLVMFuzzerInitialize(const int* /*argc*/, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerInitialize(const int* /*argc*/, char*** argv) {
  std::string_view name = **argv;
  name.remove_prefix(name.rfind('/') + 1);
  name = name.substr(0, name.rfind("_fuzzer"));
  reader = capstan::testing::find_file_reader(name);
  if (reader == nullptr) {
    std::fprintf(stderr, "%s: there is no reader of this name\n", **argv);
    std::exit(2);
  }
  return 0;
}

// Anything but an IoError ends the program, which libFuzzer reports.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    reader->read({data, size});
  } catch (const capstan::IoError&) {
  }
  return 0;
}
