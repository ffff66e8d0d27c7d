// A stream of random words that passes share, and its place in positions.
#pragma once

#include <memory>
#include <mutex>

#include "src/data/position.h"
#include "src/data/word_stream.h"

namespace capstan::detail {

// Gives every pass a stream of its own: always the same one, or another one each time, whose seeds are two words of the
// stream that all passes share.
class PassStreams {
 public:
  PassStreams(std::uint64_t seed, std::uint64_t seed2, bool anew) : words_(seed, seed2), anew_(anew) {}

  WordStream open() {
    const std::lock_guard lock(mutex_);
    if (!anew_) return {words_.seed(), words_.seed2()};
    const std::uint32_t a = words_.next();
    const std::uint32_t b = words_.next();
    return {a, b};
  }

  // A pass's stream, and how many passes were opened, so that later ones go on as well.
  void save(const WordStream& pass, PositionWriter& position) {
    position.numbers("stream", {static_cast<std::int64_t>(pass.seed()), static_cast<std::int64_t>(pass.seed2()),
                                static_cast<std::int64_t>(pass.position())});
    const std::lock_guard lock(mutex_);
    position.number("passes", static_cast<std::int64_t>(words_.position()));
  }
  WordStream restore(PositionReader& position) {
    const std::vector<std::int64_t> stream = position.numbers("stream");
    if (stream.size() != 3) position.refuse("stream");
    const auto passes = static_cast<std::uint64_t>(position.number("passes"));
    const std::lock_guard lock(mutex_);
    words_.seek(passes);
    WordStream pass(static_cast<std::uint64_t>(stream[0]), static_cast<std::uint64_t>(stream[1]));
    pass.seek(static_cast<std::uint64_t>(stream[2]));
    return pass;
  }

 private:
  std::mutex mutex_;
  WordStream words_;
  bool anew_;
};
using PassStreamsPtr = std::shared_ptr<PassStreams>;

}  // namespace capstan::detail
