// Memory that is read after the current work, fetched into the second-level cache in shares while that work goes on.
//
// The processor foresees reads that follow each other, but a kernel that copies an image and then computes with it for
// microseconds begins every image with a wait for the first lines of the next. Fetching all of it at once would wait as
// well: there are few places for lines on their way.
#pragma once

#include <algorithm>
#include <cstdint>

namespace capstan {

class Ahead {
 public:
  Ahead() = default;
  template <class T>
  Ahead(const T* begin, std::int64_t elements, std::int64_t shares)
      : at_(reinterpret_cast<const char*>(begin)),
        end_(at_ + elements * static_cast<std::int64_t>(sizeof(T))),
        share_((end_ - at_) / std::max<std::int64_t>(shares, 1) + kLine) {}

  // Fetches the next share, if any is left.
  [[gnu::noinline]] void fetch() {
    const char* const stop = end_ - at_ < share_ ? end_ : at_ + share_;
    for (; at_ < stop; at_ += kLine) __builtin_prefetch(at_, 0, 2);
  }

 private:
  static constexpr std::int64_t kLine = 64;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::int64_t share_ = 0;
};

}  // namespace capstan
