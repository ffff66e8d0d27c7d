// Objects that a thread keeps for its next call, so that a call allocates nothing for itself, and a lock that is held
// for a few instructions.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

namespace capstan {

// An object of the thread for the life of a scope; calls nest, so there may be several. T has clear(), which keeps its
// memory.
template <class T>
class Spare {
 public:
  Spare() : object_(take()) {}
  ~Spare() { give_back(object_); }
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;

  T* operator->() const { return object_; }

  static T* take() {
    std::vector<std::unique_ptr<T>>& kept = objects();
    if (kept.empty()) return new T;
    T* const object = kept.back().release();
    kept.pop_back();
    return object;
  }
  static void give_back(T* object) noexcept {
    std::unique_ptr<T> own(object);
    own->clear();
    std::vector<std::unique_ptr<T>>& kept = objects();
    if (kept.size() < kept.capacity()) kept.push_back(std::move(own));
  }

 private:
  static constexpr std::size_t kMost = 8;
  static std::vector<std::unique_ptr<T>>& objects() {
    thread_local std::vector<std::unique_ptr<T>> objects = [] {
      std::vector<std::unique_ptr<T>> empty;
      empty.reserve(kMost);
      return empty;
    }();
    return objects;
  }

  T* const object_;
};

// A holder never blocks.
class SpinLock {
 public:
  void lock() {
    while (taken_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_;
};

class SpinGuard {
 public:
  explicit SpinGuard(SpinLock& lock) : lock_(lock) { lock_.lock(); }
  ~SpinGuard() { lock_.unlock(); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace capstan
