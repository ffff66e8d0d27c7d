// Profiles: what is counted, what the times add up to, and what the files hold.
#include "capstan/profile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "capstan/capstan.h"
#include "src/graph/program.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

using nlohmann::json;
using List = std::vector<Tensor>;

const ProfileRow* find(const Profile& profile, const std::string& kind, const std::string& name) {
  for (const ProfileRow& row : profile.rows()) {
    if (row.kind == kind && row.name == name) return &row;
  }
  return nullptr;
}

std::int64_t count_of(const Profile& profile, const std::string& kind, const std::string& name) {
  const ProfileRow* row = find(profile, kind, name);
  return row == nullptr ? 0 : row->count;
}

// The trace, read back.
json saved(const Profile& profile) {
  const std::string path = ::testing::TempDir() + "capstan_profile_test_" + std::to_string(getpid()) + ".json";
  profile.save(path);
  std::ifstream file(path);
  json trace = json::parse(file);
  std::remove(path.c_str());
  return trace;
}

std::vector<json> spans_of(const json& trace) {
  std::vector<json> spans;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") spans.push_back(event);
  }
  return spans;
}

// --- Rows ---

TEST(Profile, CountsEagerOps) {
  const Tensor x = ones({2, 3});
  const Profile profile = capstan::profile([&] {
    for (int i = 0; i < 5; ++i) add(multiply(x, x), 1.0);
    matmul(x, x, {.transpose_b = true});
    unstack(x);
  });
  EXPECT_EQ(count_of(profile, "op", "multiply"), 5);
  EXPECT_EQ(count_of(profile, "op", "add"), 5);
  EXPECT_EQ(count_of(profile, "op", "matmul"), 1);
  EXPECT_EQ(count_of(profile, "op", "unstack"), 1);
  EXPECT_EQ(find(profile, "op", "multiply")->result_bytes, 5 * 6 * 4);
  EXPECT_EQ(find(profile, "op", "matmul")->flops, 2 * 2 * 2 * 3);
  EXPECT_EQ(find(profile, "op", "add")->flops, 0);
}

TEST(Profile, KnowsTheFlopsOfConvolutionsAndTheirGradients) {
  const Variable filters(ones({3, 3, 2, 5}));
  const Tensor x = ones({1, 4, 4, 2});
  const Profile profile = capstan::profile([&] {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = conv2d(x, filters, {1, 1}, "SAME");
    tape.gradient(y, std::pair(x, filters));
  });
  const double flops = 2.0 * (4 * 4 * 5) * (3 * 3 * 2);
  EXPECT_EQ(find(profile, "op", "conv2d")->flops, flops);
  EXPECT_EQ(find(profile, "op", "conv2d_backprop_input")->flops, flops);
  EXPECT_EQ(find(profile, "op", "conv2d_backprop_filter")->flops, flops);

  // Filters of every item.
  const Profile items = capstan::profile([&] { conv2d(ones({3, 1, 4, 4, 2}), ones({3, 3, 3, 2, 5}), {1, 1}, "SAME"); });
  EXPECT_EQ(find(items, "op", "conv2d")->flops, 3 * flops);
}

TEST(Profile, AddsUp) {
  const Tensor x = ones({100});
  auto f = function([](const Tensor& a) { return reduce_sum(tanh(a * 2) + a); });
  const Profile profile = capstan::profile([&] {
    const ProfileScope scope("outer");
    for (int i = 0; i < 10; ++i) exp(f(x));
  });
  double share = 0;
  double self = 0;
  double before = INFINITY;
  for (const ProfileRow& row : profile.rows()) {
    share += row.share;
    self += row.self_seconds;
    EXPECT_GT(row.count, 0) << row.name;
    EXPECT_GE(row.self_seconds, 0) << row.name;
    EXPECT_LE(row.self_seconds, row.total_seconds * (1 + 1e-12)) << row.name;
    EXPECT_DOUBLE_EQ(row.mean_seconds * static_cast<double>(row.count), row.total_seconds) << row.name;
    EXPECT_LE(row.self_seconds, before) << "the slowest comes first";
    before = row.self_seconds;
  }
  EXPECT_NEAR(share, 1, 1e-12);
  EXPECT_NEAR(self, profile.span_seconds(), 1e-12);
  // One thread, and everything is within the scope.
  EXPECT_NEAR(find(profile, "scope", "outer")->total_seconds, profile.span_seconds(), 1e-12);
  EXPECT_LE(profile.span_seconds(), profile.wall_seconds());
}

TEST(Profile, OfSpansOfOneNameInsideEachOtherTheOuterCounts) {
  const Profile profile = capstan::profile([] {
    const ProfileScope outer("s");
    const ProfileScope inner("s");
  });
  const ProfileRow& row = *find(profile, "scope", "s");
  EXPECT_EQ(row.count, 2);
  EXPECT_NEAR(row.total_seconds, row.self_seconds, 1e-12);
}

TEST(Profile, LeavesOutWhatRanBeforeAndAfterwards) {
  const Tensor x = ones({3});
  exp(x);
  ProfileSession session = profile();
  sin(x);
  const Profile result = session.stop();
  cos(x);
  ASSERT_EQ(result.rows().size(), 1u);
  EXPECT_EQ(result.rows()[0].name, "sin");
  EXPECT_EQ(count_of(capstan::profile([] {}), "op", "sin"), 0);
}

TEST(Profile, ChangesNoResult) {
  const Variable w(constant({0.5, -0.25, 2.0}));
  const auto step = [&](const Tensor& x) {
    GradientTape tape;
    return tape.gradient(reduce_sum(tanh(w * x) * w), w);
  };
  auto traced = function(step);
  const Tensor x = constant({1.0, 2.0, 3.0});
  const Tensor plain = step(x);
  const Tensor compiled = traced(x);
  Tensor profiled;
  Tensor profiled_compiled;
  capstan::profile([&] {
    profiled = step(x);
    profiled_compiled = traced(x);
  });
  EXPECT_EQ(plain.to_vector<double>(), profiled.to_vector<double>());
  EXPECT_EQ(compiled.to_vector<double>(), profiled_compiled.to_vector<double>());
}

// --- Gradients, functions, control flow ---

TEST(Profile, ShowsTheRulesOfAGradient) {
  const Variable w(ones({2, 2}));
  const Tensor x = ones({2, 2});
  const Profile profile = capstan::profile([&] {
    GradientTape tape;
    const Tensor loss = reduce_sum(tanh(matmul(x, w)));
    exp(w);  // Nothing comes back to it.
    tape.gradient(loss, w);
  });
  EXPECT_EQ(count_of(profile, "gradient", "gradient"), 1);
  EXPECT_EQ(count_of(profile, "rule", "gradient(tanh)"), 1);
  EXPECT_EQ(count_of(profile, "rule", "gradient(reduce_sum)"), 1);
  EXPECT_EQ(count_of(profile, "rule", "gradient(matmul)"), 1);
  EXPECT_EQ(count_of(profile, "rule", "gradient(exp)"), 0);
  // The forward pass and its rule.
  EXPECT_EQ(count_of(profile, "op", "matmul"), 2);
  const ProfileRow& gradient = *find(profile, "gradient", "gradient");
  EXPECT_GE(gradient.total_seconds, find(profile, "rule", "gradient(matmul)")->total_seconds);
}

TEST(Profile, ShowsUpdatesOfVariables) {
  const Variable w(ones({4}));
  optimizers::SGD sgd({.learning_rate = 0.1});
  optimizers::Adam adam;
  const Profile profile = capstan::profile([&] {
    w.assign_sub(ones({4}));
    sgd.apply_gradients(List{ones({4})}, std::vector{w});
    adam.apply_gradients(List{ones({4})}, std::vector{w});
  });
  EXPECT_EQ(count_of(profile, "op", "assign_sub"), 1);
  EXPECT_EQ(count_of(profile, "op", "sgd_update"), 1);
  EXPECT_EQ(count_of(profile, "op", "adam_update"), 1);
}

TEST(Profile, ShowsLoopsAndOpsOfAFunction) {
  auto f = function([](const Tensor& x, const Tensor& w) { return matmul(tanh(x * w + 1), w); }, {.name = "layer"});
  const Tensor x = ones({8, 8});
  const Profile first = capstan::profile([&] { f(x, x); });
  EXPECT_EQ(count_of(first, "trace", "layer"), 1);
  const Profile profile = capstan::profile([&] {
    for (int i = 0; i < 3; ++i) f(x, x);
  });
  EXPECT_EQ(count_of(profile, "trace", "layer"), 0);
  EXPECT_EQ(count_of(profile, "function", "layer"), 3);
  EXPECT_EQ(count_of(profile, "loop", "loop(multiply, add, tanh)"), 3);
  EXPECT_EQ(count_of(profile, "op", "matmul"), 3);
  EXPECT_EQ(count_of(profile, "op", "multiply"), 0);
  EXPECT_EQ(find(profile, "op", "matmul")->flops, 3 * 2 * 8 * 8 * 8);
  EXPECT_EQ(find(profile, "loop", "loop(multiply, add, tanh)")->result_bytes, 3 * 8 * 8 * 4);
}

TEST(Profile, ShowsSingleOpsOfAFunctionThatIsNotFused) {
  fuse_loops(false);
  auto f = function([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(sin(tanh(x)), x);
  });
  const Tensor x = ones({4});
  f(x);
  fuse_loops(true);
  const Profile profile = capstan::profile([&] { f(x); });
  EXPECT_EQ(count_of(profile, "op", "tanh"), 1);
  EXPECT_EQ(count_of(profile, "op", "gradient(tanh)"), 1);
  EXPECT_EQ(count_of(profile, "op", "gradient(sin)"), 1);
}

TEST(Profile, ShortensTheNamesOfLongLoops) {
  auto f = function([](Tensor x) {
    for (int i = 0; i < 5; ++i) x = tanh(x * x);
    return x;
  });
  const Tensor x = ones({4});
  f(x);
  const Profile profile = capstan::profile([&] { f(x); });
  EXPECT_EQ(count_of(profile, "loop", "loop(multiply, tanh, multiply, tanh, multiply, tanh, multiply, tanh, 2 more)"),
            1);
}

TEST(Profile, DoesNotCountOpsThatAreTraced) {
  const Tensor c = ones({3});
  auto f = function(
      [&](const Tensor& x) {
        const ProfileScope scope("within");
        return x + exp(c);  // exp runs now, and again when the graph of f becomes part of that of g.
      },
      {.name = "f"});
  auto g = function([&](const Tensor& x) { return f(x) * 2; }, {.name = "g"});
  const Profile profile = capstan::profile([&] { g.get_concrete(TensorSpec({3})); });
  EXPECT_EQ(count_of(profile, "op", "add"), 0);
  EXPECT_EQ(count_of(profile, "op", "multiply"), 0);
  EXPECT_EQ(count_of(profile, "op", "exp"), 2);
  EXPECT_EQ(count_of(profile, "scope", "within"), 0);
  EXPECT_EQ(count_of(profile, "trace", "g"), 1);
  // It is a part of the trace around it.
  EXPECT_EQ(count_of(profile, "function", "f"), 0);
  EXPECT_EQ(count_of(profile, "trace", "f"), 0);
}

TEST(Profile, ShowsControlFlowAndWhatRunsInIt) {
  auto f = function([](const Tensor& x) {
    return while_loop([](const Tensor& a) { return reduce_sum(a) < 100.0; },
                      [](const Tensor& a) { return matmul(a, a); }, x);
  });
  const Tensor x = fill({2, 2}, 2.0);
  f(x);
  const Profile profile = capstan::profile([&] { f(x); });  // 8, 32, 512
  EXPECT_EQ(count_of(profile, "op", "while_loop"), 1);
  EXPECT_EQ(count_of(profile, "op", "matmul"), 2);
  EXPECT_EQ(count_of(profile, "loop", "loop(less)"), 3);
  // And under a tape, which runs the graph op by op.
  const Profile taped = capstan::profile([&] {
    GradientTape tape;
    tape.watch(x);
    f(x);
  });
  EXPECT_EQ(count_of(taped, "op", "while_loop"), 1);
  EXPECT_EQ(count_of(taped, "op", "matmul"), 2);
}

// --- Threads ---

TEST(Profile, SeesEveryThread) {
  const Tensor x = ones({3});
  const Profile profile = capstan::profile([&] {
    sin(x);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) cos(x);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(count_of(profile, "op", "cos"), 300);
  std::map<int, int> spans_by_thread;
  for (const json& span : spans_of(saved(profile))) ++spans_by_thread[span["tid"].get<int>()];
  EXPECT_EQ(spans_by_thread, (std::map<int, int>{{0, 1}, {1, 100}, {2, 100}, {3, 100}}));
}

TEST(Profile, BeginsAndEndsWhileOtherThreadsWork) {
  const Tensor x = ones({3});
  std::atomic<bool> done{false};
  std::thread worker([&] {
    while (!done) {
      const ProfileScope scope("work");
      sin(cos(x));
    }
  });
  std::int64_t seen = 0;
  for (int i = 0; i < 200; ++i) {
    const Profile profile = capstan::profile([&] { exp(x); });
    EXPECT_EQ(count_of(profile, "op", "exp"), 1);
    EXPECT_LE(std::abs(count_of(profile, "op", "sin") - count_of(profile, "op", "cos")), 1);
    seen += count_of(profile, "op", "sin");
  }
  // However the two are scheduled, a longer profile sees the other thread.
  while (seen == 0) {
    seen = count_of(capstan::profile([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }), "op", "sin");
  }
  done = true;
  worker.join();
}

TEST(Profile, MayEndBeforeTheFirstSpanOfAThread) {
  const Tensor x = ones({3});
  for (int i = 0; i < 200; ++i) {
    ProfileSession session = profile();
    std::thread worker([&] { exp(x); });
    EXPECT_LE(count_of(session.stop(), "op", "exp"), 1);
    worker.join();
  }
}

// --- Sessions ---

TEST(Profile, EndsWithWhatItsFunctionThrows) {
  const Tensor x = ones({2, 3});
  EXPECT_THROW(capstan::profile([&]() -> void {
                 const ProfileScope scope("s");
                 matmul(x, x);
               }),
               ShapeError);
  // It has ended, so the next one can begin; a failed op has a span, too.
  const Profile profile = capstan::profile([&] {
    const ProfileScope scope("s");
    EXPECT_THROW(matmul(x, x), ShapeError);
    exp(x);
  });
  EXPECT_EQ(count_of(profile, "op", "matmul"), 1);
  EXPECT_EQ(count_of(profile, "op", "exp"), 1);
  EXPECT_EQ(count_of(profile, "scope", "s"), 1);
  EXPECT_NEAR(find(profile, "scope", "s")->total_seconds, profile.span_seconds(), 1e-12);
}

TEST(Profile, EndsTheRulesThatAnExceptionLeaves) {
  const auto square_of = [](std::span<const Tensor> in) -> CustomGradientResult {
    return {{in[0] * in[0]}, [](std::span<const Tensor>) -> List { throw std::runtime_error("no gradient"); }};
  };
  const Profile profile = capstan::profile([&] {
    const Tensor x = ones({2});
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sin(custom_gradient(square_of, {x})[0]);
    EXPECT_THROW(tape.gradient(y, x), std::runtime_error);
    exp(x);
  });
  EXPECT_EQ(count_of(profile, "gradient", "gradient"), 1);
  EXPECT_EQ(count_of(profile, "op", "exp"), 1);
}

TEST(Profile, SessionsDoNotNest) {
  ProfileSession session = profile();
  EXPECT_EQ(message_of([] { profile([] {}); }),
            "profile: another profile is under way\n"
            "  help: a profile sees every thread; name a part of it with ProfileScope");
  std::thread([] { EXPECT_THROW(profile([] {}), ValueError); }).join();
  exp(ones({2}));
  // The one under way has seen no difference.
  EXPECT_EQ(count_of(session.stop(), "op", "exp"), 1);
  EXPECT_EQ(message_of([&] { session.stop(); }),
            "profile: this session has been stopped before\n  help: keep what the first stop() gave");
}

TEST(Profile, ASessionEndsWithItsLifeAndMoves) {
  {
    ProfileSession session = profile();
    ProfileSession moved = std::move(session);
    // What a moved-from session says.
    EXPECT_THROW(session.stop(), ValueError);  // NOLINT(bugprone-use-after-move)
  }
  EXPECT_EQ(profile([] {}).rows().size(), 0u);
}

TEST(Profile, AScopeMayOutliveTheSession) {
  ProfileSession session = profile();
  {
    const ProfileScope scope("long");
    exp(ones({2}));
    const Profile first = session.stop();
    EXPECT_EQ(count_of(first, "scope", "long"), 0);
    EXPECT_EQ(count_of(first, "op", "exp"), 1);
    session.~ProfileSession();
    new (&session) ProfileSession();
    sin(ones({2}));
  }
  const Profile second = session.stop();
  EXPECT_EQ(count_of(second, "scope", "long"), 0);
  EXPECT_EQ(count_of(second, "op", "sin"), 1);
}

// --- Texts and files ---

TEST(Profile, PrintsATable) {
  const Tensor x = ones({16, 16});
  const Profile profile = capstan::profile([&] {
    for (int i = 0; i < 50; ++i) matmul(x, x);
    exp(x);
    sin(x);
  });
  const std::string text = profile.to_string();
  EXPECT_EQ(text.rfind("name ", 0), 0u) << text;
  for (const char* part : {"kind", "self", "share", "total", "calls", "mean", "results", "GFLOP/s", "matmul", "exp",
                           "sin", "50.0 KiB", "in 1 thread, "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find(" more"), std::string::npos);
  const std::string one = profile.to_string(1);
  EXPECT_NE(one.find("\n2 more"), std::string::npos) << one;
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 4);
  EXPECT_NE(profile.to_string(0).find("\n3 more"), std::string::npos);
  EXPECT_EQ(message_of([&] { profile.to_string(-1); }), "profile: the limit of rows must not be negative, but is -1");
}

TEST(Profile, OfNothingHasNoRows) {
  for (const Profile& profile : {Profile(), capstan::profile([] {})}) {
    EXPECT_TRUE(profile.rows().empty());
    EXPECT_EQ(profile.span_seconds(), 0);
    EXPECT_NE(profile.to_string().find("0.000 us in 0 threads"), std::string::npos) << profile.to_string();
    EXPECT_TRUE(spans_of(saved(profile)).empty());
  }
}

TEST(Profile, SavesATrace) {
  auto f = function([](const Tensor& x) { return tanh(x + 1); }, {.name = "a \"quoted\"\n\\ name"});
  const Tensor x = ones({2, 3});
  f(x);
  const Profile profile = capstan::profile([&] {
    matmul(x, x, {.transpose_b = true});
    multiply(x, 2.0);
    f(x);
  });
  const json trace = saved(profile);
  const std::vector<json> spans = spans_of(trace);
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0]["name"], "matmul");
  EXPECT_EQ(spans[0]["cat"], "op");
  EXPECT_EQ(spans[0]["args"]["inputs"], json({"float32[2, 3]", "float32[2, 3]"}));
  EXPECT_EQ(spans[0]["args"]["outputs"], json({"float32[2, 2]"}));
  EXPECT_EQ(spans[0]["args"]["flops"], 24);
  EXPECT_EQ(spans[1]["args"]["inputs"], json({"float32[2, 3]", "number"}));
  EXPECT_EQ(spans[2]["name"], "loop(add, tanh)");
  EXPECT_EQ(spans[2]["args"]["outputs"], json({"float32[2, 3]"}));
  EXPECT_EQ(spans[3]["name"], "a \"quoted\"\n\\ name");
  EXPECT_EQ(spans[3]["cat"], "function");
  std::set<json> processes;
  double end = 0;
  for (const json& span : spans) {
    processes.insert(span["pid"]);
    EXPECT_EQ(span["tid"], 0);
    EXPECT_GE(span["ts"].get<double>(), 0);
    EXPECT_GE(span["dur"].get<double>(), 0);
    end = std::max(end, span["ts"].get<double>() + span["dur"].get<double>());
  }
  EXPECT_EQ(processes.size(), 1u);
  EXPECT_LE(end, profile.wall_seconds() * 1e6 + 0.01);
  // The loop lies within the call.
  EXPECT_LE(spans[3]["ts"], spans[2]["ts"]);
  EXPECT_LE(spans[2]["ts"].get<double>() + spans[2]["dur"].get<double>(),
            spans[3]["ts"].get<double>() + spans[3]["dur"].get<double>() + 0.002);
}

TEST(Profile, KeepsSoManyEventsAndCountsAll) {
  const Tensor x = ones({2});
  const Profile profile = capstan::profile(
      [&] {
        for (int i = 0; i < 10; ++i) exp(x);
      },
      {.max_events = 4});
  EXPECT_EQ(count_of(profile, "op", "exp"), 10);
  const json trace = saved(profile);
  EXPECT_EQ(spans_of(trace).size(), 4u);
  EXPECT_EQ(trace["otherData"]["left_out"], 6);
  EXPECT_EQ(message_of([] { (void)capstan::profile({.max_events = -2}); }),
            "profile: max_events must not be negative, but is -2");
}

TEST(Profile, SaysWhyAFileCannotBeWritten) {
  const Profile profile = capstan::profile([] { exp(ones({2})); });
  EXPECT_EQ(message_of([&] { profile.save("/no/such/folder/trace.json"); }),
            "profile: the trace cannot be written\n  file: /no/such/folder/trace.json\n"
            "  reason: No such file or directory");
  EXPECT_THROW(profile.save(::testing::TempDir()), IoError);
  if (std::ifstream("/dev/full")) {
    EXPECT_EQ(message_of([&] { profile.save("/dev/full"); }),
              "profile: the trace cannot be written\n  file: /dev/full\n  reason: No space left on device");
  }
}

}  // namespace
}  // namespace capstan
