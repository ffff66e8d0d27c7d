// Streams of seeds: that of the process, and those of their own.
//
// What draws late takes its seeds at a time that is not that of its place in the program: a layer draws its weights at
// its first call, and C++ leaves open which of two calls in one expression is first. It opens a stream when it is made
// instead, and draws from that. SplitMix64: a counter with a constant step, whose values are mixed.
#pragma once

#include <cstdint>
#include <optional>

#include "capstan/seed.h"

namespace capstan {

// The mixing function of SplitMix64.
constexpr std::uint64_t mix_key(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// What set_seed() does.
void restart_seed_streams(std::uint64_t seed);

// What set_seed() was given last; nothing in a program that does not call it. Where an order is that of TensorFlow for
// the same seeds, it depends on that.
Seed process_seed();
void set_process_seed(Seed seed);

// The next seed of this thread's stream: that of the process, unless it uses another one.
std::uint64_t next_in_seed_stream();

// A new stream. Its start depends on set_seed() and on how many were opened since; it uses up no seed of the process.
std::uint64_t open_seed_stream();

// Where the streams of the process are: its seeds, and the starts of new streams.
struct SeedStreams {
  std::uint64_t process = 0, starts = 0;
};
SeedStreams seed_streams();
void set_seed_streams(const SeedStreams& streams);

// While it lives this thread draws from `stream`.
class UseSeedStream {
 public:
  explicit UseSeedStream(std::uint64_t& stream);
  ~UseSeedStream();
  UseSeedStream(const UseSeedStream&) = delete;
  UseSeedStream& operator=(const UseSeedStream&) = delete;

 private:
  std::uint64_t* saved_;
};

}  // namespace capstan
