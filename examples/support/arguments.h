// The command line of an example.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

/// What a program was given: switches, and options with a value. `usage` has a line for each, "--picture FILE  what it
/// is" or "--switch  what it is". With --help, or an argument that is not in the list, the usage is printed and the
/// program ends. So does, with its message and status 1, an exception that nobody catches, such as that of a file that
/// is not there.
///
///     const examples::Arguments arguments(argc, argv, {"--data DIR      the MNIST files"});
///     if (const auto directory = arguments.value("--data")) ...
class Arguments {
 public:
  Arguments(int argc, char** argv, const std::vector<std::string>& usage) {
    std::set_terminate(tell);
    const std::vector<std::string> given(argv + 1, argv + argc);
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i] == "--help") leave(argv[0], usage, 0);
      const std::optional<bool> takes_value = find(usage, given[i]);
      if (!takes_value || (*takes_value && i + 1 == given.size())) {
        std::fprintf(stderr, "example: %s %s\n", given[i].c_str(), takes_value ? "needs a value" : "is not known");
        leave(argv[0], usage, 1);
      }
      const std::string& name = given[i];
      values_[name] = *takes_value ? given[++i] : "";
    }
  }

  bool has(const std::string& name) const { return values_.contains(name); }
  /// Nothing if the option was not given.
  std::optional<std::string> value(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  /// The number that an option was given, from 1 to a million; `otherwise` without it. Ends the program for any other.
  int number(const std::string& name, int otherwise) const {
    if (!has(name)) return otherwise;
    const std::string& text = values_.at(name);
    char* end = nullptr;
    const long number = std::strtol(text.c_str(), &end, 10);
    if (end == text.c_str() || *end != '\0' || number < 1 || number > 1000000) {
      std::fprintf(stderr, "example: %s %s is no number from 1 to 1000000\n", name.c_str(), text.c_str());
      std::exit(1);
    }
    return static_cast<int>(number);
  }

 private:
  // Whether an option takes a value; nothing if there is none of this name.
  static std::optional<bool> find(const std::vector<std::string>& usage, std::string_view name) {
    for (const std::string& line : usage) {
      const std::size_t end = std::min(line.find(' '), line.size());
      if (std::string_view(line).substr(0, end) != name) continue;
      return end + 1 < line.size() && line[end + 1] >= 'A' && line[end + 1] <= 'Z';
    }
    return std::nullopt;
  }

  [[noreturn]] static void tell() {
    try {
      if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    } catch (...) {
    }
    std::fflush(nullptr);
    std::_Exit(1);
  }

  [[noreturn]] static void leave(const char* program, const std::vector<std::string>& usage, int status) {
    std::FILE* const out = status == 0 ? stdout : stderr;
    std::fprintf(out, "usage: %s [options]\n", program);
    for (const std::string& line : usage) std::fprintf(out, "  %s\n", line.c_str());
    std::exit(status);
  }

  std::map<std::string, std::string> values_;
};

}  // namespace examples
