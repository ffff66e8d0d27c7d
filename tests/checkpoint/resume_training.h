// A training that can be cut off, with all that has state: augmentation, dropout, batch normalisation, mixed precision,
// Adam with a schedule, averages and gradients that are added up across epochs, shuffled data.
#pragma once

#include <string>

#include "capstan/capstan.h"

namespace capstan::testing {

struct Resumable {
  Sequential model;
  optimizers::Adam optimizer;
  Tensor x, y;
};

inline Resumable make_resumable() {
  set_seed(17);
  Resumable r{Sequential({layers::Reshape({2, 2, 1}, {.input_shape = {4}}), layers::RandomFlip(), layers::Flatten(),
                          layers::Dense(8, {.activation = "relu", .dtype = "mixed_bfloat16"}), layers::Dropout(0.3),
                          layers::BatchNormalization(), layers::Dense(2)}),
              optimizers::Adam({.learning_rate = schedules::ExponentialDecay(0.01, 3, 0.9),
                                .use_ema = true,
                                .gradient_accumulation_steps = 3}),
              random::normal({37, 4}, 0, 1, float32, 5), random::normal({37, 2}, 0, 1, float32, 6)};
  r.model.compile({.optimizer = r.optimizer, .loss = "mse", .metrics = {"mae"}});
  return r;
}

// All that a training ends with, as text: every bit counts.
inline std::string state_text(const Resumable& r) {
  std::string text;
  for (const State& state : {State(r.model), State(Optimizer(r.optimizer)), State(RandomState())}) {
    for (const auto& [name, tensor] : state.save()) {
      text += name + ":";
      const auto* const bytes = static_cast<const unsigned char*>(tensor.raw_data());
      const std::size_t size = static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype());
      for (std::size_t i = 0; i < size; ++i)
        text += "0123456789abcdef"[bytes[i] >> 4], text += "0123456789abcdef"[bytes[i] & 15];
      text += "\n";
    }
  }
  return text;
}

// The whole training, or what is left of it.
inline History train_with_backup(Resumable& r, const std::string& directory, const SaveFrequency& frequency,
                                 std::vector<Callback> others = {}) {
  others.insert(others.begin(), callbacks::BackupAndRestore(directory, {.save_freq = frequency}));
  return r.model.fit(r.x, r.y, {.batch_size = 5, .epochs = 6, .verbose = 0, .callbacks = others});
}

}  // namespace capstan::testing
