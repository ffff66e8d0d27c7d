// A device in the tests: the processor's loops and kernels behind memory that the host cannot touch.
//
// Its addresses lie in a range without any access, so whatever looks at an element without asking the backend stops the
// program. A kernel or loop that the backend runs gets the addresses of the same elements elsewhere. It stands for a
// GPU: what runs on it needs nothing of the core, of tapes, graphs and functions that a GPU would not give.
//
// With CAPSTAN_TEST_DEVICE=1 every test of a program runs with tensors made on it. lacking_on_device.cc has those that
// cannot, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "src/core/backend.h"

namespace capstan::testing {

class GuardedDevice final : public Backend {
 public:
  explicit GuardedDevice(std::string_view name = "GUARDED:0");
  ~GuardedDevice() override;
  GuardedDevice(const GuardedDevice&) = delete;
  GuardedDevice& operator=(const GuardedDevice&) = delete;

  std::string_view name() const override { return name_; }
  void* allocate(std::size_t bytes) override;
  void free(void* memory) noexcept override;
  void write(void* to, const void* host, std::size_t bytes) override;
  void read(void* host, const void* from, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void run_loop(const LoopOfOp& loop, DType dtype, const Tensor& out, std::span<detail::Block* const> inputs) override;
  bool has_kernel(const OpDef& op) const override { return !lacking.contains(op.name); }
  void run_kernel(const Call& call, std::span<Tensor> outputs) override;
  void run_group(const FusedGroup& group, const void* const* inputs, void* const* outputs) override;

  // Allocations that were not freed, and what has run.
  std::int64_t allocations() const { return allocations_; }
  std::int64_t loops() const { return loops_; }
  std::int64_t kernels() const { return kernels_; }
  std::int64_t groups() const { return groups_; }

  // Ops for which it has no kernel.
  std::set<std::string_view> lacking;

 private:
  bool is_within(const void* address, const std::byte* range) const;
  void* elsewhere(const void* address) const;
  Tensor accessible(const TensorRef& tensor) const;
  Tensor guarded(Tensor tensor);

  std::string_view name_;
  std::byte* guarded_;  // what the library sees
  std::byte* memory_;   // where the elements are
  std::size_t used_ = 0;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::size_t>> free_;  // by size: offsets
  std::map<std::size_t, std::size_t> sizes_;              // by offset
  std::int64_t allocations_ = 0, loops_ = 0, kernels_ = 0, groups_ = 0;
};

// The one of the process.
GuardedDevice& guarded_device();

// Patterns of GoogleTest for tests that do not run with CAPSTAN_TEST_DEVICE=1, each with its reason.
struct LackingOnDevice {
  std::string_view pattern;
  std::string_view reason;
};
std::span<const LackingOnDevice> lacking_on_device();

}  // namespace capstan::testing
