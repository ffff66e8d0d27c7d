// What a session of profile() has seen, and what is made of it: rows, a table, a trace.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/profile.h"
#include "capstan/shape.h"
#include "capstan/tensor.h"
#include "src/core/profiler.h"

namespace capstan {

// An input or a result of a span.
struct SpanTensor {
  bool is_number = true;  // and nothing else is known
  DType dtype = DType::kFloat32;
  std::uint8_t rank = 0;
  std::uint32_t dims[kMaxRank] = {};
};

// The spans of one kind and name, in nanoseconds.
struct SpanName {
  SpanKind kind = SpanKind::kOp;
  std::string text;
  std::int64_t open = 0;  // how many are under way
  std::int64_t count = 0;
  std::int64_t self = 0;
  std::int64_t total = 0;
  std::int64_t bytes = 0;
  double flops = 0;
};

struct SpanEvent {
  const SpanName* name;
  std::int64_t begin;
  std::int64_t duration;
  std::size_t first_tensor;  // in ThreadSpans::tensors
  std::size_t inputs;        // of its tensors
  std::size_t tensors;
  double flops;
};

// Names are found without making a string.
struct OrderOfNames {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a.first != b.first ? a.first < b.first : std::string_view(a.second) < std::string_view(b.second);
  }
};

struct ThreadSpans {
  std::map<std::pair<SpanKind, std::string>, SpanName, OrderOfNames> names;  // events point into it
  std::vector<SpanEvent> events;                                             // in the order in which they ended
  std::vector<SpanTensor> tensors;
  std::int64_t left_out = 0;  // events beyond the most that are kept
};

class ProfileData {
 public:
  // Makes the rows.
  void sum_up();

  std::vector<ThreadSpans> threads;
  std::int64_t begin = 0;
  std::int64_t wall = 0;
  std::vector<ProfileRow> rows;
  double span_seconds = 0;
};

// Of the results of a span.
std::int64_t bytes_of(std::span<const SpanTensor> tensors);

// Multiplications and additions of a matrix product or convolution; 0 for any other op.
double flops_of(const OpDef* op, std::span<const SpanTensor> inputs, std::span<const SpanTensor> outputs);

// A trace in Chrome's format.
void write_trace(std::ostream& out, const ProfileData& data);

}  // namespace capstan
