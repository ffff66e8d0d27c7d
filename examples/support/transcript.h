// What an example prints, checked.
//
// An example prints lines as its tutorial does and returns `finish(...)`, which compares them with what the original
// printed: exactly where the numbers are deterministic, else within ranges ('#' stands for a number). The ranges are
// what forty runs of the original gave, widened by two deviations.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace examples {

struct Range {
  double low;
  double high;
};

// A line with '#' for each number, and the ranges of the numbers.
struct Expected {
  std::string line;
  std::vector<Range> numbers = {};
};

class Transcript {
 public:
  // Prints a line, as printf does.
  [[gnu::format(printf, 2, 3)]] void print(const char* format, ...) {
    char buffer[1024];
    va_list list;
    va_start(list, format);
    std::vsnprintf(buffer, sizeof(buffer), format, list);
    va_end(list);
    std::puts(buffer);
    lines_.emplace_back(buffer);
  }

  // Compares everything printed; returns the program's exit code and says what differs.
  int finish(const std::vector<Expected>& expected) const {
    if (lines_.size() != expected.size()) {
      std::fprintf(stderr, "example: printed %zu lines instead of %zu\n", lines_.size(), expected.size());
      return 1;
    }
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!matches(lines_[i], expected[i])) {
        std::fprintf(stderr, "example: line %zu is\n  %s\ninstead of\n  %s\n", i + 1, lines_[i].c_str(),
                     expected[i].line.c_str());
        for (const Range& range : expected[i].numbers) std::fprintf(stderr, "  # in [%g, %g]\n", range.low, range.high);
        return 1;
      }
    }
    return 0;
  }

 private:
  static bool matches(const std::string& line, const Expected& expected) {
    const char* at = line.c_str();
    std::size_t number = 0;
    for (const char c : expected.line) {
      if (c != '#') {
        if (*at++ != c) return false;
        continue;
      }
      char* end = nullptr;
      const double value = std::strtod(at, &end);
      if (end == at || number >= expected.numbers.size()) return false;
      const Range& range = expected.numbers[number++];
      if (!(value >= range.low && value <= range.high)) return false;
      at = end;
    }
    return *at == '\0' && number == expected.numbers.size();
  }

  std::vector<std::string> lines_;
};

}  // namespace examples
