// Learning from labels and without them in one step: a supervised and a self-supervised objective share an encoder.
//
// A hundred noisy sensors see four hidden quantities. Forty readings have a label, a thousand have none. What can be
// learned without labels is to tell erased sensors from the others, and an encoder that can has found the hidden
// quantities. Both losses stand on one tape: the encoder's gradient is the sum of what both heads send back, and each
// head hears from its own loss only.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

constexpr std::int64_t kHidden = 4;
constexpr std::int64_t kSensors = 100;
constexpr std::int64_t kLabelled = 40;
constexpr std::int64_t kUnlabelled = 1000;
constexpr int kSteps = 600;

struct Readings {
  Tensor sensors;
  Tensor labels;
};

class World {
 public:
  Readings read(std::int64_t count) const {
    const Tensor hidden = random::normal({count, kHidden});
    const Tensor noise = random::normal({count, kSensors}, 0, 1.0);
    return {matmul(hidden, mixing_) + noise, cast(hidden(slice(), 0) > hidden(slice(), 1), float32)};
  }

 private:
  Tensor mixing_ = random::normal({kHidden, kSensors}, 0, 0.3);
};

struct Network {
  layers::Dense encoder{kHidden};
  layers::Dense classify{1};
  layers::Dense restore{kSensors};

  std::vector<Variable> weights() const {
    std::vector<Variable> all;
    for (const Layer& layer : {Layer(encoder), Layer(classify), Layer(restore)}) {
      all.insert(all.end(), layer.trainable_variables().begin(), layer.trainable_variables().end());
    }
    return all;
  }
};

struct Losses {
  Tensor supervised;
  Tensor self_supervised;
};

Losses losses_of(const Network& network, const Readings& labelled, const Tensor& unlabelled) {
  const losses::BinaryCrossentropy cross_entropy({.from_logits = true});
  const Tensor logits = squeeze(network.classify(network.encoder(labelled.sensors)), 1);
  const Tensor keep = cast(random::uniform(unlabelled.shape()) > 0.3, float32);
  const Tensor restored = network.restore(network.encoder(unlabelled * keep));
  return {cross_entropy(labelled.labels, logits), reduce_mean((1 - keep) * square(restored - unlabelled))};
}

double accuracy(const Network& network, const Readings& test) {
  const Tensor guess = cast(squeeze(network.classify(network.encoder(test.sensors)), 1) > 0, float32);
  return reduce_mean(cast(equal(guess, test.labels), float32)).item<double>();
}

}  // namespace

int main() {
  set_seed(1);
  examples::Transcript out;
  const World world;
  const Readings labelled = world.read(kLabelled);
  const Tensor unlabelled = world.read(kUnlabelled).sensors;
  const Readings test = world.read(2000);

  const auto train = [&](double weight) {
    const Network network;
    const optimizers::Adam optimizer({.learning_rate = 1e-2});
    auto step = function([&] {
      GradientTape tape;
      const auto [supervised, self_supervised] = losses_of(network, labelled, unlabelled);
      const Tensor loss = supervised + weight * self_supervised;
      optimizer.apply_gradients(tape.gradient(loss, network.weights()), network.weights());
    });
    for (int i = 0; i < kSteps; ++i) step();
    return network;
  };
  out.print("%d labels alone: accuracy %.3f", static_cast<int>(kLabelled), accuracy(train(0), test));
  const Network network = train(10);
  out.print("with %d readings without labels: accuracy %.3f", static_cast<int>(kUnlabelled), accuracy(network, test));

  // One tape, three gradients: those of the two objectives add up to that of their sum.
  GradientTape tape({.persistent = true});
  const auto [supervised, self_supervised] = losses_of(network, labelled, unlabelled);
  const Tensor both = supervised + self_supervised;
  const Variable& kernel = network.encoder.weights()[0];
  const Tensor of_both = tape.gradient(both, kernel);
  const Tensor difference = of_both - tape.gradient(supervised, kernel) - tape.gradient(self_supervised, kernel);
  out.print("the encoder's gradients add up: %s",
            (norm(difference) < 1e-5 * norm(of_both)).item<bool>() ? "yes" : "no");
  const bool apart = !tape.gradient(supervised, network.restore.weights()[0]).has_value() &&
                     !tape.gradient(self_supervised, network.classify.weights()[0]).has_value();
  out.print("each head hears from its own objective only: %s", apart ? "yes" : "no");
  return out.finish({
      {"40 labels alone: accuracy #", {{0.65, 0.79}}},
      {"with 1000 readings without labels: accuracy #", {{0.8, 0.95}}},
      {"the encoder's gradients add up: yes"},
      {"each head hears from its own objective only: yes"},
  });
}
