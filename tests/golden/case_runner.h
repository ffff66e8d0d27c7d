// Runs one case of the files of golden values (tests/golden/README.md) through the library.
//
// Ops are found and called by their names, with attributes from the file: the same road that
// bindings and importers take. Gradients go through tapes.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "tests/support/golden_json.h"

namespace capstan::testing {

enum class Verdict {
  kPassed,
  kFailed,
  kLacking,  // an op, a dtype or the value of an attribute that the library does not have
  kNoWish,   // a limit of the original, which the library need not share
};

struct CaseResult {
  Verdict verdict = Verdict::kPassed;
  std::string reason;
};

// The name of the library's op for a name in the files, which has TensorFlow's module in front:
// "nn.relu" is "relu".
std::string op_name(std::string_view name);

CaseResult run_case(const Json& json);

// A case of programs.json.
CaseResult run_program(const Json& json);

// The ops of the library that any case of a file calls.
std::set<std::string> known_ops(const Json& file);

}  // namespace capstan::testing
