// What follows a product element by element, run on the parts of the result that are finished, while they are in cache.
//
// Whoever calls a kernel arms an epilogue for the memory of the result, in a scope of its thread. The kernel that fills
// that memory in parts may take it; nothing else between the two has to know. One that is not taken is run by the
// caller afterwards, so a kernel takes it only where it gains something.
#pragma once

#include <cstdint>

namespace capstan {

class Epilogue {
 public:
  // Calls run(context, begin, end) for ranges of the elements of the result, each once, on any thread of the pool. A
  // range is whole rows of the last axis.
  using Run = void (*)(const void* context, std::int64_t begin, std::int64_t end);

  Epilogue(const void* result, std::int64_t elements, Run run, const void* context)
      : result_(result), elements_(elements), run_(run), context_(context), outer_(armed_) {
    armed_ = this;
  }
  ~Epilogue() { armed_ = outer_; }
  Epilogue(const Epilogue&) = delete;
  Epilogue& operator=(const Epilogue&) = delete;

  // For kernels: the epilogue of a dense result, or null. Who takes it runs it on all of the elements.
  static const Epilogue* take(const void* result, std::int64_t elements) {
    Epilogue* const armed = armed_;
    if (armed == nullptr || armed->result_ != result || armed->elements_ != elements || armed->taken_) return nullptr;
    armed->taken_ = true;
    return armed;
  }
  void operator()(std::int64_t begin, std::int64_t end) const { run_(context_, begin, end); }

  bool is_taken() const { return taken_; }

 private:
  // The innermost scope of the thread.
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local Epilogue* armed_ = nullptr;

  const void* result_;
  std::int64_t elements_;
  Run run_;
  const void* context_;
  Epilogue* outer_;
  bool taken_ = false;
};

}  // namespace capstan
