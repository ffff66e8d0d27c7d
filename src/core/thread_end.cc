#include "src/core/thread_end.h"

#include <algorithm>
#include <cstdlib>

namespace capstan {

namespace {

class Actions {
 public:
  ~Actions() {
    while (count_ > 0) actions_[--count_]();
    count_ = kMost;
  }
  void add(void (*action)()) noexcept {
    if (count_ == kMost || std::find(actions_, actions_ + count_, action) != actions_ + count_) return;
    actions_[count_++] = action;
  }

 private:
  // The allocator's, those of scratch memory and of tapes.
  static constexpr int kMost = 4;

  void (*actions_[kMost])() = {};
  int count_ = 0;
};
thread_local Actions actions;

}  // namespace

void at_thread_end(void (*action)()) noexcept { actions.add(action); }

}  // namespace capstan
