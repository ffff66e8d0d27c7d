// The frame and the loops of a kernel, see encoder.h.
#include "src/emit/encode.h"

#include <algorithm>

#include "src/core/cpu.h"
#include "src/emit/encoder.h"

#if defined(__x86_64__)

namespace capstan::emit {

using Xbyak::Reg64;

int sums_in_registers(const FusedLoop& loop, bool avx512) {
  const auto sums = std::count_if(loop.outputs.begin(), loop.outputs.end(),
                                  [](const auto& output) { return output.store == FusedLoop::Store::kSum; });
  return std::min(static_cast<int>(sums), avx512 ? 8 : 2);
}

Registers registers_for(const FusedLoop& loop, int instruction_set) {
  const int sums = sums_in_registers(loop, instruction_set == kAvx512);
  // One register is scratch, two without AVX-512; a sum then takes two as well. Mask 1 is the tail's.
  if (instruction_set == kAvx512) return {true, 31 - sums, 2, 7};
  return {false, 14 - 2 * sums, 0, -1};
}

Halves halves_of(const Registers& registers) {
  return {registers.vectors / 2, (registers.last_mask - registers.first_mask + 1) / 2};
}

Registers half_of(const Registers& registers) {
  const Halves halves = halves_of(registers);
  return {registers.masks, halves.vectors, registers.first_mask, registers.first_mask + halves.masks - 1};
}

Code encode(const FusedLoop& loop, const Program& program, const Allocation& allocation, const Halves& halves,
            int instruction_set) {
  // Room for the longest spelling of every step, twice; an error, not a crash, if that is not enough.
  const bool avx512 = instruction_set == kAvx512;
  const std::size_t operands = loop.inputs.size() + loop.outputs.size();
  Code code;
  std::vector<std::uint8_t>& buffer = code.bytes;
  buffer.resize(4096 + operands * 512 + allocation.steps.size() * (avx512 ? 120 : 200) +
                allocation.constants.size() * 32);
  Encoder encoder(loop, program, allocation, halves, avx512, buffer);
  buffer.resize(encoder.run());
  code.entry = encoder.entry();
  return code;
}

Encoder::Encoder(const FusedLoop& loop, const Program& program, const Allocation& allocation, const Halves& halves,
                 bool avx512, std::vector<std::uint8_t>& buffer)
    : Xbyak::CodeGenerator(buffer.size(), buffer.data()),
      loop_(loop),
      program_(program),
      allocation_(allocation),
      halves_(halves),
      avx512_(avx512),
      bytes_(program.bytes_per_element()),
      lanes_(program.lanes()),
      parts_(avx512 ? 1 : 2),
      vector_bytes_(program.vector_bytes()) {}

std::size_t Encoder::run() {
  Xbyak::ClearError();
  write_pool();
  entry_ = getSize();
  lay_out();
  enter();
  load_fixed(Access::kScalar);
  start_sums();
  if (repeats_) {
    loop_over_rows();
  } else {
    xor_(ecx, ecx);
    mov(rdx, ptr[rdi + offsetof(FusedCall, columns)]);
    loop_over_columns();
  }
  end_sums();
  leave();
  return Xbyak::GetError() == Xbyak::ERR_NONE ? getSize() : 0;
}

// Registers for addresses, places in the frame.
void Encoder::lay_out() {
  inputs_.resize(loop_.inputs.size());
  outputs_.resize(loop_.outputs.size());
  truths_.assign(loop_.outputs.size(), false);
  for (const Step& step : allocation_.steps) {
    if (step.kind == Step::Kind::kOutput) truths_[step.bits] = step.mask;
  }
  for (const FusedLoop::Input& input : loop_.inputs) {
    repeats_ = repeats_ || input.access == Access::kRow || input.access == Access::kColumn;
  }

  std::vector<int> free;
  const auto offer = [&](const Reg64& r) { free.push_back(r.getIdx()); };
  if (!repeats_) {
    offer(rsi);
    offer(r8);
  }
  offer(r9);
  if (avx512_) offer(r10);
  for (const Reg64& r : {rbx, rbp, r12, r13, r14, r15}) offer(r);
  std::size_t next = 0;
  const auto assign = [&](Operand& operand) {
    if (next == free.size()) return;
    operand.address = free[next++];
    const bool callee_saves = operand.address == Xbyak::Operand::RBX || operand.address == Xbyak::Operand::RBP ||
                              operand.address >= Xbyak::Operand::R12;
    if (callee_saves) saved_.push_back(operand.address);
  };

  int frame = allocation_.slots * vector_bytes_;
  const auto room = [&](int bytes) {
    const int at = frame;
    frame += bytes;
    return at;
  };
  tail_offset_ = frame;
  if (!avx512_) room(64);
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const Access access = loop_.inputs[k].access;
    if (access == Access::kFull || access == Access::kRow) assign(inputs_[k]);
    if (access == Access::kScalar || access == Access::kColumn) {
      inputs_[k].offset = room(avx512_ ? 8 : 32);
    } else if (loop_.inputs[k].boolean && !avx512_) {
      inputs_[k].offset = room(16);
    }
  }
  int sums = 0;
  const int limit = sums_in_registers(loop_, avx512_);
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (loop_.outputs[k].store == Store::kSum) {
      if (sums < limit) outputs_[k].sum = sums++;
      continue;
    }
    assign(outputs_[k]);
    if (!avx512_) outputs_[k].offset = room(16);
  }
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (loop_.inputs[k].access == Access::kColumn) assign(inputs_[k]);
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (loop_.outputs[k].store == Store::kSum && outputs_[k].sum < 0) assign(outputs_[k]);
  }
  frame_ = frame == 0 ? 0 : (frame + 8 + 63) / 64 * 64;
}

Reg64 Encoder::address(bool output, std::size_t k) {
  const Operand& operand = output ? outputs_[k] : inputs_[k];
  if (operand.address >= 0) return Reg64(operand.address);
  mov(rax, ptr[rdi + (output ? offsetof(FusedCall, outputs) : offsetof(FusedCall, inputs))]);
  mov(rax, ptr[rax + 8 * k]);
  return rax;
}

Xbyak::Address Encoder::elements(bool output, std::size_t k, int element_bytes, bool per_row, int part) {
  const Reg64 base = address(output, k);
  const Reg64 element = per_row ? rsi : rcx;
  return ptr[base + element * element_bytes + part * lanes_ * element_bytes];
}

void Encoder::enter() {
  for (const int r : saved_) push(Reg64(r));
  if (frame_ > 0) {
    mov(rax, rsp);
    // One page after the other, so that a guard page below the stack is met, not passed.
    int left = frame_;
    for (; left > 4096; left -= 4096) {
      sub(rsp, 4096);
      mov(qword[rsp], rax);
    }
    sub(rsp, left);
    and_(rsp, -64);
    mov(ptr[rsp + (frame_ - 8)], rax);
  }
  for (const bool output : {false, true}) {
    const std::vector<Operand>& operands = output ? outputs_ : inputs_;
    const bool any = std::any_of(operands.begin(), operands.end(), [](const auto& o) { return o.address >= 0; });
    if (!any) continue;
    mov(rax, ptr[rdi + (output ? offsetof(FusedCall, outputs) : offsetof(FusedCall, inputs))]);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (operands[k].address >= 0) mov(Reg64(operands[k].address), ptr[rax + 8 * k]);
    }
  }
}

void Encoder::leave() {
  vzeroupper();
  if (frame_ > 0) mov(rsp, ptr[rsp + (frame_ - 8)]);
  for (auto r = saved_.rbegin(); r != saved_.rend(); ++r) pop(Reg64(*r));
  ret();
}

// The inputs that are the same for every element, or for every element of the present row.
void Encoder::load_fixed(Access access) {
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (loop_.inputs[k].access != access) continue;
    const bool boolean = loop_.inputs[k].boolean;
    const Reg64 base = this->address(false, k);
    const int element_bytes = boolean ? 1 : bytes_;
    const Xbyak::RegExp at = access == Access::kColumn ? Xbyak::RegExp(base) + r8 * element_bytes : Xbyak::RegExp(base);
    const Xbyak::Address place = ptr[rsp + inputs_[k].offset];
    const Xbyak::Ymm all(scratch());
    const Xbyak::Xmm one(scratch());
    if (boolean) {
      movzx(eax, byte[at]);
      neg(eax);
      sbb(rax, rax);  // all bits or none
      if (avx512_) {
        mov(place, rax);
      } else {
        vmovq(one, rax);
        vpbroadcastq(all, one);
        vmovups(place, all);
      }
    } else if (avx512_) {
      const Xbyak::Reg value = single() ? Xbyak::Reg(eax) : Xbyak::Reg(rax);
      mov(value, ptr[at]);
      mov(place, value);
    } else {
      if (single()) {
        vbroadcastss(all, ptr[at]);
      } else {
        vbroadcastsd(all, ptr[at]);
      }
      vmovups(place, all);
    }
  }
}

void Encoder::start_sums() {
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (loop_.outputs[k].store != Store::kSum) continue;
    for (int part = 0; part < parts_; ++part) {
      const int number = outputs_[k].sum >= 0 ? sum_register(outputs_[k].sum, part) : scratch();
      vxorps(vector(number), vector(number), vector(number));
      if (outputs_[k].sum < 0) vmovups(ptr[address(true, k) + part * vector_bytes_], vector(number));
    }
  }
}

void Encoder::end_sums() {
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (outputs_[k].sum < 0) continue;
    const Reg64 base = address(true, k);
    for (int part = 0; part < parts_; ++part) {
      vmovups(ptr[base + part * vector_bytes_], vector(sum_register(outputs_[k].sum, part)));
    }
  }
}

void Encoder::loop_over_rows() {
  Xbyak::Label row;
  Xbyak::Label done;
  cmp(qword[rdi + offsetof(FusedCall, rows)], 0);
  jle(done, T_NEAR);
  xor_(ecx, ecx);
  xor_(r8d, r8d);
  L(row);
  load_fixed(Access::kColumn);
  xor_(esi, esi);
  mov(rdx, ptr[rdi + offsetof(FusedCall, columns)]);
  add(rdx, rcx);
  loop_over_columns();
  mov(rcx, rdx);
  inc(r8);
  cmp(r8, ptr[rdi + offsetof(FusedCall, rows)]);
  jl(row, T_NEAR);
  L(done);
}

// From element rcx to rdx, whole turns first.
void Encoder::loop_over_columns() {
  const int turn = lanes_ * parts_;
  const bool pairs = avx512_ && halves_.vectors > 0;
  Xbyak::Label whole;
  Xbyak::Label rest;
  Xbyak::Label done;
  const auto advance = [&](int elements) {
    add(rcx, elements);
    if (repeats_) add(rsi, elements);
  };
  if (pairs) {
    Xbyak::Label pair;
    Xbyak::Label single;
    sub(rdx, 2 * turn);
    cmp(rcx, rdx);
    jg(single, T_NEAR);
    align(32);
    L(pair);
    body(2, false);
    advance(2 * turn);
    cmp(rcx, rdx);
    jle(pair, T_NEAR);
    L(single);
    add(rdx, turn);
  } else {
    sub(rdx, turn);
  }
  cmp(rcx, rdx);
  jg(rest, T_NEAR);
  if (!pairs) align(32);
  L(whole);
  body(parts_, false);
  advance(turn);
  if (!pairs) {
    cmp(rcx, rdx);
    jle(whole, T_NEAR);
  }
  L(rest);
  add(rdx, turn);
  cmp(rcx, rdx);
  jge(done, T_NEAR);
  start_tail();
  body(parts_, true);
  copy_tail_truths(false);
  L(done);
}

// The masks for the elements from rcx to rdx, less than a turn.
void Encoder::start_tail() {
  if (avx512_) {
    mov(r11, rdx);
    sub(r11, rcx);
    mov(eax, -1);
    bzhi(eax, eax, r11d);
    kmovd(k1, eax);
    return;
  }
  // From a table of set bits and then clear ones.
  lea(rax, ptr[rip + static_cast<const void*>(getCode() + allocation_.constants.size() * 32 + 64)]);
  mov(r11, rcx);
  sub(r11, rdx);
  const Xbyak::Ymm bits(scratch());
  for (int part = 0; part < 2; ++part) {
    vmovups(bits, ptr[rax + r11 * bytes_ + part * 32]);
    vmovups(tail_mask(part), bits);
  }
  copy_tail_truths(true);
}

// Bytes cannot be read or written under a mask by AVX2, so the last truth values of a row go through the frame.
void Encoder::copy_tail_truths(bool inputs) {
  if (avx512_) return;
  const std::size_t count = inputs ? inputs_.size() : outputs_.size();
  for (std::size_t k = 0; k < count; ++k) {
    bool per_row = false;
    if (inputs) {
      const FusedLoop::Input& input = loop_.inputs[k];
      if (!input.boolean || input.access == Access::kScalar || input.access == Access::kColumn) continue;
      per_row = input.access == Access::kRow;
    } else if (!truths_[k]) {
      continue;
    }
    lea(rax, elements(!inputs, k, 1, per_row, 0));
    mov(r11, rdx);
    sub(r11, rcx);
    Xbyak::Label next;
    L(next);
    const Xbyak::Address place = byte[rsp + r11 + ((inputs ? inputs_ : outputs_)[k].offset - 1)];
    const Xbyak::Address element = byte[rax + r11 - 1];
    mov(r10b, inputs ? element : place);
    mov(inputs ? place : element, r10b);
    dec(r11);
    jnz(next);
  }
}

void Encoder::write_pool() {
  for (const std::uint64_t bits : allocation_.constants) {
    for (int copy = 0; copy < (avx512_ ? 1 : 32 / bytes_); ++copy) {
      if (single()) {
        dd(static_cast<std::uint32_t>(bits));
      } else {
        dq(bits);
      }
    }
  }
  for (int i = 0; !avx512_ && i < 16; ++i) dq(i < 8 ? ~std::uint64_t{0} : 0);
  while (getSize() % 64 != 0) db(0xcc);
}

}  // namespace capstan::emit

#else

namespace capstan::emit {

Registers registers_for(const FusedLoop&, int) { return {false, 0, 0, -1}; }

Registers half_of(const Registers& registers) { return registers; }

Halves halves_of(const Registers&) { return {}; }

Code encode(const FusedLoop&, const Program&, const Allocation&, const Halves&, int) { return {}; }

}  // namespace capstan::emit

#endif
