// Programs in which every transform is nested in every other agree with the same mathematics without Capstan.
//
// A failure prints the program, made small, as C++. CAPSTAN_NESTED_PROGRAMS="FIRST LAST" runs those with the numbers
// from FIRST to before LAST, of which each is computed in three ways; "FIRST LAST all" in all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "tests/nested/check.h"
#include "tests/nested/coverage.h"
#include "tests/nested/cpp_text.h"
#include "tests/nested/generate.h"
#include "tests/nested/reference.h"

namespace capstan::nested {
namespace {

constexpr unsigned kChunks = 5;
constexpr unsigned kReportEvery = 1000;

// Every second program on a thread of its own, which has not recorded anything yet.
std::optional<Failure> check_on_some_thread(const Program& program, const std::vector<Mode>& modes) {
  if (program.number % 2 == 0) return check(program, modes);
  std::optional<Failure> failure;
  std::thread([&] { failure = check(program, modes); }).join();
  return failure;
}

// Reports at most a few: one defect fails many programs.
void expect_agreement(unsigned first, unsigned last, bool in_all_modes) {
  constexpr int kMostReports = 5;
  Counts counts;
  int failures = 0;
  for (unsigned number = first; number < last; ++number) {
    const Program program = generate_suitable(number);
    const std::vector<Mode> modes = in_all_modes ? all_modes() : some_modes(program);
    ++counts.programs;
    for (const Mode& mode : modes) counts.add(program, mode);
    const std::optional<Failure> failure = check_on_some_thread(program, modes);
    if (!in_all_modes && (number - first) % kReportEvery == kReportEvery - 1) {
      std::printf("%u of %u programs, %d failures\n", number + 1 - first, last - first, failures);
      std::fflush(stdout);
    }
    if (!failure) continue;
    ++failures;
    if (failures <= kMostReports) {
      ADD_FAILURE() << "program " << number << ", " << name_of(failure->mode) << ": " << failure->text << "\n"
                    << report(program, *failure);
    } else {
      std::printf("program %u fails: %s: %s\n", number, name_of(failure->mode).c_str(), failure->text.c_str());
    }
  }
  std::printf("%s", counts.text().c_str());
  EXPECT_EQ(failures, 0);
}

class NestedPrograms : public ::testing::TestWithParam<unsigned> {};

TEST_P(NestedPrograms, AgreeWithPlainCode) {
  const unsigned size = kPrograms / kChunks;
  expect_agreement(GetParam() * size, (GetParam() + 1) * size, true);
}

INSTANTIATE_TEST_SUITE_P(Chunk, NestedPrograms, ::testing::Range(0u, kChunks));

TEST(NestedCampaign, AgreesWithPlainCode) {
  const char* const range = std::getenv("CAPSTAN_NESTED_PROGRAMS");
  if (range == nullptr) GTEST_SKIP() << "CAPSTAN_NESTED_PROGRAMS is not set";
  unsigned first = 0;
  unsigned last = 0;
  char modes[4] = "";
  ASSERT_GE(std::sscanf(range, "%u %u %3s", &first, &last, modes), 2)
      << "CAPSTAN_NESTED_PROGRAMS is \"FIRST LAST\" or \"FIRST LAST all\"";
  expect_agreement(first, last, modes == std::string("all"));
}

TEST(NestedReference, AgreesWithCentralDifferences) {
  constexpr double kStep = 1e-5;
  for (unsigned number = 0; number < kPrograms; number += 3) {
    const Program program = generate_suitable(number);
    // Their derivatives are not those of their values.
    if (uses(program.root, Op::kStopGradient) || uses(program.root, Op::kCustomGradient)) continue;
    const Expected expected = evaluate_plainly(program, direction_of(number));
    for (std::size_t i = 0; i < kCoordinates; ++i) {
      auto above = program.leaves;
      auto below = program.leaves;
      above[i] += kStep;
      below[i] -= kStep;
      const double want = (plain_value(program, above) - plain_value(program, below)) / (2 * kStep);
      EXPECT_NEAR(expected.gradient[i].value, want, 1e-6 * (1 + std::fabs(want))) << "program " << number;
    }
  }
}

TEST(NestedCoverage, IsEveryTransformInEveryOtherAsThePageSays) {
  const std::vector<Program> programs = all_programs();
  const Pairs pairs = pairs_of(programs);
  for (int inside = 0; inside < kTransforms; ++inside) {
    for (int around = 0; around < kTransforms; ++around) {
      EXPECT_GT(pairs[static_cast<std::size_t>(inside)][static_cast<std::size_t>(around)], 0)
          << name_of(transform(inside)) << " in " << name_of(transform(around));
    }
  }
  std::ifstream file(coverage_page_path(), std::ios::binary);
  std::stringstream have;
  have << file.rdbuf();
  EXPECT_EQ(have.str(), coverage_page(programs))
      << "build/release/tests/nested_coverage_check docs/nested-coverage.md writes it anew";
}

// Every op of a program, in as few programs as it takes.
std::vector<Program> programs_with_every_op() {
  std::set<int> missing;
  for (int op = 0; op <= static_cast<int>(Op::kOdeint); ++op) missing.insert(op);
  std::vector<Program> programs;
  for (const int least : {4, 1}) {
    for (unsigned number = 0; number < kPrograms && !missing.empty(); number += 7) {
      Program program = generate_suitable(number);
      const auto is_new = [&](int op) { return uses(program.root, static_cast<Op>(op)); };
      if (std::ranges::count_if(missing, is_new) < least) continue;
      std::erase_if(missing, is_new);
      programs.push_back(std::move(program));
    }
  }
  EXPECT_TRUE(missing.empty());
  return programs;
}

TEST(NestedText, IsWhatACompilerTakes) {
  const std::string path = ::testing::TempDir() + "nested_text.cc";
  std::ofstream file(path);
  const std::vector<Mode> modes = all_modes();
  const std::string head_end = "using namespace capstan;\n";
  std::size_t count = 0;
  for (const Program& program : programs_with_every_op()) {
    const std::string text = cpp_text(program, modes[count % modes.size()], "no failure");
    const std::size_t end = text.find(head_end) + head_end.size();
    if (count == 0) file << text.substr(0, end);
    file << "namespace program" << count << " {\n" << text.substr(end, text.find("int main()") - end) << "}\n";
    count += 3;
  }
  file.close();
  const std::string command =
      std::string(CAPSTAN_CXX_COMPILER) + " -std=c++20 -fsyntax-only -I" + CAPSTAN_SOURCE_DIR + "/include " + path;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace
}  // namespace capstan::nested
