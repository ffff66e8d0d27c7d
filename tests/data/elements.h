// Elements of datasets as texts, for comparisons.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "capstan/capstan.h"

namespace capstan::testing {

inline std::int64_t squared(std::int64_t x) { return x * x; }

inline std::string text_of(std::int64_t x) { return std::to_string(x); }
inline std::string text_of(const std::string& x) { return "\"" + x + "\""; }
inline std::string text_of(const Tensor& x) {
  return std::string(name_of(x.dtype())) + x.shape().to_string() + x.to_string();
}
inline std::string text_of(const Texts& x) {
  std::string text;
  for (std::size_t i = 0; i < x.row_count(); ++i) {
    for (const std::string& one : x.row(i)) text += one + ",";
    text += ";";
  }
  return text;
}
inline std::string text_of(const std::map<std::string, Tensor>& x) {
  std::string text;
  for (const auto& [key, value] : x) text += key + ":" + text_of(value) + " ";
  return text;
}
template <class... T>
std::string text_of(const std::tuple<T...>& x) {
  return std::apply([](const auto&... parts) { return ((text_of(parts) + "|") + ... + ""); }, x);
}

// What an iterator still gives; an error is its first line.
template <class Iterator>
std::vector<std::string> rest_of(Iterator& iterator) {
  std::vector<std::string> texts;
  for (;;) {
    try {
      const auto element = iterator.next();
      if (!element) return texts;
      texts.push_back(text_of(*element));
    } catch (const std::exception& error) {
      const std::string text = error.what();
      texts.push_back("error: " + text);
    }
  }
}

template <class D>
std::vector<std::string> elements_of(const D& dataset) {
  auto iterator = dataset.begin();
  return rest_of(iterator);
}

using Words = std::vector<std::string>;

// The entries of a folder.
inline std::ptrdiff_t entries_in(const std::string& folder) {
  const auto entries = std::filesystem::directory_iterator(folder);
  return std::distance(begin(entries), end(entries));
}

// The threads of this process.
inline std::ptrdiff_t thread_total() { return entries_in("/proc/self/task"); }

/// The same once there are no more than `expected`, or after a second: the system lists a thread for a moment after it
/// was joined.
inline std::ptrdiff_t thread_total_down_to(std::ptrdiff_t expected) {
  for (int i = 0; i < 1000 && thread_total() > expected; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return thread_total();
}

// Of a dataset with six elements, three of which had been read at `position`, while `file` was written: with another
// draft an iterator goes on, or refuses the position and gives all six. No position makes a file whole.
template <class Make>
void expect_no_belief_in(const std::vector<std::int64_t>& draft, const std::string& key, DatasetPosition position,
                         const std::string& file, const Make& make) {
  position.at(key) = constant(draft);
  auto restored = make().begin();
  try {
    restored.restore(position);
    EXPECT_EQ(rest_of(restored).size(), 3U);
  } catch (const ValueError&) {
    EXPECT_EQ(rest_of(restored).size(), 6U);
    std::filesystem::remove(file);
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace capstan::testing
