#include "tests/op_samples/op_test.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "src/core/op_def.h"

namespace capstan::testing {

namespace {

std::map<std::string_view, OpTest>& tests_by_name() {
  static auto* const tests = new std::map<std::string_view, OpTest>;
  return *tests;
}

}  // namespace

OpTests::OpTests(std::initializer_list<NamedOpTest> tests) {
  for (const NamedOpTest& named : tests) {
    if (tests_by_name().emplace(named.op, named.test).second) continue;
    std::fprintf(stderr, "two entries of samples for the op \"%s\"\n", std::string(named.op).c_str());
    std::abort();
  }
}

const OpTest* test_of(const OpDef& op) {
  static const OpTest plain;
  const auto found = tests_by_name().find(op.name);
  if (found != tests_by_name().end()) return &found->second;
  return op.kind == OpKind::kElementwise ? &plain : nullptr;
}

std::vector<std::string_view> tested_ops() {
  std::vector<std::string_view> names;
  for (const auto& [name, test] : tests_by_name()) names.push_back(name);
  return names;
}

}  // namespace capstan::testing
