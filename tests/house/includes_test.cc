// What a file calls of the standard library it includes itself, or the header with its own name does. A precompiled
// header hides what is missing: builds without one (sanitizers, clang) then fail. Types that the library's own headers
// are made of (std::vector, std::string, std::map, ...) come with these.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/house/prose.h"
#include "tests/house/source_tree.h"

namespace capstan::house {
namespace {

const std::vector<std::pair<std::string, std::string>> kNames = {
    {"algorithm",
     "sort|stable_sort|find|find_if|find_if_not|max|min|any_of|all_of|none_of|count|count_if|copy|copy_n|copy_backward|"
     "copy_if|fill|fill_n|transform|reverse|rotate|max_element|min_element|minmax|minmax_element|clamp|equal|mismatch|"
     "lower_bound|upper_bound|equal_range|binary_search|unique|remove_if|nth_element|partial_sort|partition|shuffle|"
     "generate|for_each|is_sorted|search|includes|next_permutation|swap_ranges"},
    {"cmath",
     "fabs|isfinite|isnan|isinf|sqrt|cbrt|hypot|exp|exp2|expm1|log|log1p|log2|log10|pow|sin|cos|tan|asin|acos|atan|"
     "atan2|sinh|cosh|tanh|asinh|acosh|atanh|floor|ceil|round|trunc|nearbyint|rint|lround|llround|lrint|llrint|fmod|"
     "remainder|lgamma|tgamma|erf|erfc|fma|copysign|signbit|ldexp|frexp|nextafter"},
    {"cstdio", "printf|fprintf|snprintf|fopen|fclose|fputs|puts|fflush"},
    {"cstdlib", "getenv|exit|_Exit|abort|malloc|free|strtol|strtoll|strtoull|strtod|system"},
    {"cstring", "memcpy|memset|memcmp|memmove|memchr|strlen|strcmp|strerror"},
    {"iterator", "back_inserter|make_move_iterator|istreambuf_iterator|ostream_iterator"},
    {"numeric", "accumulate|iota|inner_product|partial_sum|gcd|lcm|reduce|exclusive_scan|inclusive_scan"},
    {"atomic", "atomic|atomic_ref"},
    {"chrono", "chrono"},
    {"complex", "complex"},
    {"condition_variable", "condition_variable"},
    {"deque", "deque"},
    {"filesystem", "filesystem"},
    {"fstream", "ifstream|ofstream|fstream"},
    {"iostream", "cout|cerr|cin"},
    {"limits", "numeric_limits"},
    {"mutex", "mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once"},
    {"random", "mt19937|mt19937_64|uniform_int_distribution|uniform_real_distribution|normal_distribution"},
    {"regex", "regex|smatch|regex_match|regex_search|regex_replace|sregex_iterator"},
    {"set", "set|multiset"},
    {"sstream", "ostringstream|istringstream|stringstream"},
    {"stdexcept", "runtime_error|logic_error|invalid_argument|out_of_range|length_error"},
    {"thread", "thread|jthread|this_thread"},
    {"unordered_map", "unordered_map"},
    {"unordered_set", "unordered_set"},
};

// Macros, with the headers that define them; those of <cstdint> come with the types.
const std::vector<std::pair<std::string, std::string>> kPlainNames = {
    {"cmath", "NAN|INFINITY|HUGE_VAL|M_PI|M_E|M_SQRT2|M_LN2"},
    {"climits", "INT_MAX|INT_MIN|LONG_MAX|LLONG_MAX|CHAR_BIT"},
    {"cfloat", "FLT_MAX|FLT_MIN|FLT_EPSILON|DBL_MAX|DBL_MIN|DBL_EPSILON"},
    {"cerrno", "errno|EINTR|ENOENT|EEXIST|ENOSPC"},
    {"cassert", "assert"},
};

// The standard headers that `file` includes, and the header with its own name.
std::set<std::string> included_by(const SourceFile& file) {
  std::set<std::string> found;
  const std::string own = file.path.substr(0, file.path.rfind('.')) + ".h";
  for (const Include& include : includes(file)) {
    found.insert(include.name);
    if (own != file.path && own.ends_with("/" + include.name)) found.merge(included_by({own, read_file(own)}));
  }
  return found;
}

// The names that `pattern`'s group finds in `code`.
std::set<std::string> names_in(const std::string& code, const std::regex& pattern) {
  std::set<std::string> names;
  for (std::sregex_iterator i(code.begin(), code.end(), pattern), end; i != end; ++i) names.insert((*i)[1]);
  return names;
}

TEST(Sources, IncludeTheStandardHeadersThatTheyCall) {
  static const std::regex in_std(R"(\bstd::(\w+))"), plain(R"(\b([A-Z][A-Z0-9_]+|errno|assert)\b)");
  std::string missing;
  int count = 0;
  for (const char* folder : {"include", "src", "tests", "examples", "benchmarks"}) {
    for (const SourceFile& file : source_files(folder)) {
      const std::string code = without_comments_and_texts(file.text);
      const std::set<std::string> included = included_by(file);
      const auto check = [&](const auto& headers, const std::set<std::string>& names, const char* before) {
        for (const auto& [header, offered] : headers) {
          for (std::size_t from = 0; from < offered.size();) {
            const std::size_t to = std::min(offered.find('|', from), offered.size());
            const std::string name = offered.substr(from, to - from);
            from = to + 1;
            if (!names.contains(name)) continue;
            ++count;
            if (!included.contains(header))
              missing.append("\n").append(file.path).append(" has ").append(before).append(name).append(": <").append(
                  header + ">");
          }
        }
      };
      check(kNames, names_in(code, in_std), "std::");
      check(kPlainNames, names_in(code, plain), "");
    }
  }
  EXPECT_EQ(missing, "") << "these are not included";
  EXPECT_GT(count, 1000) << "the names were not found";
}

}  // namespace
}  // namespace capstan::house
