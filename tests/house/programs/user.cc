// A library of somebody else that uses thread-local variables of libstdc++.
#include <mutex>
#include <stdexcept>

extern "C" void use() {
  static std::once_flag once;
  std::call_once(once, [] {});
  try {
    throw std::runtime_error("caught");
  } catch (const std::exception&) {
  }
}
