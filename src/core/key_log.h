// The keys of random draws of a run, noted so that a second run draws the same (see recompute.cc).
//
// Draws are functions of a key, and keys come from streams that go on; a key is eight bytes, while what is drawn from
// it may be as large as everything that the second run is meant to save.
#pragma once

#include <cstdint>
#include <vector>

#include "capstan/error.h"
#include "src/core/context.h"
#include "src/core/seed_stream.h"

namespace capstan {

struct KeyLog {
  std::vector<std::uint64_t> keys;
  std::size_t next = 0;     // the one that is given next, in a second run
  bool again = false;       // false: keys are noted; true: those noted are given
  KeyLog* outer = nullptr;  // of the run around this one

  // Stands in the context for a scope.
  class Scope {
   public:
    explicit Scope(KeyLog& log) : saved_(context.keys) {
      log.outer = saved_;
      context.keys = &log;
    }
    ~Scope() { context.keys = saved_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    KeyLog* saved_;
  };
};

// The next key of a stream, or the one that the first run got there.
template <class Draw>
std::uint64_t logged_key(KeyLog* log, const Draw& draw) {
  if (log == nullptr) return draw();
  if (!log->again) {
    log->keys.push_back(logged_key(log->outer, draw));
    return log->keys.back();
  }
  if (log->next == log->keys.size()) {
    throw GradientError("recompute_grad: the function draws more random numbers in its second run than in its first");
  }
  return log->keys[log->next++];
}

// The key of an object that draws, such as an initializer or a layer of dropout. It is settled when the object is made,
// which a traced function may do in its first trace: it is no number of the trace, as next_seed() would be.
inline std::uint64_t key_of_object() { return logged_key(context.keys, next_in_seed_stream); }

}  // namespace capstan
