// Every formula of the library as machine code: the bits of the library's own loops.
#include <gtest/gtest.h>

#include <cstring>
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "src/core/op_def.h"
#include "src/emit/fused_loop.h"
#include "src/ops/registry.h"
#include "tests/emit/loop_values.h"

namespace capstan::testing {
namespace {

using Access = FusedLoop::Access;
using Store = FusedLoop::Store;

constexpr double kParameters[5] = {0.3, 0.7, 0, 0, 0};
constexpr std::size_t kLongest = 1000;

std::vector<const OpDef*> ops_with_formulas() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    // `where` has operands of two types: see fused_loop_test.cc.
    if (op->kind == OpKind::kElementwise && op->formula != nullptr && !has_flag(*op, kConditionFirst))
      ops.push_back(op);
  }
  return ops;
}

// A loop of one formula over five arrays.
FusedLoop loop_of(const MicroCode& code, DType dtype, bool boolean) {
  FusedLoop loop;
  loop.dtype = dtype;
  loop.inputs.assign(5, {Access::kFull});
  FusedLoop::Node node{&code, {0, 1, 2, 3, 4}};
  std::copy(std::begin(kParameters), std::end(kParameters), node.parameters);
  node.boolean = boolean;
  loop.nodes.push_back(node);
  loop.outputs.push_back({5, Store::kFull});
  return loop;
}

// What the formula gives for the first n elements, by machine code and by the library's loop.
template <class T, class Out>
void compare(const MicroCode& code, Loop loop, int set, const std::string& what) {
  const FusedKernel kernel = emit_fused_loop(loop_of(code, dtype_of<T>(), std::is_same_v<Out, bool>), set);
  ASSERT_NE(kernel, nullptr) << what;
  Random random(what);
  std::vector<std::vector<T>> in;
  LoopArgs args{};
  const void* pointers[5];
  for (int k = 0; k < 5; ++k) {
    in.push_back(numbers<T>(kLongest, random));
    args.in[k] = pointers[k] = in.back().data();
  }
  args.parameters = kParameters;
  for (std::size_t n = 0; n <= kLongest; n = n == 70 ? kLongest : n + 1) {
    std::vector<unsigned char> want(n * sizeof(Out) + 1);
    args.out = want.data();
    args.n = static_cast<std::int64_t>(n);
    loop(args);
    Guarded<Out> got(n);
    void* out = got.data();
    kernel({pointers, &out, 1, args.n});
    ASSERT_TRUE(got.intact()) << what << ", " << n << " elements";
    for (std::size_t i = 0; i < n; ++i) {
      Out expected;
      std::memcpy(&expected, want.data() + i * sizeof(Out), sizeof(Out));
      ASSERT_TRUE(same_bits<Out>(got[i], expected))
          << what << ", element " << i << " of " << n << ": " << +got[i] << " should be " << +expected << "; operands "
          << +in[0][i] << ", " << +in[1][i] << ", " << +in[2][i] << ", " << +in[3][i] << ", " << +in[4][i];
    }
    if (n == kLongest) break;
  }
}

template <class T>
void compare_all(int set) {
  constexpr DType dtype = dtype_of<T>();
  for (const OpDef* op : ops_with_formulas()) {
    const LoopTable& loops = *op->loops[set];
    const std::string name(op->name);
    const auto at = static_cast<std::size_t>(dtype);
    if (loops.forward[at] != nullptr && can_emit(op->formula->forward, dtype)) {
      if (has_flag(*op, kBooleanResult)) {
        compare<T, bool>(op->formula->forward, loops.forward[at], set, name);
      } else {
        compare<T, T>(op->formula->forward, loops.forward[at], set, name);
      }
    }
    for (int input = 0; input < op->inputs.count; ++input) {
      const MicroCode& code = op->formula->vjp[input];
      const Loop loop = loops.vjp[input][at];
      if (loop == nullptr || code.result < 0 || !can_emit(code, dtype)) continue;
      compare<T, T>(code, loop, set, name + ", derivative by input " + std::to_string(input));
    }
  }
}

TEST(EveryFormula, HasTheBitsOfTheLoopsInFloat32) {
  for (const int set : emitting_sets()) compare_all<float>(set);
}

TEST(EveryFormula, HasTheBitsOfTheLoopsInFloat64) {
  for (const int set : emitting_sets()) compare_all<double>(set);
}

TEST(EveryFormula, CanBeEmittedWhereItHasAVectorForm) {
  std::set<std::string> refused;
  for (const OpDef* op : ops_with_formulas()) {
    if (op->loops[kAvx2]->forward[static_cast<std::size_t>(DType::kFloat32)] == nullptr) continue;
    if (!can_emit(op->formula->forward)) refused.insert(std::string(op->name));
  }
  for (const char* name :
       {"add",      "subtract", "multiply", "divide", "negative", "exp",    "log",   "tanh",  "sigmoid",
        "softplus", "log1p",    "expm1",    "erf",    "sqrt",     "rsqrt",  "relu",  "elu",   "gelu",
        "maximum",  "minimum",  "square",   "less",   "equal",    "is_nan", "floor", "round", "floordiv"}) {
    EXPECT_EQ(refused.count(name), 0u) << name;
  }
  // These go from element to element in the library's loops as well.
  for (const char* name : {"atan2", "asinh", "pow"}) EXPECT_EQ(refused.count(name), 1u) << name;
  std::string all;
  for (const std::string& name : refused) all += name + " ";
  RecordProperty("refused", all);
}

TEST(EveryFormula, CannotBeEmittedForIntegers) {
  const OpDef* add = find_op("add");
  ASSERT_NE(add, nullptr);
  EXPECT_TRUE(can_emit(add->formula->forward, DType::kFloat64));
  EXPECT_FALSE(can_emit(add->formula->forward, DType::kInt32));
  EXPECT_EQ(emit_fused_loop(loop_of(add->formula->forward, DType::kInt32, false)), nullptr);
}

}  // namespace
}  // namespace capstan::testing
