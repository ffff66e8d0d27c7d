#include "src/emit/program.h"

#include <utility>

namespace capstan::emit {
namespace {

std::size_t hash(const Instruction& i) {
  std::uint64_t h = i.bits + static_cast<std::uint64_t>(i.op) * 0x9e3779b97f4a7c15u;
  for (const std::int32_t operand : {i.a, i.b, i.c}) {
    h = (h ^ static_cast<std::uint32_t>(operand)) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return static_cast<std::size_t>(h);
}

bool same(const Instruction& x, const Instruction& y) {
  return x.op == y.op && x.a == y.a && x.b == y.b && x.c == y.c && x.bits == y.bits;
}

}  // namespace

bool commutes(VectorOp op) {
  switch (op) {
    case VectorOp::kAdd:
    case VectorOp::kMultiply:
    case VectorOp::kAnd:
    case VectorOp::kOr:
    case VectorOp::kXor:
    case VectorOp::kAddInteger:
    case VectorOp::kEqual:
    case VectorOp::kNotEqual:
    case VectorOp::kTestBits:
    case VectorOp::kMaskAnd:
    case VectorOp::kMaskOr:
    case VectorOp::kMaskXor:
    case VectorOp::kMultiplyAdd:  // its first two operands
    case VectorOp::kNegMultiplyAdd:
      return true;
    default:
      return false;
  }
}

int Program::add(const Instruction& instruction) {
  Instruction wanted = instruction;
  if (wanted.op == VectorOp::kMaskNot) {
    // One instruction, not two.
    const Instruction& negated = (*this)[wanted.a];
    if (negated.op == VectorOp::kMaskNot) return negated.a;
    if (negated.op >= VectorOp::kEqual && negated.op <= VectorOp::kLessEqual) {
      wanted = negated;
      wanted.op = negated.op == VectorOp::kEqual  ? VectorOp::kNotEqual
                  : negated.op == VectorOp::kLess ? VectorOp::kNotLess
                                                  : VectorOp::kNotLessEqual;
    }
  }
  if (commutes(wanted.op) && wanted.a > wanted.b) std::swap(wanted.a, wanted.b);
  if (instructions_.size() * 2 >= table_.size()) grow();
  std::size_t at = hash(wanted) & (table_.size() - 1);
  for (; table_[at] >= 0; at = (at + 1) & (table_.size() - 1)) {
    if (same(instructions_[static_cast<std::size_t>(table_[at])], wanted)) return table_[at];
  }
  table_[at] = size();
  instructions_.push_back(wanted);
  return table_[at];
}

void Program::grow() {
  table_.assign(table_.empty() ? 256 : table_.size() * 2, -1);
  for (int i = 0; i < size(); ++i) {
    std::size_t at = hash((*this)[i]) & (table_.size() - 1);
    while (table_[at] >= 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = i;
  }
}

}  // namespace capstan::emit
