// Where the time of a training step goes: first op by op, then in a function, which runs most ops as a few loops.
//
// The trace that it saves can be drawn by https://ui.perfetto.dev.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <cstdio>

using namespace capstan;

namespace {

// How often a span of this kind and name occurred.
int calls(const Profile& profile, const char* kind, const char* name) {
  for (const ProfileRow& row : profile.rows()) {
    if (row.kind == kind && row.name == name) return static_cast<int>(row.count);
  }
  return 0;
}

// Whether ops have become loops.
bool has_loops(const Profile& profile) {
  for (const ProfileRow& row : profile.rows()) {
    if (row.kind == "loop") return true;
  }
  return false;
}

}  // namespace

int main() {
  set_seed(28);
  examples::Transcript out;
  Sequential model({layers::Dense(64, {.activation = "tanh"}), layers::Dense(1)});
  optimizers::Adam optimizer;
  const Tensor x = random::normal({128, 32});
  const Tensor y = reduce_sum(x, 1, {.keepdims = true});

  const auto train_step = [&](const Tensor& inputs, const Tensor& targets) {
    GradientTape tape;
    const Tensor loss = reduce_mean(square(model(inputs) - targets));
    const auto gradients = tape.gradient(loss, model.trainable_variables());
    optimizer.apply_gradients(gradients, model.trainable_variables());
    return loss;
  };
  train_step(x, y);  // The weights are made at the first call.

  const Profile eager = profile([&] {
    for (int i = 0; i < 20; ++i) {
      const ProfileScope scope("step");
      train_step(x, y);
    }
  });
  std::puts(eager.to_string(8).c_str());
  out.print("steps: %d, gradients: %d, updates: %d", calls(eager, "scope", "step"),
            calls(eager, "gradient", "gradient"), calls(eager, "op", "adam_update"));

  auto traced_step = function(train_step, {.name = "train_step"});
  auto session = profile();  // The same without a function around it.
  for (int i = 0; i < 20; ++i) traced_step(x, y);
  const Profile traced = session.stop();
  std::puts(traced.to_string(8).c_str());
  out.print("calls: %d, traces: %d, loops: %s", calls(traced, "function", "train_step"),
            calls(traced, "trace", "train_step"), has_loops(traced) ? "yes" : "no");

  const char* const path = "profile_trace.json";
  traced.save(path);
  std::remove(path);  // Leave this out to look at it.
  return out.finish({{"steps: 20, gradients: 20, updates: 80"}, {"calls: 20, traces: 1, loops: yes"}});
}
