// Reaches into the library for files: a folder without digits is an error, and an exception crosses
// the border.
#include <capstan/capstan.h>

#include <cstdio>

int main() {
  try {
    capstan::datasets::mnist::load_data("/there/is/no/such/folder");
  } catch (const capstan::IoError& error) {
    std::printf("%s\n", error.what());
    return 0;
  }
  return 1;
}
