#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/export.h"

namespace capstan {

class ProfileData;

/// Options of profile().
struct ProfileOptions {
  /// The most events that save() has of one thread: beyond, they are counted in the rows and no longer kept one by one.
  std::int64_t max_events = 1'000'000;
};

/// All spans of one kind and name.
struct ProfileRow {
  /// An op as it is called by name, "gradient(tanh)" for its rule, "loop(multiply, add, tanh)" for ops that a function
  /// runs as one loop, "matmul + loop(add)" if it is part of a product, or the name of a function or ProfileScope.
  std::string name;
  /// "op"; "loop"; "rule", of an op in a gradient; "gradient", a call of it; "function", a call of one; "trace", when a
  /// function is traced and compiled; "scope". Of datasets: "stage", an element of a transformation, "map" for example,
  /// with its input inside; "wait", the time in which one waits for its own threads; "call", what these do for it. Rows
  /// of tensors in memory are read by the batch that takes them.
  std::string kind;
  std::int64_t count = 0;
  double self_seconds = 0;        ///< Without what other spans inside of it took.
  double total_seconds = 0;       ///< With it; of spans of one name inside each other the outer ones count.
  double mean_seconds = 0;        ///< total_seconds / count
  double share = 0;               ///< self_seconds / the sum of it over all rows
  std::int64_t result_bytes = 0;  ///< What the results take, views of other tensors included.
  double flops = 0;               ///< Of matrix products and convolutions; 0 for everything else.
};

/// Where the time of a program went. A handle of what profile() has seen; copies share it.
class CAPSTAN_EXPORT Profile {
 public:
  /// An empty profile.
  Profile() = default;

  /// The slowest first, by self_seconds.
  const std::vector<ProfileRow>& rows() const;
  /// Wall-clock seconds between the start and the stop of the session.
  double wall_seconds() const;
  /// The sum of self_seconds: more than wall_seconds() if several threads ran ops.
  double span_seconds() const;

  /// A table of the first `limit` rows and the sum of the others. Errors: ValueError for a negative limit.
  std::string to_string(int limit = 20) const;

  /// Writes every span in the format of Chrome's traces, for https://ui.perfetto.dev, chrome://tracing and TensorBoard:
  /// names, kinds, start times and durations by thread, and the types of inputs and results. Errors: IoError.
  void save(const std::string& path) const;

 private:
  friend class ProfileSession;
  explicit Profile(std::shared_ptr<const ProfileData> data) : data_(std::move(data)) {}

  std::shared_ptr<const ProfileData> data_;
};

/// Profiles from its construction to stop() or the end of its life. At most one exists at a time.
class CAPSTAN_EXPORT ProfileSession {
 public:
  /// Begins. Errors: ValueError if another session is under way, in any thread, or if max_events is negative.
  explicit ProfileSession(const ProfileOptions& options = {});
  /// Ends without a result, unless it has ended.
  ~ProfileSession();
  ProfileSession(ProfileSession&& other) noexcept : number_(std::exchange(other.number_, 0)) {}
  ProfileSession& operator=(ProfileSession&&) = delete;

  /// Ends. Spans that have not ended are left out, what has ended inside of them is not. Errors: ValueError if it has
  /// been called before.
  Profile stop();

 private:
  std::uint64_t number_;  // 0: it has ended
};

/// Measures where the time of a program goes, as tf.profiler and torch.profiler do: every op of every thread, with the
/// rules that a gradient runs, the loops that a function is made of, and the calls around them. A span takes about
/// half a microsecond to measure, a tenth of which it counts itself and the rest the span around it, so ops of a few
/// elements look slower than they are. While nothing is profiled it is a test.
///
///     Profile result = profile([&] { for (const auto& batch : data) train_step(batch); });
///     std::puts(result.to_string(10).c_str());
///     result.save("trace.json");
///
/// or, where that is not one call,
///
///     auto session = profile();
///     ...
///     Profile result = session.stop();
///
/// The rows of kind "wait" say how long a loop waits for its data, and those of kind "stage" by their self_seconds
/// which transformation it is that takes the time.
///
/// What the function throws goes through, and ends the profile. Errors: as of ProfileSession.
[[nodiscard]] inline ProfileSession profile(const ProfileOptions& options = {}) { return ProfileSession(options); }
template <std::invocable Body>
Profile profile(Body&& body, const ProfileOptions& options = {}) {
  ProfileSession session(options);
  std::forward<Body>(body)();
  return session.stop();
}

/// A part of a program with a name of its own in profiles, as tf.profiler.experimental.Trace and
/// torch.profiler.record_function. Without effect while nothing is profiled, and in a function that is being traced.
///
///     const ProfileScope scope("evaluate");
class CAPSTAN_EXPORT ProfileScope {
 public:
  /// Begins; the name is copied.
  explicit ProfileScope(std::string_view name);
  /// Ends. On the thread on which it began.
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  std::uint64_t id_;
};

}  // namespace capstan
