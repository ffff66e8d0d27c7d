// The instructions of the body of a kernel, see encoder.h.
#include "src/emit/encoder.h"

#if defined(__x86_64__)

namespace capstan::emit {

using Xbyak::Opmask;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

// An instruction with a form for each precision.
#define CAPSTAN_REAL(name, ...) (single() ? name##ps(__VA_ARGS__) : name##pd(__VA_ARGS__))
#define CAPSTAN_INTEGER(name, ...) (single() ? name##d(__VA_ARGS__) : name##q(__VA_ARGS__))

namespace {
// Comparisons that raise no flag for a NaN, as Highway's: in the order of VectorOp, from kEqual on.
constexpr std::uint8_t kPredicates[] = {0x00, 0x11, 0x12, 0x04, 0x15, 0x16};
constexpr std::uint8_t kToNearest = 0x08, kDown = 0x09, kUp = 0x0a;
}  // namespace

void Encoder::body(int vectors, bool tail) {
  if (vectors == 1 || halves_.vectors == 0) {
    for (int part = 0; part < vectors; ++part) {
      for (const Step& s : allocation_.steps) step(s, tail, part);
    }
    return;
  }
  const auto move = [&](Place& place, bool is_mask) {
    if (place.kind == Place::Kind::kRegister) place.index += is_mask && avx512_ ? halves_.masks : halves_.vectors;
  };
  for (const Step& s : allocation_.steps) {
    step(s, tail, 0);
    Step other = s;
    // The operands of a function of masks are masks; a selection has one as its first.
    const bool masks = s.op >= VectorOp::kMaskAnd && s.op <= VectorOp::kMaskNot && s.kind == Step::Kind::kCompute;
    const bool computes = s.kind == Step::Kind::kCompute;
    move(other.d, s.mask);
    move(other.a, computes ? masks || s.op == VectorOp::kSelect : s.mask);
    move(other.b, masks);
    move(other.c, false);
    step(other, tail, 1);
  }
}

void Encoder::step(const Step& s, bool tail, int part) {
  switch (s.kind) {
    case Step::Kind::kCompute:
      return s.mask ? compute_mask(s) : compute(s);
    case Step::Kind::kLoadInput:
      return load_input(s, tail, part);
    case Step::Kind::kLoad:
      return load(s);
    case Step::Kind::kMove:
      return vmovaps(vector(s.d), vector(s.a));
    case Step::Kind::kSpill: {
      const Xbyak::Address slot = ptr[rsp + s.d.index * vector_bytes_];
      if (s.mask && avx512_) return kmovq(slot, mask(s.a));
      return vmovaps(slot, vector(s.a));
    }
    case Step::Kind::kOutput:
      switch (loop_.outputs[s.bits].store) {
        case Store::kSum:
          return add_to_sum(s, tail, part);
        case Store::kFull:
          return store_output(s, tail, part);
      }
  }
}

// With AVX-512 a number is repeated by the instruction that reads it.
Xbyak::Address Encoder::memory(const Place& place) { return memory(place, avx512_ ? ptr_b : ptr); }
Xbyak::Address Encoder::number(const Place& place) { return memory(place, ptr); }
Xbyak::Address Encoder::memory(const Place& place, const Xbyak::AddressFrame& frame) {
  if (place.kind == Place::Kind::kConstant) {
    return frame[rip + static_cast<const void*>(getCode() + place.index * (avx512_ ? bytes_ : 32))];
  }
  return frame[rsp + inputs_[static_cast<std::size_t>(place.index)].offset];
}

// Calls f with the last operand, a register or an address.
#define CAPSTAN_WITH_LAST(place, call)            \
  do {                                            \
    if ((place).kind == Place::Kind::kRegister) { \
      const Xmm last = vector(place);             \
      call;                                       \
    } else {                                      \
      const Xbyak::Address last = memory(place);  \
      call;                                       \
    }                                             \
  } while (false)

void Encoder::compute(const Step& s) {
  const Xmm d = vector(s.d);
  switch (s.op) {
    case VectorOp::kMultiplyAdd:
    case VectorOp::kNegMultiplyAdd:
      return multiply_add(s);
    case VectorOp::kSelect:
      return select(s);
    default:
      break;
  }
  const Xmm a = vector(s.a);
  const auto shift = static_cast<std::uint8_t>(s.bits);
  switch (s.op) {
#define CAPSTAN_CASE(op, instruction)                              \
  case VectorOp::op:                                               \
    CAPSTAN_WITH_LAST(s.b, CAPSTAN_REAL(instruction, d, a, last)); \
    return;
    CAPSTAN_CASE(kAdd, vadd)
    CAPSTAN_CASE(kSubtract, vsub)
    CAPSTAN_CASE(kMultiply, vmul)
    CAPSTAN_CASE(kDivide, vdiv)
    CAPSTAN_CASE(kMin, vmin)
    CAPSTAN_CASE(kMax, vmax)
    CAPSTAN_CASE(kScale, vscalef)
    CAPSTAN_CASE(kAnd, vand)
    CAPSTAN_CASE(kOr, vor)
    CAPSTAN_CASE(kXor, vxor)
    CAPSTAN_CASE(kAndNot, vandn)
#undef CAPSTAN_CASE
    case VectorOp::kAddInteger:
      CAPSTAN_WITH_LAST(s.b, CAPSTAN_INTEGER(vpadd, d, a, last));
      return;
    case VectorOp::kSubtractInteger:
      CAPSTAN_WITH_LAST(s.b, CAPSTAN_INTEGER(vpsub, d, a, last));
      return;
    case VectorOp::kShiftLeft:
      return CAPSTAN_INTEGER(vpsll, d, a, shift);
    case VectorOp::kShiftRight:
      return CAPSTAN_INTEGER(vpsrl, d, a, shift);
    case VectorOp::kSqrt:
      return CAPSTAN_REAL(vsqrt, d, a);
    case VectorOp::kFloor:
      return avx512_ ? CAPSTAN_REAL(vrndscale, d, a, kDown) : CAPSTAN_REAL(vround, d, a, kDown);
    case VectorOp::kCeil:
      return avx512_ ? CAPSTAN_REAL(vrndscale, d, a, kUp) : CAPSTAN_REAL(vround, d, a, kUp);
    case VectorOp::kRound:
      return avx512_ ? CAPSTAN_REAL(vrndscale, d, a, kToNearest) : CAPSTAN_REAL(vround, d, a, kToNearest);
    default:
      return;
  }
}

// The three forms overwrite a factor or the summand, and take a factor or the summand from memory.
void Encoder::multiply_add(const Step& s) {
  const Xmm d = vector(s.d);
  const bool negative = s.op == VectorOp::kNegMultiplyAdd;
#define CAPSTAN_FORM(number, second, place)                                                   \
  CAPSTAN_WITH_LAST(place, (negative ? CAPSTAN_REAL(vfnmadd##number, d, vector(second), last) \
                                     : CAPSTAN_REAL(vfmadd##number, d, vector(second), last)))
  if (s.d == s.c) {
    if (s.a.kind == Place::Kind::kRegister) {
      CAPSTAN_FORM(231, s.a, s.b);
    } else {
      CAPSTAN_FORM(231, s.b, s.a);
    }
    return;
  }
  const Place factor = s.d == s.a ? s.b : s.a;
  if (factor.kind == Place::Kind::kRegister) {
    CAPSTAN_FORM(213, factor, s.c);
  } else {
    CAPSTAN_FORM(132, s.c, factor);
  }
#undef CAPSTAN_FORM
}

void Encoder::select(const Step& s) {
  const Xmm d = vector(s.d);
  if (!avx512_) {
    const Xmm condition = vector(s.a);
    if (s.c.kind == Place::Kind::kZero) {
      CAPSTAN_WITH_LAST(s.b, vandps(d, condition, last));
    } else {
      CAPSTAN_WITH_LAST(s.b, CAPSTAN_REAL(vblendv, d, vector(s.c), last, condition));
    }
    return;
  }
  const Opmask condition = mask(s.a);
  if (s.c.kind != Place::Kind::kZero) {
    CAPSTAN_WITH_LAST(s.b, CAPSTAN_REAL(vblendm, d | condition, vector(s.c), last));
  } else if (s.b.kind == Place::Kind::kRegister) {
    CAPSTAN_REAL(vmova, d | condition | T_z, vector(s.b));
  } else if (single()) {
    vbroadcastss(d | condition | T_z, number(s.b));
  } else {
    vbroadcastsd(Zmm(s.d.index) | condition | T_z, number(s.b));
  }
}

void Encoder::compute_mask(const Step& s) {
  if (s.op >= VectorOp::kEqual && s.op <= VectorOp::kNotLessEqual) {
    const std::uint8_t predicate = kPredicates[static_cast<int>(s.op) - static_cast<int>(VectorOp::kEqual)];
    if (avx512_) {
      CAPSTAN_WITH_LAST(s.b, CAPSTAN_REAL(vcmp, mask(s.d), vector(s.a), last, predicate));
    } else {
      CAPSTAN_WITH_LAST(s.b, CAPSTAN_REAL(vcmp, vector(s.d), vector(s.a), last, predicate));
    }
    return;
  }
  if (avx512_) {
    combine_masks(s);
  } else {
    combine_vector_masks(s);
  }
}

void Encoder::combine_masks(const Step& s) {
  const Opmask d = mask(s.d);
  switch (s.op) {
    case VectorOp::kTestBits:
      CAPSTAN_WITH_LAST(s.b, CAPSTAN_INTEGER(vptestm, d, vector(s.a), last));
      return;
    case VectorOp::kMaskAnd:
      return kandw(d, mask(s.a), mask(s.b));
    case VectorOp::kMaskOr:
      return korw(d, mask(s.a), mask(s.b));
    case VectorOp::kMaskXor:
      return kxorw(d, mask(s.a), mask(s.b));
    case VectorOp::kMaskAndNot:
      return kandnw(d, mask(s.a), mask(s.b));
    case VectorOp::kMaskNot:
      return knotw(d, mask(s.a));
    default:
      return;
  }
}

// The same where masks are vectors.
void Encoder::combine_vector_masks(const Step& s) {
  const Xmm d = vector(s.d), a = vector(s.a);
  switch (s.op) {
    case VectorOp::kTestBits:  // the tested bits are one bit
      CAPSTAN_WITH_LAST(s.b, vandps(d, a, last));
      CAPSTAN_WITH_LAST(s.b, CAPSTAN_INTEGER(vpcmpeq, d, d, last));
      return;
    case VectorOp::kMaskAnd:
      return vandps(d, a, vector(s.b));
    case VectorOp::kMaskOr:
      return vorps(d, a, vector(s.b));
    case VectorOp::kMaskXor:
      return vxorps(d, a, vector(s.b));
    case VectorOp::kMaskAndNot:
      return vandnps(d, a, vector(s.b));
    case VectorOp::kMaskNot: {
      const Ymm ones(scratch());
      vpcmpeqd(ones, ones, ones);
      return vxorps(d, a, ones);
    }
    default:
      return;
  }
}

void Encoder::load(const Step& s) {
  const bool mask_register = s.mask && avx512_;
  if (s.a.kind == Place::Kind::kZero) return vxorps(vector(s.d), vector(s.d), vector(s.d));
  if (s.a.kind == Place::Kind::kSlot) {
    const Xbyak::Address slot = ptr[rsp + s.a.index * vector_bytes_];
    if (mask_register) return kmovq(mask(s.d), slot);
    return vmovaps(vector(s.d), slot);
  }
  if (mask_register) return kmovq(mask(s.d), number(s.a));
  if (!avx512_) return vmovups(vector(s.d), number(s.a));
  if (single()) return vbroadcastss(vector(s.d), number(s.a));
  vbroadcastsd(Zmm(s.d.index), number(s.a));
}

void Encoder::load_input(const Step& s, bool tail, int part) {
  const FusedLoop::Input& input = loop_.inputs[s.bits];
  const bool per_row = input.access == Access::kRow;
  if (!input.boolean) {
    const Xbyak::Address from = elements(false, s.bits, bytes_, per_row, part);
    const Xmm d = vector(s.d);
    if (!tail) return CAPSTAN_REAL(vmovu, d, from);
    if (avx512_) return CAPSTAN_REAL(vmovu, d | k1 | T_z, from);
    const Ymm bits(scratch());
    vmovups(bits, tail_mask(part));
    return CAPSTAN_REAL(vmaskmov, d, bits, from);
  }
  if (avx512_) {
    const Xmm bytes(scratch());
    const Xbyak::Address from = elements(false, s.bits, 1, per_row, part);
    if (tail) {
      vmovdqu8(bytes | k1 | T_z, from);
    } else if (single()) {
      vmovdqu8(bytes, from);
    } else {
      vmovq(bytes, from);
    }
    return vptestmb(mask(s.d), bytes, bytes);
  }
  const Ymm d(s.d.index), zero(scratch());
  const Xbyak::Address from =
      tail ? ptr[rsp + (inputs_[s.bits].offset + part * lanes_)] : elements(false, s.bits, 1, per_row, part);
  vpxor(zero, zero, zero);
  if (single()) {
    vpmovzxbd(d, from);
    vpcmpgtd(d, d, zero);
  } else {
    vpmovzxbq(d, from);
    vpcmpgtq(d, d, zero);
  }
}

void Encoder::store_output(const Step& s, bool tail, int part) {
  if (s.mask) return store_truths(s, tail, part);
  const Xbyak::Address to = elements(true, s.bits, bytes_, false, part);
  if (!tail) return CAPSTAN_REAL(vmovu, to, vector(s.a));
  if (avx512_) return CAPSTAN_REAL(vmovu, to | k1, vector(s.a));
  const Ymm bits(scratch());
  vmovups(bits, tail_mask(part));
  CAPSTAN_REAL(vmaskmov, to, bits, vector(s.a));
}

void Encoder::store_truths(const Step& s, bool tail, int part) {
  const Xmm bytes(scratch());
  if (avx512_) {
    const Xbyak::Address to = elements(true, s.bits, 1, false, part);
    vpmovm2b(bytes, mask(s.a));
    vpabsb(bytes, bytes);
    if (tail) return vmovdqu8(to | k1, bytes);
    return single() ? vmovdqu8(to, bytes) : vmovq(to, bytes);
  }
  // All bits of an element to one byte, which is -1.
  const Xmm high(second_scratch());
  const Ymm a(s.a.index);
  const Xmm low(s.a.index);
  vextracti128(high, a, 1);
  if (single()) {
    vpackssdw(bytes, low, high);
  } else {
    vshufps(bytes, low, high, 0x88);
    vpackssdw(bytes, bytes, bytes);
  }
  vpacksswb(bytes, bytes, bytes);
  vpabsb(bytes, bytes);
  const Xbyak::Address to =
      tail ? ptr[rsp + (outputs_[s.bits].offset + part * lanes_)] : elements(true, s.bits, 1, false, part);
  if (single()) {
    vmovq(to, bytes);
  } else {
    vmovd(to, bytes);
  }
}

// Elements after the end of a row add nothing.
void Encoder::add_to_sum(const Step& s, bool tail, int part) {
  const Xmm value = vector(s.a);
  const Operand& output = outputs_[s.bits];
  const int sum_part = part % parts_;
  const Xmm sum = vector(output.sum >= 0 ? sum_register(output.sum, sum_part) : scratch());
  const Xbyak::Reg64 base = output.sum >= 0 ? rax : address(true, s.bits);
  const Xbyak::Address place = ptr[base + sum_part * vector_bytes_];
  if (output.sum < 0) vmovups(sum, place);
  if (!tail) {
    CAPSTAN_REAL(vadd, sum, sum, value);
  } else if (avx512_) {
    CAPSTAN_REAL(vadd, sum | k1, sum, value);
  } else {
    const Xmm those = vector(second_scratch());
    vandps(those, value, tail_mask(part));
    CAPSTAN_REAL(vadd, sum, sum, those);
  }
  if (output.sum < 0) vmovups(place, sum);
}

}  // namespace capstan::emit

#endif
