#include "src/emit/allocate.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace capstan::emit {
namespace {

constexpr int kNever = std::numeric_limits<int>::max();

bool multiplies_and_adds(VectorOp op) { return op == VectorOp::kMultiplyAdd || op == VectorOp::kNegMultiplyAdd; }

// Whether the last operand may be in memory.
bool takes_memory(VectorOp op) {
  switch (op) {
    case VectorOp::kSqrt:
    case VectorOp::kFloor:
    case VectorOp::kCeil:
    case VectorOp::kRound:
    case VectorOp::kShiftLeft:
    case VectorOp::kShiftRight:
    case VectorOp::kMaskAnd:
    case VectorOp::kMaskOr:
    case VectorOp::kMaskXor:
    case VectorOp::kMaskAndNot:
    case VectorOp::kMaskNot:
      return false;
    default:
      return true;
  }
}

class Allocator {
 public:
  Allocator(const FusedLoop& loop, const Program& program, const std::vector<int>& values, const Registers& registers)
      : loop_(loop), program_(program), values_(values), registers_(registers) {
    const auto n = static_cast<std::size_t>(program.size());
    register_of_.assign(n, -1);
    slot_of_.assign(n, -1);
    constant_of_.assign(n, -1);
    for (int i = 0; i < registers.vectors; ++i) vectors_.push_back({i, -1});
    for (int i = registers.first_mask; i <= registers.last_mask; ++i) masks_.push_back({i, -1});
  }

  Allocation run(bool spills) {
    make_schedule();
    find_uses();
    for (position_ = 0; position_ < static_cast<int>(schedule_.size()); ++position_) {
      if (!spills && out_.slots > 0) break;
      const Item item = schedule_[static_cast<std::size_t>(position_)];
      if (item.output >= 0) {
        store(item.output);
      } else if (program_[item.instruction].op == VectorOp::kInput) {
        in_register(item.instruction);
        held_.clear();
        release(item.instruction);
      } else {
        compute(item.instruction);
      }
    }
    return std::move(out_);
  }

 private:
  // What happens when: an instruction is computed (an input: loaded), or an output is stored.
  struct Item {
    int instruction;
    int output = -1;
  };
  struct Register {
    int number;
    int value;  // -1: free
  };

  static constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }

  FusedLoop::Access access(int value) const { return loop_.inputs[program_[value].bits].access; }
  bool is_input(int value) const { return program_[value].op == VectorOp::kInput; }
  bool is_constant(int value) const { return program_[value].op == VectorOp::kConstant; }
  bool is_fixed(int value) const {
    return is_input(value) &&
           (access(value) == FusedLoop::Access::kScalar || access(value) == FusedLoop::Access::kColumn);
  }
  bool is_full(int value) const { return is_input(value) && access(value) == FusedLoop::Access::kFull; }
  // Stands in memory in a form that an instruction can take as its last operand.
  bool in_memory(int value) const { return is_constant(value) || (is_fixed(value) && !program_[value].mask); }
  // Its registers and those of masks.
  bool in_mask_register(int value) const { return program_[value].mask && registers_.masks; }

  // --- The order of things ---

  void make_schedule() {
    std::vector<bool> live(register_of_.size(), false);
    for (const FusedLoop::Output& output : loop_.outputs) live[index(values_[index(output.value)])] = true;
    for (int i = program_.size() - 1; i >= 0; --i) {
      if (!live[index(i)]) continue;
      for (const int operand : {program_[i].a, program_[i].b, program_[i].c}) {
        if (operand >= 0) live[index(operand)] = true;
      }
    }
    // An output may be the memory of an input, so nothing is stored before all inputs were loaded.
    std::vector<bool> loaded(register_of_.size(), false);
    int waiting = 0;
    for (int i = 0; i < program_.size(); ++i) waiting += live[index(i)] && is_full(i) ? 1 : 0;
    std::vector<bool> stored(loop_.outputs.size(), false);
    std::vector<bool> done(register_of_.size(), false);
    std::vector<bool> is_output(register_of_.size(), false);
    for (const FusedLoop::Output& output : loop_.outputs) is_output[index(values_[index(output.value)])] = true;
    const auto store_ready = [&] {
      for (std::size_t k = 0; k < loop_.outputs.size(); ++k) {
        const int value = values_[index(loop_.outputs[k].value)];
        const bool sum = loop_.outputs[k].store == FusedLoop::Store::kSum;
        const bool ready = done[index(value)] || ((is_constant(value) || is_input(value)) && waiting == 0);
        if (stored[k] || !ready || (waiting > 0 && !sum)) continue;
        stored[k] = true;
        if (!sum) first_store_ = std::min(first_store_, static_cast<int>(schedule_.size()));
        schedule_.push_back({value, static_cast<int>(k)});
      }
    };
    const auto see = [&](int operand) {
      if (operand < 0 || !is_full(operand) || loaded[index(operand)]) return;
      loaded[index(operand)] = true;
      --waiting;
    };
    for (int i = 0; i < program_.size(); ++i) {
      if (!live[index(i)] || is_input(i) || is_constant(i)) continue;
      see(program_[i].a);
      see(program_[i].b);
      see(program_[i].c);
      schedule_.push_back({i});
      done[index(i)] = true;
      if (is_output[index(i)] || (waiting == 0 && first_store_ == kNever)) store_ready();
    }
    // Inputs that nothing computes with are outputs themselves.
    for (int i = 0; i < program_.size(); ++i) {
      if (live[index(i)] && is_full(i) && !loaded[index(i)]) schedule_.push_back({i});
    }
    waiting = 0;
    store_ready();
  }

  void find_uses() {
    const std::size_t n = register_of_.size();
    std::vector<std::int32_t> count(n + 1, 0);
    const auto for_each_use = [&](auto use) {
      for (std::size_t p = 0; p < schedule_.size(); ++p) {
        const Item& item = schedule_[p];
        if (item.output >= 0) {
          use(item.instruction, p);
        } else if (!is_input(item.instruction)) {
          const Instruction& i = program_[item.instruction];
          for (const int operand : {i.a, i.b, i.c}) {
            if (operand >= 0) use(operand, p);
          }
        }
      }
    };
    for_each_use([&](int value, std::size_t) { ++count[index(value) + 1]; });
    for (std::size_t i = 0; i < n; ++i) count[i + 1] += count[i];
    uses_.resize(index(count[n]));
    next_.assign(count.begin(), count.end() - 1);
    std::vector<std::int32_t> fill = next_;
    for_each_use([&](int value, std::size_t p) { uses_[index(fill[index(value)]++)] = static_cast<std::int32_t>(p); });
    last_ = std::move(fill);
  }

  // The first use at or after the present position, or after it.
  int use_from(int value, int position) {
    std::int32_t& at = next_[index(value)];
    while (at < last_[index(value)] && uses_[index(at)] < position) ++at;
    return at < last_[index(value)] ? uses_[index(at)] : kNever;
  }
  int next_use(int value) { return use_from(value, position_ + 1); }

  // --- Registers ---

  // An own register for the value, kept from others until the position ends.
  int take(int value) {
    std::vector<Register>& file = in_mask_register(value) ? masks_ : vectors_;
    Register* chosen = nullptr;
    for (Register& r : file) {
      if (r.value < 0) {
        chosen = &r;
        break;
      }
    }
    if (chosen == nullptr) {
      int best = -1;
      bool best_is_free = false;
      for (Register& r : file) {
        if (held(r.value)) continue;
        const int use = next_use(r.value);
        const bool is_free = loses_nothing(r.value, use);
        // What can be read again goes first, unless it is needed at once.
        const bool better = is_free != best_is_free ? is_free : use > best;
        if (chosen == nullptr || better) {
          chosen = &r;
          best = use;
          best_is_free = is_free;
        }
      }
      evict(*chosen);
    }
    chosen->value = value;
    register_of_[index(value)] = chosen->number;
    hold(value);
    return chosen->number;
  }

  void hold(int value) { held_.push_back(value); }
  bool held(int value) const { return std::find(held_.begin(), held_.end(), value) != held_.end(); }

  // Whether the value can be had again without having been saved.
  bool loses_nothing(int value, int use) const {
    if (use == kNever || slot_of_[index(value)] >= 0 || is_constant(value) || is_fixed(value)) return true;
    if (!is_input(value)) return false;
    return access(value) == FusedLoop::Access::kRow || use < first_store_;
  }

  void evict(Register& r) {
    const int value = r.value;
    const int use = next_use(value);
    if (!loses_nothing(value, use)) {
      slot_of_[index(value)] = new_slot();
      Step step{Step::Kind::kSpill};
      step.mask = program_[value].mask;
      step.d = {Place::Kind::kSlot, slot_of_[index(value)]};
      step.a = {Place::Kind::kRegister, r.number};
      out_.steps.push_back(step);
    }
    register_of_[index(value)] = -1;
    r.value = -1;
  }

  int new_slot() {
    if (free_slots_.empty()) return out_.slots++;
    const int slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }

  // Gives up the value's register and slot if nothing needs it after this position.
  void release(int value) {
    if (value < 0 || next_use(value) != kNever) return;
    if (slot_of_[index(value)] >= 0) {
      free_slots_.push_back(slot_of_[index(value)]);
      slot_of_[index(value)] = -1;
    }
    if (register_of_[index(value)] < 0) return;
    for (Register& r : in_mask_register(value) ? masks_ : vectors_) {
      if (r.value == value) r.value = -1;
    }
    register_of_[index(value)] = -1;
  }

  Place constant(int value) {
    int& at = constant_of_[index(value)];
    if (at < 0) {
      at = static_cast<int>(out_.constants.size());
      out_.constants.push_back(program_[value].bits);
    }
    return {Place::Kind::kConstant, at};
  }
  Place memory(int value) {
    if (is_constant(value)) return constant(value);
    return {Place::Kind::kFixed, static_cast<int>(program_[value].bits)};
  }

  // Brings the value into a register.
  Place in_register(int value) {
    if (register_of_[index(value)] < 0) {
      Step step{Step::Kind::kLoad};
      step.mask = program_[value].mask;
      step.bits = program_[value].bits;
      step.d = {Place::Kind::kRegister, take(value)};
      if (slot_of_[index(value)] >= 0) {
        step.a = {Place::Kind::kSlot, slot_of_[index(value)]};
      } else if (is_constant(value) && program_[value].bits == 0) {
        step.a = {Place::Kind::kZero};
      } else if (is_constant(value) || is_fixed(value)) {
        step.a = memory(value);
      } else {
        step.kind = Step::Kind::kLoadInput;
      }
      out_.steps.push_back(step);
    } else {
      hold(value);
    }
    return {Place::Kind::kRegister, register_of_[index(value)]};
  }
  // In a register if it is in one, else in memory if it is there.
  Place anywhere(int value) {
    return register_of_[index(value)] < 0 && in_memory(value) ? memory(value) : in_register(value);
  }
  bool needs_load(int value) const { return register_of_[index(value)] < 0 && in_memory(value); }

  // --- Instructions ---

  void store(int output) {
    const int value = values_[index(loop_.outputs[index(output)].value)];
    Step step{Step::Kind::kOutput};
    step.mask = program_[value].mask;
    step.bits = static_cast<std::uint64_t>(output);
    step.a = in_register(value);
    out_.steps.push_back(step);
    held_.clear();
    release(value);
  }

  void compute(int i) {
    const Instruction& instruction = program_[i];
    Step step{Step::Kind::kCompute};
    step.op = instruction.op;
    step.mask = instruction.mask;
    step.bits = instruction.bits;
    int a = instruction.a, b = instruction.b;
    const int c = instruction.c;
    for (const int operand : {a, b, c}) {
      if (operand >= 0 && register_of_[index(operand)] >= 0) hold(operand);
    }
    if (multiplies_and_adds(instruction.op)) {
      multiply_add(i, step);
    } else {
      if (commutes(instruction.op) && takes_memory(instruction.op) && needs_load(a) && !needs_load(b)) std::swap(a, b);
      if (instruction.op == VectorOp::kSelect) {
        step.a = in_register(a);
        const bool zero = is_constant(c) && program_[c].bits == 0;
        step.c = zero ? Place{Place::Kind::kZero} : in_register(c);
        step.b = anywhere(b);
      } else if (b < 0) {
        step.a = in_register(a);
      } else {
        step.a = in_register(a);
        step.b = takes_memory(instruction.op) ? anywhere(b) : in_register(b);
      }
      // More than one machine instruction: the result may not overwrite an operand.
      const bool apart = instruction.op == VectorOp::kTestBits && !registers_.masks;
      if (!apart) release_operands(instruction);
      step.d = {Place::Kind::kRegister, take(i)};
      if (apart) release_operands(instruction);
      out_.steps.push_back(step);
    }
    held_.clear();
    release(i);
  }

  void release_operands(const Instruction& instruction) {
    for (const int operand : {instruction.a, instruction.b, instruction.c}) release(operand);
  }

  // The result takes the register of an operand that ends here, or of a copy of one.
  void multiply_add(int i, Step& step) {
    const Instruction& instruction = program_[i];
    const int operands[] = {instruction.a, instruction.b, instruction.c};
    Place* const places[] = {&step.a, &step.b, &step.c};
    // One operand may stay in memory: rather one that will not be needed in a register.
    int left = -1;
    for (const int k : {2, 1, 0}) {
      const bool twice = std::count(std::begin(operands), std::end(operands), operands[k]) > 1;
      if (left < 0 && needs_load(operands[k]) && !twice) left = k;
    }
    for (int k = 0; k < 3; ++k) {
      if (k != left) *places[k] = in_register(operands[k]);
    }
    if (left >= 0) *places[left] = memory(operands[left]);
    int ends = -1;
    for (int k = 0; k < 3; ++k) {
      if (k != left && next_use(operands[k]) == kNever) ends = k;
    }
    if (ends >= 0) {
      step.d = *places[ends];
      release_operands(instruction);
      for (Register& r : vectors_) {
        if (r.number == step.d.index) r.value = i;
      }
      register_of_[index(i)] = step.d.index;
    } else {
      step.d = {Place::Kind::kRegister, take(i)};
      // A constant in memory is as good as a copy.
      const int copied = left >= 0 ? left : 2;
      Step copy{left >= 0 ? Step::Kind::kLoad : Step::Kind::kMove};
      copy.d = step.d;
      copy.a = *places[copied];
      if (left >= 0 && is_constant(operands[left]) && program_[operands[left]].bits == 0) copy.a = {Place::Kind::kZero};
      out_.steps.push_back(copy);
      *places[copied] = step.d;
      release_operands(instruction);
    }
    out_.steps.push_back(step);
  }

  const FusedLoop& loop_;
  const Program& program_;
  const std::vector<int>& values_;
  const Registers& registers_;

  std::vector<Item> schedule_;
  int first_store_ = kNever;
  // The positions at which values are used: those of value v are uses_[next_[v]] to uses_[last_[v] - 1].
  std::vector<std::int32_t> uses_, next_, last_;

  int position_ = 0;
  std::vector<Register> vectors_, masks_;
  std::vector<int> held_;  // values that the present instruction needs in their registers
  std::vector<int> register_of_, slot_of_, constant_of_, free_slots_;
  Allocation out_;
};

}  // namespace

Allocation allocate(const FusedLoop& loop, const Program& program, const std::vector<int>& values,
                    const Registers& registers, bool spills) {
  return Allocator(loop, program, values, registers).run(spills);
}

}  // namespace capstan::emit
