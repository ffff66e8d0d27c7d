// What the compiler says of programs that cannot be: one sentence of the library, not the inside of its templates.
//
// All mistakes of one test are in one file, since most of the time of a compiler goes into the headers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

namespace capstan::house {
namespace {

// What the compiler prints for a program that includes `header`.
std::string diagnostics(const std::string& name, const std::string& standard, const std::string& program) {
  const std::string path = std::string(CAPSTAN_BINARY_DIR) + "/compile_errors_" + name + ".cc";
  std::ofstream(path) << program;
  const std::string command = std::string(CAPSTAN_CXX_COMPILER) + " -std=" + standard +
                              " -fsyntax-only -I" CAPSTAN_SOURCE_DIR "/include " + path + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part;
  while (std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

std::ptrdiff_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

std::ptrdiff_t count_of(const std::string& text, const std::string& what) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(CompileErrors, SayWhatAStructureIs) {
  const std::string text = diagnostics("structures", "c++20", R"(
#include <capstan/tape.h>
#include <unordered_map>
struct Plain { capstan::Tensor a; };
void f(capstan::GradientTape& tape, const capstan::Tensor& y) {
  tape.gradient(y, std::vector<capstan::Variable*>());
  tape.gradient(y, std::unordered_map<std::string, capstan::Tensor>());
  tape.gradient(y, Plain());
}
)");
  EXPECT_EQ(count_of(text, "error: "), 3) << text;
  EXPECT_EQ(count_of(text, "a structure consists of tensors and variables in std::vector"), 3) << text;
  EXPECT_LE(lines_of(text), 60) << text;
}

TEST(CompileErrors, SayWhatAFunctionWithAGradientReturns) {
  const std::string text = diagnostics("custom_gradient", "c++20", R"(
#include <capstan/tape.h>
capstan::Tensor f(const capstan::Tensor& x) {
  return capstan::custom_gradient([](const capstan::Tensor& y) { return y; })(x);
}
)");
  EXPECT_EQ(count_of(text, "a function for custom_gradient returns std::pair(result, gradient)"), 1) << text;
  EXPECT_LE(lines_of(text), 20) << text;
}

TEST(CompileErrors, SayWhatAnElementIs) {
  const std::string text = diagnostics("elements", "c++20", R"(
#include <capstan/tensor.h>
void f(const capstan::Tensor& x) {
  x.item<std::string>();
  x.to_vector<const char*>();
  x.data<long long>();
  capstan::constant(std::vector<std::string>{"a"});
}
)");
  EXPECT_GE(count_of(text, "an element type is float, double, BFloat16, std::int32_t"), 3) << text;
  EXPECT_LE(lines_of(text), 40) << text;
}

TEST(CompileErrors, StopAssignmentsToTemporaries) {
  const std::string text = diagnostics("temporaries", "c++20", R"(
#include <capstan/variable.h>
void f(capstan::Tensor x, capstan::Variable v, const capstan::Tensor& y) {
  x[0] = y;
  x(1, 1) = y;
  v[0] = y;
  x[0] += y;
}
)");
  EXPECT_EQ(count_of(text, "error: "), 4) << text;
}

TEST(CompileErrors, StopTruthValuesForAxes) {
  const std::string text = diagnostics("axes", "c++20", R"(
#include <capstan/ops/reduce.h>
void f(const capstan::Tensor& x) {
  reduce_sum(x, true);
  reduce_sum(x, {true});
  x(true);
}
)");
  EXPECT_GE(count_of(text, "error: "), 3) << text;
}

TEST(CompileErrors, SayHowALayerIsMade) {
  const std::string text = diagnostics("layers", "c++20", R"(
#include <capstan/models.h>
using namespace capstan;
class Scale : public LayerBody {
  Tensor call(const Tensor& x, const CallOptions&) override { return x; }
};
class WithoutCall : public LayerBody {};
class Private : LayerBody {
  Tensor call(const Tensor& x, const CallOptions&) override { return x; }
};
void f(const Tensor& x) {
  Scale scale;
  scale(x, {.training = true});
  std::vector<Layer> list;
  list.push_back(scale);
  LayerOf<Scale> too_many(1, 2);
  LayerOf<WithoutCall> without_call;
  LayerOf<Private> hidden;
}
)");
  EXPECT_EQ(count_of(text, "a layer of your own is made by LayerOf<Class> layer(arguments of the constructor)"), 1)
      << text;
  EXPECT_GE(count_of(text, "a layer of your own is made by LayerOf<Class>(arguments of the constructor)"), 1) << text;
  EXPECT_EQ(count_of(text, "no matching function for call to"), 1) << text;
  EXPECT_EQ(count_of(text, "a layer of your own overrides Tensor call(const Tensor& x, const CallOptions& options)"), 1)
      << text;
  EXPECT_EQ(count_of(text, "the class of a layer derives publicly from LayerBody or ModelBody"), 1) << text;
  EXPECT_LE(lines_of(text), 80) << text;
}

TEST(CompileErrors, StopCopiesOfBodies) {
  const std::string text = diagnostics("bodies", "c++20", R"(
#include <capstan/models.h>
using namespace capstan;
class Scale : public LayerBody {
  Tensor call(const Tensor& x, const CallOptions&) override { return x; }
};
void f(LayerOf<Scale>& scale, Layer& any) {
  Scale copy = *scale;
  Scale moved = std::move(*scale);
  *scale = *scale;
  LayerOf<Scale> narrowed = any;
}
)");
  // The line of the mistake follows its error.
  for (const char* line : {"Scale copy = *scale;\n", "Scale moved = std::move(*scale);\n", "*scale = *scale;\n"})
    EXPECT_EQ(count_of(text, line), 1) << text;
  EXPECT_GE(count_of(text, "error: use of deleted function"), 3) << text;
  EXPECT_EQ(count_of(text, "error: conversion from"), 1) << text;
}

TEST(CompileErrors, NameTheStandardThatIsNeeded) {
  const std::string text = diagnostics("standard", "c++17", "#include <capstan/capstan.h>\n");
  EXPECT_NE(text.find("Capstan needs C++20: compile with -std=c++20"), std::string::npos) << text;
  EXPECT_LE(lines_of(text), 15) << text;
}

}  // namespace
}  // namespace capstan::house
