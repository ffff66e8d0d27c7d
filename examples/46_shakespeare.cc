// A model of characters that writes plays after reading some.
//
//     46_shakespeare [--data FILE] [--epochs N] [--transformer]
//
// The text is the beginning of Coriolanus, examples/data/shakespeare.txt; a longer one and more epochs make better
// verses. Each character is predicted from those before it. An LSTM carries what it has read in its state from step to
// step. A transformer looks at all earlier characters at once: attention weighs them, under a mask that hides those to
// come, so that it can be trained on all places of a window together.
#include "capstan/capstan.h"
#include "capstan/layers/preprocessing.h"
#include "support/arguments.h"
#include "support/npz.h"
#include "support/transcript.h"

#include <cstdio>
#include <fstream>
#include <iterator>

using namespace capstan;

namespace {

constexpr std::int64_t kWindow = 64;
constexpr std::int64_t kWidth = 64;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError("example: cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Adds to [batch, window, width] a vector that is learned for each place of the window.
class Places : public LayerBody {
  void build(const Shape& shape) override {
    places_ = add_weight({.name = "places", .shape = {shape[1], shape[2]}, .initializer = "uniform"});
  }
  Tensor call(const Tensor& x, const CallOptions&) override { return x + places_; }

  Variable places_;
};

// Characters [batch, window] to the logits of the next ones, [batch, window, vocabulary].
Sequential lstm(std::int64_t vocabulary) {
  return Sequential({
      layers::Embedding(vocabulary, 32, {.input_shape = {kWindow}}),
      layers::LSTM(2 * kWidth, {.return_sequences = true}),
      layers::Dense(vocabulary),
  });
}

Model transformer(std::int64_t vocabulary) {
  const Tensor characters = Input({kWindow});
  Tensor h = LayerOf<Places>()(layers::Embedding(vocabulary, kWidth)(characters));
  for (int block = 0; block < 2; ++block) {
    const Tensor seen = layers::LayerNormalization()(h);
    h = layers::Add()({h, layers::MultiHeadAttention(4, kWidth / 4)(seen, seen, {.use_causal_mask = true})});
    const Tensor wide = layers::Dense(4 * kWidth, {.activation = "gelu"})(layers::LayerNormalization()(h));
    h = layers::Add()({h, layers::Dense(kWidth)(wide)});
  }
  return Model(characters, layers::Dense(vocabulary)(layers::LayerNormalization()(h)));
}

// Writes on after a beginning of one window, character by character, drawn with the probabilities of the model.
std::vector<std::int64_t> write(const Model& model, std::vector<std::int64_t> text, int count) {
  auto next = function([&](const Tensor& window) { return model(window)(0, -1); });
  for (int i = 0; i < count; ++i) {
    const std::vector<std::int64_t> window(text.end() - kWindow, text.end());
    const Tensor logits = next(constant(window, {1, kWindow})) / 0.7;  // surer than it is: fewer mistakes
    text.push_back(random::categorical(expand_dims(logits, 0), 1).item<std::int64_t>());
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(
      argc, argv,
      {"--data FILE    the text", "--epochs N     how long it reads", "--transformer  instead of the LSTM"});
  const bool attends = arguments.has("--transformer");
  set_seed(1);
  examples::Transcript out;

  // 1. Characters become numbers. As they are: with capitals and points.
  const std::string text = read(arguments.value("--data").value_or(examples::data_directory() + "/shakespeare.txt"));
  const layers::TextVectorization vectorize({.standardize = std::nullopt, .split = "character"});
  vectorize.adapt(text);
  const std::vector<std::string> vocabulary = vectorize.get_vocabulary();
  const Tensor characters = reshape(vectorize(text), {-1});
  out.print("characters: %zu, different ones: %zu", text.size(), vocabulary.size());

  // 2. Windows side by side, and the same moved by one: what comes next at each place. The last tenth is for the test.
  const std::int64_t windows = (characters.dim(0) - 1) / kWindow;
  const Tensor x = reshape(characters(slice(0, windows * kWindow)), {windows, kWindow});
  const Tensor y = reshape(characters(slice(1, windows * kWindow + 1)), {windows, kWindow});
  const Slice first = slice(0, windows * 9 / 10), last = slice(windows * 9 / 10);

  // 3. The training: a few epochs are a start; twenty write words that exist.
  const auto count = static_cast<std::int64_t>(vocabulary.size());
  const Model model = attends ? transformer(count) : lstm(count);
  model.compile({.optimizer = optimizers::Adam({.learning_rate = attends ? 3e-3 : 1e-2}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  const History history =
      model.fit(x(first), y(first), {.epochs = arguments.number("--epochs", attends ? 4 : 6), .verbose = 2});
  const Evaluation test = model.evaluate(x(last), y(last));
  out.print("loss %.2f, then %.2f", history["loss"].front(), history["loss"].back());
  out.print("new text: loss %.2f, %.2f of the characters foreseen", test.loss, test["accuracy"]);

  // 4. What it writes.
  const std::vector<std::int64_t> written = write(model, x(last)(0).to_vector<std::int64_t>(), 300);
  std::string verses;
  for (const std::int64_t character : written) verses += vocabulary[static_cast<std::size_t>(character)];
  std::printf("--- the beginning ---\n%s\n--- what follows ---\n%s\n---\n", verses.substr(0, kWindow).c_str(),
              verses.substr(kWindow).c_str());
  out.print("written: %zu characters", verses.size() - kWindow);
  // Nothing learned would be log 60 = 4.1; how often each character comes, without what is before it, 3.3.
  return out.finish({
      {"characters: #, different ones: #", {{65000, 1e7}, {58, 120}}},
      {"loss #, then #", {{2, 3.8}, {0.5, 2.7}}},
      {"new text: loss #, # of the characters foreseen", {{1, 2.7}, {0.25, 0.9}}},
      {"written: 300 characters"},
  });
}
