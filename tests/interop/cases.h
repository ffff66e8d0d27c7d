// Cases that are counted: what the programs of this folder share. cases.py counts the lines.
#pragma once

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

namespace capstan::interop {

// Runs a case and prints whether it was right; it fails with an exception.
class Cases {
 public:
  template <class F>
  void run(const std::string& name, F&& function) {
    try {
      const std::string text = function();
      std::printf("%-28s right %s\n", name.c_str(), text.c_str());
    } catch (const std::exception& error) {
      ++failed_;
      std::printf("%-28s WRONG %s\n", name.c_str(), error.what());
    }
    ++count_;
  }
  // The exit status.
  int finish() const { return failed_ == 0 && count_ > 0 ? 0 : 1; }

 private:
  int count_ = 0, failed_ = 0;
};

inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

// main() of a program `NAME write FOLDER | read FOLDER`, whose parts are given.
template <class Write, class Read>
int write_or_read(int count, char** arguments, Write&& write, Read&& read) {
  const std::string what = count == 3 ? arguments[1] : "";
  if (what == "write") {
    write(std::string(arguments[2]));
    return 0;
  }
  if (what == "read") {
    Cases cases;
    read(std::string(arguments[2]), cases);
    return cases.finish();
  }
  std::fprintf(stderr, "%s write FOLDER | read FOLDER\n", arguments[0]);
  return 2;
}

}  // namespace capstan::interop
