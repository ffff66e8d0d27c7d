// profile(): the spans of all threads, summed by name and kept one by one.
//
// Each thread writes to a record of its own, whose lock nobody else wants before the session ends. A record knows the
// number of its session, so a thread that was busy when that ended, and goes on in the next one, gets a new record.
#include "capstan/profile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <tuple>

#include "src/core/check.h"
#include "src/core/profiler.h"
#include "src/transforms/profile_data.h"

namespace capstan {

namespace {

using detail::Block;
using Clock = std::chrono::steady_clock;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

SpanTensor describe_block(const Block* block) {
  SpanTensor tensor;
  if (block == nullptr) return tensor;
  tensor.is_number = false;
  tensor.dtype = block->dtype;
  tensor.rank = block->rank;
  std::copy_n(block->dims, kMaxRank, tensor.dims);
  return tensor;
}

// One thread's part of a session. All of it is guarded by the lock.
class ThreadRecord {
 public:
  explicit ThreadRecord(std::int64_t max_events) : max_events_(max_events) {}

  void open(std::uint64_t id, SpanKind kind, std::string_view name, std::span<Block* const> inputs, const OpDef* op) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    Frame& frame = frames_.emplace_back();
    frame.id = id;
    frame.name = find_name(kind, name);
    frame.op = op;
    ++frame.name->open;
    for (const Block* input : inputs) frame.tensors.push_back(describe_block(input));
    frame.inputs = frame.tensors.size();
    frame.begin = now();
  }

  void close(std::uint64_t id, std::span<const Tensor> outputs, bool counts) {
    const std::int64_t end = now();
    const std::lock_guard lock(mutex_);
    const auto of_id = [&](const Frame& frame) { return frame.id == id; };
    if (closed_ || std::none_of(frames_.begin(), frames_.end(), of_id)) return;
    while (frames_.back().id != id) pop(end, true);
    for (const Tensor& output : outputs) {
      if (output.has_value()) frames_.back().tensors.push_back(describe_block(output.block()));
    }
    pop(end, counts);
  }

  // Nothing is added any more.
  ThreadSpans finish() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    return std::move(spans_);
  }

 private:
  struct Frame {
    std::uint64_t id = 0;
    SpanName* name = nullptr;
    const OpDef* op = nullptr;
    std::int64_t begin = 0;
    std::int64_t inside = 0;  // what the spans in it took
    std::size_t inputs = 0;   // of its tensors
    std::vector<SpanTensor> tensors;
  };

  SpanName* find_name(SpanKind kind, std::string_view name) {
    const auto found = spans_.names.find(std::pair(kind, name));
    if (found != spans_.names.end()) return &found->second;
    SpanName entry;
    entry.kind = kind;
    entry.text = name;
    return &spans_.names.emplace(std::pair(kind, std::string(name)), std::move(entry)).first->second;
  }

  void pop(std::int64_t end, bool counts) {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    SpanName& name = *frame.name;
    --name.open;
    const std::int64_t took = end - frame.begin;
    if (!frames_.empty()) frames_.back().inside += counts ? took : frame.inside;
    if (!counts) return;
    const std::span<const SpanTensor> tensors = frame.tensors;
    ++name.count;
    name.self += took - frame.inside;
    if (name.open == 0) name.total += took;
    name.bytes += bytes_of(tensors.subspan(frame.inputs));
    const double flops = flops_of(frame.op, tensors.first(frame.inputs), tensors.subspan(frame.inputs));
    name.flops += flops;
    if (std::ssize(spans_.events) == max_events_) {
      ++spans_.left_out;
      return;
    }
    spans_.events.push_back(
        {&name, frame.begin, took, spans_.tensors.size(), frame.inputs, frame.tensors.size(), flops});
    spans_.tensors.insert(spans_.tensors.end(), tensors.begin(), tensors.end());
  }

  const std::int64_t max_events_;
  std::mutex mutex_;
  bool closed_ = false;
  std::vector<Frame> frames_;
  ThreadSpans spans_;
};

// What a thread knows of the session that it has seen last.
struct ThreadState {
  std::uint64_t session = 0;
  std::uint64_t last_id = 0;
  std::shared_ptr<ThreadRecord> record;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit ThreadState this_thread;

class SessionProfiler final : public Profiler {
 public:
  std::uint64_t begin(const ProfileOptions& options) {
    CAPSTAN_CHECK(options.max_events >= 0, ValueError, "profile: max_events must not be negative, but is ",
                  options.max_events);
    const std::lock_guard lock(mutex_);
    CAPSTAN_CHECK(session_.load(std::memory_order_relaxed) == 0, ValueError, "profile: another profile is under way",
                  help("a profile sees every thread; name a part of it with ProfileScope"));
    threads_.clear();
    max_events_ = options.max_events;
    const std::uint64_t number = ++sessions_;
    session_.store(number, std::memory_order_release);
    attach();  // The first thread is the one that began.
    begin_ = now();
    current_profiler.store(this, std::memory_order_release);
    return number;
  }

  std::shared_ptr<const ProfileData> end() {
    const std::int64_t end = now();
    current_profiler.store(nullptr, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    session_.store(0, std::memory_order_release);
    auto data = std::make_shared<ProfileData>();
    data->begin = begin_;
    data->wall = end - begin_;
    for (const std::shared_ptr<ThreadRecord>& thread : threads_) data->threads.push_back(thread->finish());
    threads_.clear();
    data->sum_up();
    return data;
  }

  std::uint64_t open(SpanKind kind, std::string_view name, std::span<Block* const> inputs, const OpDef* op) override {
    // The session may have ended since the caller has looked.
    const std::uint64_t session = session_.load(std::memory_order_acquire);
    if (session == 0) return 0;
    if (this_thread.session != session) {
      const std::lock_guard lock(mutex_);
      if (session_.load(std::memory_order_relaxed) == 0) return 0;
      attach();
    }
    const std::uint64_t id = ++this_thread.last_id;
    this_thread.record->open(id, kind, name, inputs, op);
    return id;
  }

  void close(std::uint64_t span, std::span<const Tensor> outputs, bool counts) override {
    if (this_thread.record != nullptr) this_thread.record->close(span, outputs, counts);
  }

 private:
  // Gives the thread a record of the session. The lock is held.
  void attach() {
    this_thread.record = threads_.emplace_back(std::make_shared<ThreadRecord>(max_events_));
    this_thread.session = session_.load(std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::atomic<std::uint64_t> session_{0};  // 0: none
  std::uint64_t sessions_ = 0;
  std::int64_t max_events_ = 0;
  std::int64_t begin_ = 0;
  std::vector<std::shared_ptr<ThreadRecord>> threads_;
};

// Never destroyed: a thread may end later than everything else.
SessionProfiler& session_profiler() {
  static SessionProfiler& profiler = *new SessionProfiler;
  return profiler;
}

}  // namespace

ProfileSession::ProfileSession(const ProfileOptions& options) : number_(session_profiler().begin(options)) {}

ProfileSession::~ProfileSession() {
  if (number_ != 0) session_profiler().end();
}

Profile ProfileSession::stop() {
  CAPSTAN_CHECK(number_ != 0, ValueError, "profile: this session has been stopped before",
                help("keep what the first stop() gave"));
  number_ = 0;
  return Profile(session_profiler().end());
}

ProfileScope::ProfileScope(std::string_view name) : id_(0) {
  Profiler* const profiler = active_profiler();
  if (profiler != nullptr && context.tracer == nullptr) id_ = profiler->open(SpanKind::kScope, name, {}, nullptr);
}

ProfileScope::~ProfileScope() {
  if (id_ != 0) session_profiler().close(id_, {}, true);
}

}  // namespace capstan
