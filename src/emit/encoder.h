// The encoder's parts, see encode.h: the frame and loops (encode.cc), and the instructions of the body
// (encode_step.cc).
#pragma once

#if defined(__x86_64__)

// Errors are kept by Xbyak and asked for at the end.
#define XBYAK_NO_EXCEPTION
#include <xbyak/xbyak.h>

#include <cstdint>
#include <vector>

#include "src/emit/encode.h"

namespace capstan::emit {

// General registers: rdi is the call, rcx the element that comes next, rdx where the row ends, rsi the column (if
// operands repeat from row to row), r8 the row (likewise); rax, r11 and, without AVX-512, r10 are free at every moment.
// Operands have their addresses in the others, as far as they go.
//
// Vector registers above those of the body: scratch, and the sums.
class Encoder : public Xbyak::CodeGenerator {
 public:
  Encoder(const FusedLoop& loop, const Program& program, const Allocation& allocation, const Halves& halves,
          bool avx512, std::vector<std::uint8_t>& buffer);

  // Writes the function; its size, or 0 after an error.
  std::size_t run();
  // Where the function begins.
  std::size_t entry() const { return entry_; }

 private:
  using Access = FusedLoop::Access;
  using Store = FusedLoop::Store;

  // What an operand of the loop has beside its elements.
  struct Operand {
    int address = -1;  // general register, or -1: read from the call each time
    int offset = -1;   // in the frame: the value of a fixed input, the buffer of truth values at the end of a row
    int sum = -1;      // which of the sums in registers
  };

  // --- encode.cc ---
  void lay_out();
  void enter();
  void leave();
  void load_fixed(Access access);
  void start_sums();
  void end_sums();
  void loop_over_rows();
  void loop_over_columns();
  void start_tail();
  void copy_tail_truths(bool inputs);
  void write_pool();

  // The address of an operand in a register.
  Xbyak::Reg64 address(bool output, std::size_t k);
  // Its elements for a part of the present turn.
  Xbyak::Address elements(bool output, std::size_t k, int element_bytes, bool per_row, int part);

  // --- encode_step.cc ---
  // `vectors` of them; with a tail the last ones are not whole.
  void body(int vectors, bool tail);
  void step(const Step& step, bool tail, int part);
  void compute(const Step& step);
  void compute_mask(const Step& step);
  void combine_masks(const Step& step);
  void combine_vector_masks(const Step& step);
  void multiply_add(const Step& step);
  void select(const Step& step);
  void load(const Step& step);
  void load_input(const Step& step, bool tail, int part);
  void store_output(const Step& step, bool tail, int part);
  void store_truths(const Step& step, bool tail, int part);
  void add_to_sum(const Step& step, bool tail, int part);

  Xbyak::Xmm vector(int number) const {
    if (avx512_) return Xbyak::Zmm(number);
    return Xbyak::Ymm(number);
  }
  Xbyak::Xmm vector(const Place& place) const { return vector(place.index); }
  static Xbyak::Opmask mask(const Place& place) { return Xbyak::Opmask(place.index); }
  // An operand as the last one of an instruction on vectors.
  Xbyak::Address memory(const Place& place);
  // The number itself.
  Xbyak::Address number(const Place& place);
  Xbyak::Address memory(const Place& place, const Xbyak::AddressFrame& frame);
  Xbyak::Address tail_mask(int part) { return ptr[rsp + (tail_offset_ + part * 32)]; }
  int scratch() const { return avx512_ ? 31 : 15; }
  int second_scratch() const { return 14; }
  int sum_register(int sum, int part) const { return scratch() - 1 - (avx512_ ? 0 : 1) - sum * parts_ - part; }
  bool single() const { return bytes_ == 4; }

  const FusedLoop& loop_;
  const Program& program_;
  const Allocation& allocation_;
  const Halves halves_;
  const bool avx512_;
  const int bytes_;  // per element
  const int lanes_;  // per vector
  const int parts_;  // vectors per turn
  const int vector_bytes_;
  bool repeats_ = false;      // operands repeat from row to row, so there is a loop over rows
  std::vector<bool> truths_;  // by output

  std::vector<Operand> inputs_, outputs_;
  std::vector<int> saved_;  // general registers
  int frame_ = 0;
  int tail_offset_ = 0;
  std::size_t entry_ = 0;
};

// How many sums live in registers.
int sums_in_registers(const FusedLoop& loop, bool avx512);

}  // namespace capstan::emit

#endif
