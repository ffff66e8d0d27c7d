// What a call may cost, whatever its arguments are.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstddef>
#include <exception>
#include <string>

#include "capstan/error.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAPSTAN_SANITIZED 1
#else
#define CAPSTAN_SANITIZED 0
#endif

namespace capstan::testing {

// Seconds of all threads together.
inline constexpr double kSlow = CAPSTAN_SANITIZED ? 60 : 10;

// That the process has used so far.
double cpu_seconds();

// While it lives the process can get 128 MiB more than it has: a request for more memory than there is must fail
// instead of being granted and never filled. Sanitizers need the address space for themselves, and have a limit of
// their own for each request.
class MemoryLimit {
 public:
  MemoryLimit();
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_ = {};
};

// Runs `call`, which may throw the library's errors and nothing else, and must not take long; false if it threw.
// `describe` says what was called.
template <class Call, class Describe>
bool survives(const Call& call, const Describe& describe) {
  const double begin = cpu_seconds();
  bool works = false;
  try {
    call();
    works = true;
  } catch (const Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
  } catch (const std::exception& error) {
    ADD_FAILURE() << describe() << " threw " << error.what();
  }
  const double seconds = cpu_seconds() - begin;
  EXPECT_LT(seconds, kSlow) << describe();
  return works;
}

}  // namespace capstan::testing
