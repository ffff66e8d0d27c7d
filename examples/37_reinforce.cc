// A policy gradient that balances a pole (Williams 1992): REINFORCE on the cart-pole of Barto, Sutton and Anderson.
//
// A policy acts in sixteen carts at once. Actions that were followed by more reward than the average at that time
// become more probable: the loss is minus the mean of advantage times log probability. The world itself is plain C++
// and has no derivatives; only the second look at what was seen and done stands on a tape. An episode ends when the
// pole has fallen, the cart has left its track, or after 200 steps.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace capstan;

namespace {

constexpr std::int64_t kCarts = 16;
constexpr int kLimit = 200;
constexpr int kMostUpdates = 300;

// Position, speed, angle, angular speed.
using State = std::array<float, 4>;

constexpr float kMostAngle = 12 * 3.14159265f / 180;
constexpr float kTrack = 2.4f;

State moved(const State& state, bool right) {
  constexpr float kGravity = 9.8f, kCart = 1.0f, kPole = 0.1f, kHalfLength = 0.5f, kForce = 10, kTime = 0.02f;
  const auto [x, speed, angle, turning] = state;
  const float sine = std::sin(angle), cosine = std::cos(angle);
  const float push = ((right ? kForce : -kForce) + kPole * kHalfLength * turning * turning * sine) / (kCart + kPole);
  const float turn =
      (kGravity * sine - cosine * push) / (kHalfLength * (4.0f / 3 - kPole * cosine * cosine / (kCart + kPole)));
  const float pull = push - kPole * kHalfLength * turn * cosine / (kCart + kPole);
  return {x + kTime * speed, speed + kTime * pull, angle + kTime * turning, turning + kTime * turn};
}

bool fallen(const State& state) { return std::abs(state[0]) > kTrack || std::abs(state[2]) > kMostAngle; }

// What was seen and done in `count` episodes, step by step: entry t * count + i is step t of episode i. Steps behind
// the end of an episode stay 0.
struct Episodes {
  std::int64_t count;
  std::vector<float> states;
  std::vector<std::int32_t> actions;
  std::vector<int> lengths;
};

Episodes play(const Sequential& policy, std::int64_t count) {
  Episodes episodes{count, std::vector<float>(static_cast<std::size_t>(kLimit * count * 4)),
                    std::vector<std::int32_t>(static_cast<std::size_t>(kLimit * count)),
                    std::vector<int>(static_cast<std::size_t>(count), 0)};
  const auto start = random::uniform({count, 4}, -0.05, 0.05).to_vector<float>();
  std::vector<State> carts(static_cast<std::size_t>(count));
  std::copy(start.begin(), start.end(), carts.front().begin());
  for (int t = 0; t < kLimit; ++t) {
    const Tensor seen = constant(std::span<const float>(carts.front().data(), carts.size() * 4), {count, 4});
    const auto actions = random::categorical(policy(seen), 1, int32).to_vector<std::int32_t>();
    bool any = false;
    for (std::size_t i = 0; i < carts.size(); ++i) {
      if (fallen(carts[i])) continue;
      any = true;
      const std::size_t entry = static_cast<std::size_t>(t) * carts.size() + i;
      std::copy(carts[i].begin(), carts[i].end(), episodes.states.begin() + static_cast<std::ptrdiff_t>(4 * entry));
      episodes.actions[entry] = actions[i];
      ++episodes.lengths[i];
      carts[i] = moved(carts[i], actions[i] == 1);
    }
    if (!any) break;
  }
  return episodes;
}

double mean_length(const Episodes& episodes) {
  double sum = 0;
  for (const int length : episodes.lengths) sum += length;
  return sum / static_cast<double>(episodes.count);
}

// The reward is 1 per step, so the return from step t on is what is left of the episode. Its advantage is the
// difference from the mean over the carts that are still up, in units of the deviation of all; 0 behind the end.
std::vector<float> advantages(const Episodes& episodes) {
  const std::size_t count = episodes.lengths.size();
  std::vector<float> result(kLimit * count);
  double squares = 0;
  int number = 0;
  for (int t = 0; t < kLimit; ++t) {
    float sum = 0;
    int up = 0;
    for (const int length : episodes.lengths) {
      if (length <= t) continue;
      sum += static_cast<float>(length - t);
      ++up;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (episodes.lengths[i] <= t) continue;
      float& advantage = result[static_cast<std::size_t>(t) * count + i];
      advantage = static_cast<float>(episodes.lengths[i] - t) - sum / static_cast<float>(up);
      squares += advantage * advantage;
      ++number;
    }
  }
  const auto scale = static_cast<float>(1 / (std::sqrt(squares / number) + 1e-6));
  for (float& advantage : result) advantage *= scale;
  return result;
}

struct Trained {
  int updates = 0;
  double mean_return = 0;
};

// Trains until a moving mean of the episodes' lengths has come to 198, then plays 100 more.
Trained train(std::uint64_t seed) {
  set_seed(seed);
  const Sequential policy({
      layers::Dense(16, {.activation = "tanh", .input_shape = {4}}),
      layers::Dense(2),
  });
  const optimizers::Adam optimizer({.learning_rate = 1e-2});
  auto update = function([&](const Tensor& states, const Tensor& actions, const Tensor& advantage) {
    GradientTape tape;
    const Tensor minus_log_probability = sparse_softmax_cross_entropy_with_logits(actions, policy(states));
    const Tensor loss = reduce_mean(advantage * minus_log_probability);
    optimizer.apply_gradients(tape.gradient(loss, policy.trainable_variables()), policy.trainable_variables());
  });
  Trained trained;
  double recent = 0;
  while (recent < 198 && trained.updates < kMostUpdates) {
    const Episodes episodes = play(policy, kCarts);
    recent = 0.8 * recent + 0.2 * mean_length(episodes);
    update(constant(episodes.states, {kLimit * kCarts, 4}), constant(episodes.actions), constant(advantages(episodes)));
    ++trained.updates;
  }
  trained.mean_return = mean_length(play(policy, 100));
  return trained;
}

}  // namespace

int main() {
  examples::Transcript out;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Trained trained = train(seed);
    out.print("seed %d: after %d updates the mean return of 100 episodes is %.1f", static_cast<int>(seed),
              trained.updates, trained.mean_return);
  }
  return out.finish({
      {"seed 1: after # updates the mean return of 100 episodes is #", {{10, 300}, {195, 200}}},
      {"seed 2: after # updates the mean return of 100 episodes is #", {{10, 300}, {195, 200}}},
      {"seed 3: after # updates the mean return of 100 episodes is #", {{10, 300}, {195, 200}}},
  });
}
