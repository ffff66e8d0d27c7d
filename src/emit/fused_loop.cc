// The kernels that exist, by the loops that they run.
//
// The key of a loop is its bytes: operands, formulas by their addresses (they are constants of the library),
// parameters. Two threads that ask for the same new loop may both emit it; one of them is kept.
#include "src/emit/fused_loop.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "src/core/cpu.h"
#include "src/emit/allocate.h"
#include "src/emit/code_memory.h"
#include "src/emit/encode.h"
#include "src/emit/formulas.h"

namespace capstan {
namespace {

// What is in the environment, until emit_machine_code() says otherwise.
std::atomic<bool>& allowed() {
  static std::atomic<bool> allowed = [] {
    const char* setting = std::getenv("CAPSTAN_EMIT");
    return setting == nullptr || std::string_view(setting) != "0";
  }();
  return allowed;
}

template <class T>
void append(std::string& key, const T& value) {
  // An address, too, is its bytes.
  key.append(reinterpret_cast<const char*>(&value), sizeof value);  // NOLINT(bugprone-sizeof-expression)
}

std::string key_of(const FusedLoop& loop, int instruction_set) {
  std::string key;
  key.reserve(16 + 2 * loop.inputs.size() + 80 * loop.nodes.size() + 5 * loop.outputs.size());
  append(key, loop.dtype);
  append(key, instruction_set);
  append(key, loop.inputs.size());
  append(key, loop.nodes.size());
  for (const FusedLoop::Input& input : loop.inputs) {
    append(key, input.access);
    append(key, input.boolean);
  }
  for (const FusedLoop::Node& node : loop.nodes) {
    append(key, node.code);
    append(key, node.operands);
    append(key, node.parameters);
    append(key, node.boolean);
  }
  for (const FusedLoop::Output& output : loop.outputs) {
    append(key, output.value);
    append(key, output.store);
  }
  return key;
}

struct Kernels {
  std::mutex mutex;
  std::unordered_map<std::string, FusedKernel> by_key;
};
Kernels& kernels() {
  static auto* const kernels = new Kernels;  // never destroyed: calls may come from destructors of statics
  return *kernels;
}

FusedKernel make_kernel(const FusedLoop& loop, int instruction_set) {
  const emit::RecordedLoop recorded = emit::record_loop(loop, instruction_set == kAvx512 ? 64 : 32);
  if (recorded.program.refused()) return nullptr;
  for (const FusedLoop::Output& output : loop.outputs) {
    if (output.value < 0 || output.value >= static_cast<int>(recorded.values.size())) return nullptr;
    const int value = recorded.values[static_cast<std::size_t>(output.value)];
    if (output.store != FusedLoop::Store::kFull && recorded.program[value].mask) return nullptr;
  }
  // Two vectors in turn if the body fits into half of the registers, else one that has them all.
  const emit::Registers registers = emit::registers_for(loop, instruction_set);
  emit::Halves halves = emit::halves_of(registers);
  emit::Allocation allocation =
      emit::allocate(loop, recorded.program, recorded.values, emit::half_of(registers), false);
  if (allocation.slots > 0) {
    allocation = emit::allocate(loop, recorded.program, recorded.values, registers);
    halves = {};
  }
  const emit::Code code = emit::encode(loop, recorded.program, allocation, halves, instruction_set);
  if (code.bytes.empty()) return nullptr;
  const std::uint8_t* const placed = emit::place_code(code.bytes);
  if (placed == nullptr) return nullptr;
  return reinterpret_cast<FusedKernel>(reinterpret_cast<std::uintptr_t>(placed + code.entry));
}

}  // namespace

FusedKernel emit_fused_loop(const FusedLoop& loop, int instruction_set) {
#if defined(__x86_64__)
  if (!allowed().load(std::memory_order_relaxed) || instruction_set == kPortable) return nullptr;
  if (loop.dtype != DType::kFloat32 && loop.dtype != DType::kFloat64) return nullptr;
  std::string key = key_of(loop, instruction_set);
  Kernels& all = kernels();
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_key.find(key);
    if (found != all.by_key.end()) return found->second;
  }
  const FusedKernel kernel = make_kernel(loop, instruction_set);
  if (kernel == nullptr) return nullptr;
  const std::lock_guard lock(all.mutex);
  return all.by_key.emplace(std::move(key), kernel).first->second;
#else
  (void)loop;
  (void)instruction_set;
  return nullptr;
#endif
}

FusedKernel emit_fused_loop(const FusedLoop& loop) { return emit_fused_loop(loop, instruction_set()); }

void emit_machine_code(bool emit) { allowed().store(emit, std::memory_order_relaxed); }

bool can_emit(const MicroCode& code, DType dtype) {
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return false;
  FusedLoop loop;
  loop.dtype = dtype;
  loop.inputs.assign(5, {FusedLoop::Access::kFull});
  loop.nodes.push_back({&code, {0, 1, 2, 3, 4}});
  return !emit::record_loop(loop, 64).program.refused();
}

}  // namespace capstan
