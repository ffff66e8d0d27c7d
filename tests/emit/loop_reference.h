// Fused loops one value at a time, with the library's own loops: what machine code must give.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <cstring>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/core/op_def.h"
#include "src/emit/fused_loop.h"
#include "src/ops/registry.h"
#include "tests/emit/loop_values.h"

namespace capstan::testing {

// A formula of the library with the loop that computes it.
struct Formula {
  std::string name;
  const MicroCode* code;
  const OpDef* op;
  int input;  // of the derivative, or -1
  bool boolean;
  std::uint8_t reads;  // by bits of LoopArgs::in
};

// Those that can be emitted, of float32 and float64 alike.
inline const std::vector<Formula>& formulas() {
  static const std::vector<Formula> all = [] {
    std::vector<Formula> found;
    for (const OpDef* op : all_ops()) {
      if (op->kind != OpKind::kElementwise || op->formula == nullptr || has_flag(*op, kConditionFirst)) continue;
      const auto at = static_cast<std::size_t>(DType::kFloat32);
      const auto emits = [](const MicroCode& code) {
        return can_emit(code, DType::kFloat32) && can_emit(code, DType::kFloat64);
      };
      if (op->loops[kAvx2]->forward[at] != nullptr && emits(op->formula->forward)) {
        const auto reads = static_cast<std::uint8_t>((1u << op->inputs.count) - 1);
        found.push_back({std::string(op->name), &op->formula->forward, op, -1, has_flag(*op, kBooleanResult), reads});
      }
      for (int i = 0; i < op->inputs.count; ++i) {
        const MicroCode& code = op->formula->vjp[i];
        if (code.result < 0 || op->loops[kAvx2]->vjp[i][at] == nullptr || !emits(code)) continue;
        found.push_back({std::string(op->name) + "/" + std::to_string(i), &code, op, i, false, op->reads[i]});
      }
    }
    return found;
  }();
  return all;
}

inline const Formula& formula(const std::string& name) {
  for (const Formula& f : formulas()) {
    if (f.name == name) return f;
  }
  throw std::runtime_error("no formula " + name);
}

// A loop with what stands in its operands.
template <class T>
struct LoopCase {
  FusedLoop loop;
  std::vector<const Formula*> formulas;  // of the nodes
  std::int64_t rows = 1, columns = 1;
  std::vector<std::vector<T>> inputs;  // truth values are 0 and 1

  explicit LoopCase(std::int64_t row_count = 1, std::int64_t column_count = 1)
      : rows(row_count), columns(column_count) {
    loop.dtype = dtype_of<T>();
  }

  std::size_t size() const { return static_cast<std::size_t>(rows * columns); }
  std::size_t size_of(FusedLoop::Access access) const {
    switch (access) {
      case FusedLoop::Access::kFull:
        return size();
      case FusedLoop::Access::kRow:
        return static_cast<std::size_t>(columns);
      case FusedLoop::Access::kColumn:
        return static_cast<std::size_t>(rows);
      default:
        return 1;
    }
  }
  int add_input(FusedLoop::Access access, Random& random, bool boolean = false, bool ordinary = false) {
    loop.inputs.push_back({access, boolean});
    inputs.push_back(numbers<T>(size_of(access), random, ordinary));
    if (boolean) {
      for (T& value : inputs.back()) value = value > 0 ? T(1) : T(0);
    }
    return static_cast<int>(inputs.size()) - 1;
  }
  // Call after the last input.
  int add_node(const Formula& f, std::vector<int> operands) {
    FusedLoop::Node node;
    node.code = f.code;
    std::copy(operands.begin(), operands.end(), node.operands);
    node.parameters[0] = 0.3;
    node.parameters[1] = 0.7;
    node.boolean = f.boolean;
    loop.nodes.push_back(node);
    formulas.push_back(&f);
    return static_cast<int>(loop.inputs.size() + loop.nodes.size()) - 1;
  }

  // Every value, for every element.
  std::vector<std::vector<T>> values() const {
    std::vector<std::vector<T>> all;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      std::vector<T> expanded(size());
      for (std::size_t i = 0; i < size(); ++i) {
        const std::size_t row = i / static_cast<std::size_t>(columns), column = i % static_cast<std::size_t>(columns);
        const FusedLoop::Access access = loop.inputs[k].access;
        expanded[i] = inputs[k][access == FusedLoop::Access::kFull     ? i
                                : access == FusedLoop::Access::kRow    ? column
                                : access == FusedLoop::Access::kColumn ? row
                                                                       : 0];
      }
      all.push_back(std::move(expanded));
    }
    for (std::size_t k = 0; k < loop.nodes.size(); ++k) {
      const FusedLoop::Node& node = loop.nodes[k];
      const LoopTable& loops = *formulas[k]->op->loops[instruction_set()];
      const auto dtype = static_cast<std::size_t>(loop.dtype);
      LoopArgs args{};
      for (int p = 0; p < 5; ++p) {
        if (node.operands[p] >= 0) args.in[p] = all[static_cast<std::size_t>(node.operands[p])].data();
      }
      std::vector<unsigned char> out(size() * sizeof(T));
      args.out = out.data();
      args.n = static_cast<std::int64_t>(size());
      args.parameters = node.parameters;
      const int input = formulas[k]->input;
      (input < 0 ? loops.forward[dtype] : loops.vjp[input][dtype])(args);
      std::vector<T> result(size());
      for (std::size_t i = 0; i < size(); ++i) {
        if (node.boolean) {
          result[i] = static_cast<T>(out[i]);
        } else {
          std::memcpy(&result[i], out.data() + i * sizeof(T), sizeof(T));
        }
      }
      all.push_back(std::move(result));
    }
    return all;
  }

  bool is_boolean(int value) const {
    const auto k = static_cast<std::size_t>(value);
    return k < loop.inputs.size() ? loop.inputs[k].boolean : loop.nodes[k - loop.inputs.size()].boolean;
  }

  // After a failure: the first value that differs.
  void explain(int set) const {
    for (int value = 0; value < static_cast<int>(inputs.size() + formulas.size()); ++value) {
      LoopCase one = *this;
      one.loop.outputs = {{value, FusedLoop::Store::kFull}};
      const auto node = static_cast<std::size_t>(value) - inputs.size();
      std::string what = "value " + std::to_string(value);
      if (node < formulas.size()) {
        what += ", " + formulas[node]->name;
        for (const int operand : loop.nodes[node].operands) what += " " + std::to_string(operand);
      }
      one.check(set, what);
      if (::testing::Test::HasFatalFailure() && failures() > 1) return;
    }
  }
  static int failures() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  }

  // Runs machine code and compares; `in_place` is the input whose memory output 0 takes, or -1.
  void check(int set, const std::string& what, int in_place = -1) const {
    const FusedKernel kernel = emit_fused_loop(loop, set);
    ASSERT_NE(kernel, nullptr) << what;
    check(kernel, what, in_place);
  }
  void check(FusedKernel kernel, const std::string& what, int in_place = -1) const {
    std::vector<Guarded<T>> arrays;
    std::vector<Guarded<bool>> truths;
    std::vector<const void*> in;
    arrays.reserve(inputs.size() + loop.outputs.size());
    truths.reserve(inputs.size() + loop.outputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (loop.inputs[k].boolean) {
        truths.emplace_back(inputs[k].size());
        for (std::size_t i = 0; i < inputs[k].size(); ++i) truths.back().data()[i] = inputs[k][i] != 0;
        in.push_back(truths.back().data());
      } else {
        arrays.emplace_back(inputs[k].size());
        arrays.back().fill(inputs[k]);
        in.push_back(arrays.back().data());
      }
    }
    constexpr std::size_t kPartial = 64 / sizeof(T);
    std::vector<void*> out;
    for (std::size_t k = 0; k < loop.outputs.size(); ++k) {
      const FusedLoop::Output& output = loop.outputs[k];
      if (k == 0 && in_place >= 0) {
        out.push_back(const_cast<void*>(in[static_cast<std::size_t>(in_place)]));
      } else if (output.store == FusedLoop::Store::kFull && is_boolean(output.value)) {
        truths.emplace_back(size());
        out.push_back(truths.back().data());
      } else {
        arrays.emplace_back(output.store == FusedLoop::Store::kSum ? kPartial : size());
        out.push_back(arrays.back().data());
      }
    }
    kernel({in.data(), out.data(), rows, columns});
    for (const auto& a : arrays) ASSERT_TRUE(a.intact()) << what;
    for (const auto& a : truths) ASSERT_TRUE(a.intact()) << what;

    const std::vector<std::vector<T>> all = values();
    for (std::size_t k = 0; k < loop.outputs.size(); ++k) {
      const FusedLoop::Output& output = loop.outputs[k];
      std::vector<T> want = all[static_cast<std::size_t>(output.value)];
      if (output.store == FusedLoop::Store::kSum) {
        std::vector<T> sums(kPartial, T(0));
        for (std::size_t i = 0; i < want.size(); ++i) sums[i % static_cast<std::size_t>(columns) % kPartial] += want[i];
        want = sums;
      }
      for (std::size_t i = 0; i < want.size(); ++i) {
        T got;
        if (output.store == FusedLoop::Store::kFull && is_boolean(output.value)) {
          unsigned char byte;
          std::memcpy(&byte, static_cast<const unsigned char*>(out[k]) + i, 1);
          got = static_cast<T>(byte);
        } else {
          std::memcpy(&got, static_cast<const unsigned char*>(out[k]) + i * sizeof(T), sizeof(T));
        }
        ASSERT_TRUE(same_bits(got, want[i])) << what << ", output " << k << ", element " << i << " of " << want.size()
                                             << " (" << rows << " rows): " << got << " should be " << want[i];
      }
    }
  }
};

}  // namespace capstan::testing
