#include "src/core/seed_stream.h"

#include <atomic>

#include "src/core/context.h"

namespace capstan {

namespace {

constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
// Where the starts of other streams come from, so that they have nothing to do with the seeds of the process.
constexpr std::uint64_t kStarts = 0xD1B54A32D192ED03u;

constinit std::atomic<std::uint64_t> process{0};
constinit std::atomic<std::uint64_t> starts{kStarts};
constinit std::atomic<std::uint64_t> given{0};
constinit std::atomic<bool> is_given{false};

std::uint64_t next_of(std::atomic<std::uint64_t>& stream) {
  return mix_key(stream.fetch_add(kStep, std::memory_order_relaxed) + kStep);
}

}  // namespace

void restart_seed_streams(std::uint64_t seed) {
  set_process_seed(seed);
  process.store(mix_key(seed), std::memory_order_relaxed);
  starts.store(mix_key(seed ^ kStarts), std::memory_order_relaxed);
}

SeedStreams seed_streams() { return {process.load(std::memory_order_relaxed), starts.load(std::memory_order_relaxed)}; }

void set_seed_streams(const SeedStreams& streams) {
  process.store(streams.process, std::memory_order_relaxed);
  starts.store(streams.starts, std::memory_order_relaxed);
}

Seed process_seed() {
  if (!is_given.load(std::memory_order_acquire)) return std::nullopt;
  return given.load(std::memory_order_relaxed);
}

void set_process_seed(Seed seed) {
  given.store(seed.value_or(0), std::memory_order_relaxed);
  is_given.store(seed.has_value(), std::memory_order_release);
}

std::uint64_t next_in_seed_stream() {
  return context.seeds != nullptr ? mix_key(*context.seeds += kStep) : next_of(process);
}

std::uint64_t open_seed_stream() { return next_of(starts); }

UseSeedStream::UseSeedStream(std::uint64_t& stream) : saved_(context.seeds) { context.seeds = &stream; }
UseSeedStream::~UseSeedStream() { context.seeds = saved_; }

}  // namespace capstan
