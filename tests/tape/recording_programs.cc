// Programs: pausing, resetting, resuming.
#include <stdexcept>

#include "capstan/ops/math.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

void pause(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t;
  t.watch(std::vector{x, y});
  const Tensor a = pow(x, 2);
  Tensor b;
  {
    const auto pause = t.stop_recording();
    b = pow(y, 2);
  }
  const Tensor z = a + b;
  r.out("g", t.gradient(z, {x, y}));
}

void pause_and_resume(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor x2 = 2 * x;
  Tensor y;
  {
    const auto pause = t.stop_recording();
    y = pow(x2, 2);
  }
  const Tensor z = pow(x2, 2);
  t.stop();
  r.out("dy", t.gradient(y, x));
  r.out("dz_dx2", t.gradient(z, x2));
  r.out("dz_dx", t.gradient(z, x));
}

void gradient_in_a_pause(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor y = pow(x, 3);
  Tensor g;
  {
    const auto pause = t.stop_recording();
    g = t.gradient(y, x);
  }
  const Tensor z = g * x;
  t.stop();
  r.out("g", g);
  r.out("dz", t.gradient(z, x));
}

void watch_in_a_pause(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  {
    const auto pause = t.stop_recording();
    t.watch(x);
  }
  const Tensor y = pow(x, 2);
  r.out("g", t.gradient(y, x));
}

void variable_read_in_a_pause(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t;
  Tensor y;
  {
    const auto pause = t.stop_recording();
    y = pow(v, 2);
  }
  r.fact("watched", t.watched_variables().size());
  r.out("g", t.gradient(y, v));
}

void exceptions_end_pauses_and_blocks(Recorder& r) {
  const Tensor x = r.x("x");
  {
    GradientTape t;
    t.watch(x);
    try {
      const auto pause = t.stop_recording();
      throw std::runtime_error("in the pause");
    } catch (const std::runtime_error&) {
    }
    const Tensor y = pow(x, 2);
    r.out("after_pause", t.gradient(y, x));
  }
  // A tape's block is a pair of start() and stop() here.
  GradientTape t({.persistent = true});
  Tensor y;
  struct Block {
    GradientTape& tape;
    ~Block() { tape.stop(); }
  };
  try {
    const Block block{t};
    t.watch(x);
    y = pow(x, 2);
    throw std::runtime_error("in the block");
  } catch (const std::runtime_error&) {
  }
  const Tensor z = pow(x, 3);
  r.out("after_block", t.gradient(y, x));
  r.out("not_recorded", t.gradient(z, x));
}

void reset(Recorder& r) {
  const Variable v = r.v("v"), w = r.v("w");
  GradientTape t;
  Tensor loss = v * v + w;
  t.reset();
  r.fact("watched_after_reset", t.watched_variables().size());
  loss += v * v;
  r.fact("watched_at_the_end", t.watched_variables().size());
  r.out("g", t.gradient(loss, {v, w}));
}

void second_block_continues(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor y = 2 * x;
  t.stop();
  const Tensor u = 3 * y;
  t.start();
  const Tensor z = 2 * y;
  t.stop();
  r.out("z", t.gradient(z, x));
  r.out("u", t.gradient(u, x));
}

void used_up_tape_starts_again(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = pow(x, 2);
  r.out("first", t.gradient(y, x));
  t.start();
  t.watch(x);
  const Tensor z = pow(x, 3);
  t.stop();
  r.out("second", t.gradient(z, x));
}

void errors_of_state(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  r.error("enter twice", [&] { t.start(); });
  for (const char* name : {"pause a tape that never ran", "gradient of a tape that never ran",
                           "gradient of a persistent tape that never ran"}) {
    r.leave_out(name, "a tape runs from its construction");
  }
  GradientTape done({.persistent = true});
  done.stop();
  r.error("pause after the block", [&] { const auto pause = done.stop_recording(); });
  r.error("reset outside a block", [&] { done.reset(); });
  for (const char* name :
       {"watch a host array", "watch a number", "no target", "a number as target", "a host array as source"}) {
    r.leave_out(name, "the types of C++ refuse it");
  }
  r.error("a missing source", [&] { done.gradient(x, {x, Tensor()}); });
}

void watched_in_order_of_construction(Recorder& r) {
  const Variable v0 = r.v("v0"), v1 = r.v("v1"), v2 = r.v("v2");
  GradientTape t;
  const Tensor product = v1 * v0;
  t.watch(v2);
  Json order = Json::array();
  for (const Variable& v : t.watched_variables()) order.push_back(v.name());
  r.fact("order", order);
}

void who_lists_a_variable(Recorder& r) {
  const Variable v = r.v("v"), w = r.v("w"), u = r.v("u");
  GradientTape o;
  {
    GradientTape i;
    const Tensor product = v * 2;
    r.fact("inner", i.watched_variables().size());
  }
  w.assign(5.0);
  r.fact("outer", o.watched_variables().size());
}

}  // namespace

Programs recording_programs() {
  return {
      {"pause", pause},
      {"pause_and_resume", pause_and_resume},
      {"gradient_in_a_pause", gradient_in_a_pause},
      {"watch_in_a_pause", watch_in_a_pause},
      {"variable_read_in_a_pause", variable_read_in_a_pause},
      {"exceptions_end_pauses_and_blocks", exceptions_end_pauses_and_blocks},
      {"reset", reset},
      {"second_block_continues", second_block_continues},
      {"used_up_tape_starts_again", used_up_tape_starts_again},
      {"errors_of_state", errors_of_state},
      {"watched_in_order_of_construction", watched_in_order_of_construction},
      {"who_lists_a_variable", who_lists_a_variable},
  };
}

}  // namespace capstan::testing
