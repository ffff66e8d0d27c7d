// A fused loop as a list of vector instructions, before it has registers.
//
// An instruction is what one vector of elements goes through; its value is known by its position. Equal instructions
// are one, so that what two formulas compute alike is computed once. Formulas are recorded into a program by running
// the vector functions of src/kernels over a target that appends instead of computing (record-inl.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace capstan::emit {

enum class VectorOp : std::uint8_t {
  kConstant,  // `bits` in every lane
  kInput,     // the elements of input `bits`
  // Floating point. Min and max return b if one operand is NaN.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMin,
  kMax,
  kScale,           // a times 2 to the power of the whole part of b
  kMultiplyAdd,     // a * b + c with one rounding
  kNegMultiplyAdd,  // c - a * b
  kSqrt,
  kFloor,
  kCeil,
  kRound,
  // Bits and integers of the width of an element.
  kAnd,
  kOr,
  kXor,
  kAndNot,  // ~a & b
  kAddInteger,
  kSubtractInteger,
  kShiftLeft,  // by `bits`
  kShiftRight,
  // With a mask as the result.
  kEqual,
  kLess,
  kLessEqual,
  kNotEqual,  // the opposites, which are true for NaN
  kNotLess,
  kNotLessEqual,
  kTestBits,  // (a & b) != 0
  kMaskAnd,
  kMaskOr,
  kMaskXor,
  kMaskAndNot,  // ~a & b
  kMaskNot,
  // With a mask as the first operand.
  kSelect,  // a ? b : c
};

// Whether a and b may be exchanged.
bool commutes(VectorOp op);

struct Instruction {
  VectorOp op;
  bool mask;  // of the result
  std::int32_t a = -1, b = -1, c = -1;
  std::uint64_t bits = 0;
};

// The instructions of a loop over elements of `bytes_per_element` bytes, in vectors of `vector_bytes`.
class Program {
 public:
  Program(int bytes_per_element, int vector_bytes)
      : bytes_per_element_(bytes_per_element), vector_bytes_(vector_bytes) {}

  int bytes_per_element() const { return bytes_per_element_; }
  int vector_bytes() const { return vector_bytes_; }
  int lanes() const { return vector_bytes_ / bytes_per_element_; }

  // The position of this instruction, or of an equal one before it.
  int add(const Instruction& instruction);
  int add(VectorOp op, int a, int b = -1, int c = -1) { return add({op, false, a, b, c, 0}); }
  int add_mask(VectorOp op, int a, int b = -1) { return add({op, true, a, b, -1, 0}); }
  int constant(std::uint64_t bits) { return add({VectorOp::kConstant, false, -1, -1, -1, bits}); }

  // A function that has no vector form was recorded: the program cannot become machine code.
  void refuse() { refused_ = true; }
  bool refused() const { return refused_; }

  int size() const { return static_cast<int>(instructions_.size()); }
  const Instruction& operator[](int i) const { return instructions_[static_cast<std::size_t>(i)]; }

 private:
  void grow();

  int bytes_per_element_;
  int vector_bytes_;
  bool refused_ = false;
  std::vector<Instruction> instructions_;
  std::vector<std::int32_t> table_;  // positions by hash, -1 where empty
};

}  // namespace capstan::emit
