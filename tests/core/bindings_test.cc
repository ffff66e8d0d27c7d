// What bindings for other languages need of the core: hooks, a word in each variable, tensors that they fill.
#include "capstan/bindings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "capstan/control_flow.h"
#include "capstan/error.h"
#include "capstan/ops/math.h"
#include "src/core/hooks.h"

namespace capstan {
namespace {

struct RestoreHooks {
  ~RestoreHooks() { set_binding_hooks({}); }
};

TEST(Bindings, AWarningGoesToTheHook) {
  const RestoreHooks restore;
  static std::string seen;
  seen.clear();
  set_binding_hooks({.warning = [](std::string_view text) { seen = text; }});
  warn("something is odd");
  EXPECT_EQ(seen, "something is odd");
  set_binding_hooks({});
  ::testing::internal::CaptureStderr();
  warn("something is odd");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "capstan: warning: something is odd\n");
}

TEST(Bindings, ErrorsOfTracesNameThePlace) {
  const RestoreHooks restore;
  set_binding_hooks({.place = [] { return std::string("train.py:12"); }});
  auto f = function([](const Tensor& x) { return constant(x.item<float>()); });
  try {
    f(constant(1.0));
    FAIL();
  } catch (const TraceError& error) {
    EXPECT_NE(std::string(error.what()).find("\n  at: train.py:12\n  help: "), std::string::npos) << error.what();
  }
}

TEST(Bindings, AnInterruptEndsALoopInAFunction) {
  const RestoreHooks restore;
  static int left;
  left = 50;
  auto forever = function([](const Tensor& x) {
    return while_loop([](const Tensor& i) { return i >= 0; }, [](const Tensor& i) { return i * 0 + 1; }, x);
  });
  set_binding_hooks({.interrupt = [] {
    if (--left == 0) throw ValueError("stopped");
  }});
  EXPECT_THROW(forever(constant(0)), ValueError);
  EXPECT_EQ(left, 0);
}

TEST(Bindings, AWordStaysWithTheVariable) {
  static int died;
  died = 0;
  int word = 0;
  {
    const Variable v(1.0f);
    EXPECT_EQ(attachment(v), nullptr);
    attach(v, &word, [](void* w) noexcept { died += 1 + *static_cast<int*>(w); });
    const Variable same = v;
    EXPECT_EQ(attachment(same), &word);
  }
  EXPECT_EQ(died, 1);
  {
    const Variable v(1.0f);
    attach(v, &word, [](void*) noexcept { ++died; });
    attach(v, nullptr);
  }
  EXPECT_EQ(died, 1);
  EXPECT_THROW(attach(Variable(), &word), ValueError);
  EXPECT_THROW(static_cast<void>(attachment(Variable())), ValueError);
}

TEST(Bindings, ATensorIsFilledByItsMaker) {
  const Tensor x = filled(int64, {2, 3}, [](void* elements) {
    std::int64_t next = 0;
    std::generate_n(static_cast<std::int64_t*>(elements), 6, [&] { return next++; });
  });
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ((x + 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace capstan
