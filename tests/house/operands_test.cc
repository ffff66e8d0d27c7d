// A given-up operand may be consumed by the first op that it is passed to, so a body passes each of its operands to one
// op, or makes a tensor of it with to_tensor(), which shares. See Operand in capstan/tensor.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/house/prose.h"
#include "tests/house/source_tree.h"

namespace capstan::house {
namespace {

// Functions that look at an operand and leave it as it is.
const std::set<std::string> kOnlyLook = {"to_tensor", "is_complex_operand", "is_integer_call", "any_integer",
                                         "block_of",  "has_shape_of",       "end_dtype",       "end_point",
                                         "cut",       "dtype_of_operand"};

bool is_word(char c) { return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_'; }

// The function that an argument at `at` is passed to; empty if it is not one.
std::string callee(const std::string& code, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i-- > 0;) {
    if (code[i] == ')' || code[i] == '}') ++depth;
    if (code[i] == '{' && depth-- == 0) return "{";
    if (code[i] == ';') return "";
    if (code[i] != '(' || depth-- != 0) continue;
    std::size_t begin = i;
    while (begin > 0 && is_word(code[begin - 1])) --begin;
    return code.substr(begin, i - begin);
  }
  return "";
}

// Where a name is passed on as it is, in one statement.
int passed_on(const std::string& statement, const std::string& name) {
  int count = 0;
  for (std::size_t at = statement.find(name); at != std::string::npos; at = statement.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (at > 0 && (is_word(statement[at - 1]) || statement[at - 1] == '.' || statement[at - 1] == '>' ||
                   statement[at - 1] == '&' || statement[at - 1] == ':')) {
      continue;
    }
    if (end < statement.size() && (is_word(statement[end]) || statement[end] == '.' || statement[end] == '(')) continue;
    const std::string to = callee(statement, at);
    if (!to.empty() && kOnlyLook.count(to) == 0) ++count;
  }
  return count;
}

// The operands that a source file passes on more than once on one way through a function.
std::vector<std::string> passed_twice(const std::string& text) {
  static const std::regex parameters(R"(\(([^(){}]*\bOperand&? \w+[^(){}]*)\)\s*\{)");
  static const std::regex parameter(R"(\bOperand&? (\w+))");
  const std::string code = without_comments_and_texts(text);
  std::vector<std::string> found;
  for (std::sregex_iterator i(code.begin(), code.end(), parameters), end; i != end; ++i) {
    std::size_t at = static_cast<std::size_t>(i->position() + i->length());
    std::vector<std::string> statements{""};
    for (int depth = 1; depth > 0 && at < code.size(); ++at) {
      depth += code[at] == '{' ? 1 : code[at] == '}' ? -1 : 0;
      statements.back() += code[at];
      if (code[at] == ';') statements.emplace_back();
    }
    const std::string list = (*i)[1];
    for (std::sregex_iterator p(list.begin(), list.end(), parameter); p != end; ++p) {
      const std::string name = (*p)[1];
      int before = 0;     // in statements that go on
      int returning = 0;  // in the worst of those that do not, of which one runs
      for (const std::string& statement : statements) {
        const int count = passed_on(statement, name);
        const bool returns = statement.find("return") != std::string::npos;
        const bool one_of_two = statement.find('?') != std::string::npos;
        if (returns) returning = std::max(returning, one_of_two ? std::min(count, 1) : count);
        if (!returns) before += one_of_two ? std::min(count, 1) : count;
      }
      if (before + returning > 1) found.push_back(name);
    }
  }
  return found;
}

TEST(Operands, ArePassedOnOnce) {
  int files = 0;
  for (const SourceFile& file : source_files("src")) {
    if (file.text.find("Operand") == std::string::npos) continue;
    ++files;
    for (const std::string& name : passed_twice(file.text)) {
      ADD_FAILURE() << file.path << ": the operand " << name
                    << " is passed on twice; a tensor from to_tensor() can be read as often as one likes";
    }
  }
  EXPECT_GT(files, 100);
}

TEST(Operands, ArePassedOnTwiceInSuchCode) {
  EXPECT_EQ(passed_twice("Tensor f(Operand x) { return add(x, square(x)); }"), std::vector<std::string>{"x"});
  EXPECT_EQ(passed_twice("Tensor f(Operand x) { const Tensor y = square(x); return add(x, y); }"),
            std::vector<std::string>{"x"});
  EXPECT_TRUE(passed_twice("Tensor f(Operand x) { return c ? square(x) : apply(kAbs, x); }").empty());
  EXPECT_TRUE(passed_twice("Tensor f(Operand x) { if (c) return square(x); return apply(kAbs, x); }").empty());
  EXPECT_TRUE(passed_twice("Tensor f(Operand x) { const Tensor y = to_tensor(x); return add(y, x); }").empty());
  EXPECT_TRUE(passed_twice("Tensor f(Operand x) { if (x.is_literal()) return g(x); return apply(k, x); }").empty());
}

}  // namespace
}  // namespace capstan::house
