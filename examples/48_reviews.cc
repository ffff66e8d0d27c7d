// Whether a review praises: texts of different lengths, words as vectors, and an LSTM that reads in both directions.
//
//     48_reviews [--text TEXT]
//
// The program makes up its reviews, so that the words alone do not decide: "not good but bad" and "not bad but good"
// have the same ones. A bag of words, which only counts, is trained beside the network for comparison.
//
// TextVectorization makes each review a row of numbers, filled up with zeros. Embedding with `mask_zero` marks these,
// and the recurrent layers leave them out: how many there are changes no result.
#include <cstdio>

#include "capstan/capstan.h"
#include "capstan/layers/preprocessing.h"
#include "support/arguments.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

// Texts and labels [texts]: 1 for praise.
struct Reviews {
  std::vector<std::string> texts;
  Tensor labels;
};

class Writer {
 public:
  explicit Writer(std::int64_t count) : numbers_(random::uniform({8 * count}).to_vector<float>()) {}

  std::string review(bool praises) {
    const std::string good = one_of({"good", "great", "charming", "brilliant", "moving"});
    const std::string bad = one_of({"bad", "boring", "awful", "clumsy", "tiresome"});
    const std::string& said = praises ? good : bad;
    const std::string& denied = praises ? bad : good;
    std::string text =
        one_of({"The film was ", "I found the acting ", "My friends and I thought this story ", "It is "});
    switch (below(3)) {
      case 0:
        text += "not " + denied + ", but " + said;
        break;
      case 1:
        text += said + " and by no means " + denied;
        break;
      default:
        text += "anything but " + denied + "; rather " + said;
        break;
    }
    text += one_of({".", " from the first minute to the last.", ", as everyone told me!", ", and so was the music."});
    return text;
  }
  bool coin() { return below(2) == 1; }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(numbers_.at(next_++) * static_cast<float>(n)); }
  std::string one_of(const std::vector<std::string>& list) { return list[below(list.size())]; }

  std::vector<float> numbers_;
  std::size_t next_ = 0;
};

Reviews make_up(std::int64_t count) {
  Reviews reviews;
  Writer writer(count);
  std::vector<float> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool praises = writer.coin();
    reviews.texts.push_back(writer.review(praises));
    labels.push_back(praises ? 1.0f : 0.0f);
  }
  reviews.labels = constant(labels, {count, 1});
  return reviews;
}

double accuracy_of(const Sequential& model, const Tensor& x, const Reviews& reviews, const Tensor& test_x,
                   const Reviews& test) {
  model.compile(
      {.optimizer = optimizers::Adam({.learning_rate = 1e-2}), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  model.fit(x, reviews.labels, {.batch_size = 50, .epochs = 6, .verbose = 2});
  return model.evaluate(test_x, test.labels)["accuracy"];
}

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv, {"--text TEXT  a review of your own"});
  set_seed(1);
  examples::Transcript out;
  const Reviews train = make_up(1000), test = make_up(300);
  std::printf("%s\n%s\n", train.texts[0].c_str(), train.texts[1].c_str());

  // 1. Words become numbers: 0 where there is none, 1 for words that were not seen.
  const layers::TextVectorization vectorize({.output_sequence_length = 20});
  vectorize.adapt(train.texts);
  out.print("words: %lld", static_cast<long long>(vectorize.vocabulary_size()));

  // 2. A network that reads.
  const Sequential reader({
      layers::Embedding(vectorize.vocabulary_size(), 16, {.mask_zero = true, .input_shape = {20}}),
      layers::Bidirectional(layers::LSTM(16)),
      layers::Dense(1, {.activation = "sigmoid"}),
  });
  const double reading = accuracy_of(reader, vectorize(train.texts), train, vectorize(test.texts), test);
  out.print("accuracy of the reader: %.3f", reading);

  // 3. A network that counts: how often each word comes.
  const layers::TextVectorization count({.output_mode = "count"});
  count.adapt(train.texts);
  const Sequential counter({
      layers::Dense(16, {.activation = "relu", .input_shape = {count.vocabulary_size()}}),
      layers::Dense(1, {.activation = "sigmoid"}),
  });
  const double counting =
      accuracy_of(counter, cast(count(train.texts), float32), train, cast(count(test.texts), float32), test);
  out.print("accuracy of the counter: %.3f", counting);

  // 4. Texts that it has not seen, the second one with a new word; and the same ones filled up with more zeros.
  const Texts mine = {"The music was not boring, but moving.", "It is good and by no means overlong.",
                      "I found it anything but brilliant; rather clumsy."};
  const Tensor praise = reader.predict(vectorize(mine));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    out.print("%.2f %s", praise(i, 0).item<double>(), mine.values()[i].c_str());
  }
  if (const auto text = arguments.value("--text")) {
    std::printf("%.2f %s\n", reader(vectorize(Texts{*text}))(0, 0).item<double>(), text->c_str());
  }
  const PadWidth fill[] = {{0, 0}, {0, 30}};
  const Tensor change = reduce_max(abs(reader(pad(vectorize(mine), fill)) - praise));
  out.print("zeros behind a text change this by %.0e at most", change.item<double>());
  return out.finish({
      {"words: #", {{30, 60}}},
      {"accuracy of the reader: #", {{0.97, 1.0}}},
      {"accuracy of the counter: #", {{0.4, 0.65}}},
      {"# The music was not boring, but moving.", {{0.8, 1.0}}},
      {"# It is good and by no means overlong.", {{0.6, 1.0}}},
      {"# I found it anything but brilliant; rather clumsy.", {{0.0, 0.2}}},
      {"zeros behind a text change this by # at most", {{0, 1e-6}}},
  });
}
