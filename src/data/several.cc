// Elements of several datasets: side by side, one after the other, chosen one by one.
#include <algorithm>
#include <cmath>
#include <string>

#include "src/data/stage.h"
#include "src/data/stream.h"

namespace capstan::detail {

namespace {

std::vector<DatasetCursorPtr> open_all(const std::vector<DatasetNodePtr>& nodes) {
  std::vector<DatasetCursorPtr> cursors;
  for (const DatasetNodePtr& node : nodes) cursors.push_back(node->open());
  return cursors;
}

std::string place_of(std::size_t i) { return std::to_string(i) + "/"; }

// --- zip ---

class ZipCursor : public DatasetCursor {
 public:
  ZipCursor(PartTypes element, std::vector<DatasetCursorPtr> inputs)
      : DatasetCursor(element), inputs_(std::move(inputs)) {}
  const char* name() const override { return "zip"; }
  // An error of one input counts as an element of all.
  bool read_next(Part* element) override {
    std::exception_ptr error;
    for (const DatasetCursorPtr& input : inputs_) {
      try {
        ended_ = ended_ || !input->next(element);
      } catch (...) {
        if (error == nullptr) error = std::current_exception();
      }
      if (ended_) return false;
      element += input->types.size();
    }
    if (error != nullptr) std::rethrow_exception(error);
    return true;
  }
  void save(PositionWriter& position) override {
    position.number("ended", ended_ ? 1 : 0);
    for (std::size_t i = 0; i < inputs_.size(); ++i) position.stage(*inputs_[i], place_of(i));
  }
  void restore(PositionReader& position) override {
    ended_ = position.flag("ended");
    for (std::size_t i = 0; i < inputs_.size(); ++i) position.stage(*inputs_[i], place_of(i));
  }

 private:
  std::vector<DatasetCursorPtr> inputs_;
  bool ended_ = false;
};

class ZipNode : public DatasetNode {
 public:
  ZipNode(PartTypes element, std::vector<DatasetNodePtr> inputs) : DatasetNode(element), inputs_(std::move(inputs)) {}
  std::int64_t cardinality() const override {
    std::int64_t least = kInfinite;
    for (const DatasetNodePtr& input : inputs_) {
      const std::int64_t size = input->cardinality();
      if (size == kUnknown) return kUnknown;
      if (size != kInfinite) least = least == kInfinite ? size : std::min(least, size);
    }
    return least;
  }
  DatasetCursorPtr open() const override { return std::make_unique<ZipCursor>(types, open_all(inputs_)); }

 private:
  std::vector<DatasetNodePtr> inputs_;
};

// --- concatenate ---

class ConcatenateCursor : public DatasetCursor {
 public:
  ConcatenateCursor(DatasetNodePtr first, DatasetNodePtr second)
      : DatasetCursor(first->types), cursor_(first->open()), second_(std::move(second)) {}
  const char* name() const override { return "concatenate"; }
  bool read_next(Part* element) override {
    if (cursor_->next(element)) return true;
    if (is_second_) return false;
    open_second();
    return cursor_->next(element);
  }
  void save(PositionWriter& position) override {
    position.number("is_second", is_second_ ? 1 : 0);
    position.stage(*cursor_);
  }
  void restore(PositionReader& position) override {
    if (position.flag("is_second") && !is_second_) open_second();
    position.stage(*cursor_);
  }

 private:
  void open_second() {
    cursor_ = second_->open();
    is_second_ = true;
  }

  DatasetCursorPtr cursor_;
  DatasetNodePtr second_;
  bool is_second_ = false;
};

class ConcatenateNode : public DatasetNode {
 public:
  ConcatenateNode(DatasetNodePtr first, DatasetNodePtr second)
      : DatasetNode(first->types), first_(std::move(first)), second_(std::move(second)) {}
  std::int64_t cardinality() const override {
    const std::int64_t a = first_->cardinality(), b = second_->cardinality();
    if (a == kInfinite || b == kInfinite) return kInfinite;
    if (a == kUnknown || b == kUnknown) return kUnknown;
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
  }
  DatasetCursorPtr open() const override { return std::make_unique<ConcatenateCursor>(first_, second_); }

 private:
  DatasetNodePtr first_, second_;
};

// --- choose_from_datasets, sample_from_datasets ---

class ChooseCursor : public DatasetCursor {
 public:
  ChooseCursor(PartTypes element, std::vector<DatasetCursorPtr> inputs, DatasetCursorPtr choices, bool stop_on_empty,
               bool may_be_endless)
      : DatasetCursor(element),
        inputs_(std::move(inputs)),
        has_ended_(inputs_.size(), 0),
        choices_(std::move(choices)),
        stop_on_empty_(stop_on_empty),
        may_be_endless_(may_be_endless) {}
  const char* name() const override { return "choose_from_datasets"; }
  bool read_next(Part* element) override {
    Part choice;
    std::int64_t in_vain = 0;
    while (left() > 0 && choices_->next(&choice)) {
      const auto number = readable("choose_from_datasets", choice.tensor).item<std::int64_t>();
      CAPSTAN_CHECK(number >= 0 && number < static_cast<std::int64_t>(inputs_.size()), IndexError,
                    "choose_from_datasets: the choice ", number, " is not one of ", inputs_.size(), " datasets");
      const auto i = static_cast<std::size_t>(number);
      if (has_ended_[i] == 0) {
        if (inputs_[i]->next(element)) return true;
        has_ended_[i] = 1;
      }
      CAPSTAN_CHECK(++in_vain < kMostInVain || !may_be_endless_, ValueError, "choose_from_datasets: ", kMostInVain,
                    " choices in a row are datasets that have ended, and one that has not is never chosen",
                    help("end the choices, or set stop_on_empty_dataset"));
      if (stop_on_empty_) {
        std::fill(has_ended_.begin(), has_ended_.end(), 1);
        return false;
      }
    }
    return false;
  }
  void save(PositionWriter& position) override {
    position.numbers("has_ended", has_ended_);
    position.stage(*choices_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) position.stage(*inputs_[i], place_of(i));
  }
  void restore(PositionReader& position) override {
    const std::vector<std::int64_t> has_ended = position.numbers("has_ended", 0, 1);
    if (has_ended.size() != inputs_.size()) position.refuse("has_ended");
    has_ended_ = has_ended;
    position.stage(*choices_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) position.stage(*inputs_[i], place_of(i));
  }

 private:
  // About a second. A dataset that is drawn once in a million times is still drawn; TensorFlow asks for ever.
  static constexpr std::int64_t kMostInVain = 1 << 24;

  std::ptrdiff_t left() const { return std::count(has_ended_.begin(), has_ended_.end(), 0); }

  std::vector<DatasetCursorPtr> inputs_;
  std::vector<std::int64_t> has_ended_;
  DatasetCursorPtr choices_;
  bool stop_on_empty_;
  bool may_be_endless_;
};

class ChooseNode : public DatasetNode {
 public:
  ChooseNode(std::vector<DatasetNodePtr> inputs, DatasetNodePtr choices, bool stop_on_empty)
      : DatasetNode(inputs[0]->types),
        inputs_(std::move(inputs)),
        choices_(std::move(choices)),
        stop_on_empty_(stop_on_empty) {}
  std::int64_t cardinality() const override { return kUnknown; }
  DatasetCursorPtr open() const override {
    return std::make_unique<ChooseCursor>(types, open_all(inputs_), choices_->open(), stop_on_empty_,
                                          choices_->cardinality() < 0);
  }

 private:
  std::vector<DatasetNodePtr> inputs_;
  DatasetNodePtr choices_;
  bool stop_on_empty_;
};

// A number in [0, 1) with 52 bits, from two words.
double uniform(WordStream& words) {
  const std::uint64_t high = words.next() & 0xfffff;
  return static_cast<double>(high << 32 | words.next()) * 0x1p-52;
}

void check_distribution(const char* what, const std::vector<double>& weights, std::size_t count) {
  CAPSTAN_CHECK(weights.size() == count, ValueError, what, ": there are ", weights.size(), " weights for ", count);
  double sum = 0;
  for (const double weight : weights) {
    CAPSTAN_CHECK(weight >= 0 && std::isfinite(weight), ValueError, what, ": a weight is ", weight);
    sum += weight;
  }
  CAPSTAN_CHECK(sum > 0 && std::isfinite(sum), ValueError, what, ": the sum of the weights is ", sum);
}

// The first number in [0, 1) of TensorFlow's stateless generator with these two seeds.
double stateless_uniform(std::uint64_t seed0, std::uint64_t seed1) {
  // The seeds are scrambled to a key and the upper half of the counter.
  constexpr std::uint64_t kScramble = 0x02461e293ec8f720;
  const PhiloxBlock scrambled =
      philox_rounds(kScramble, {{static_cast<std::uint32_t>(seed0), static_cast<std::uint32_t>(seed0 >> 32),
                                 static_cast<std::uint32_t>(seed1), static_cast<std::uint32_t>(seed1 >> 32)}});
  const auto pair = [&](int i) {
    return scrambled.words[i] | static_cast<std::uint64_t>(scrambled.words[i + 1]) << 32;
  };
  WordStream words(pair(0), pair(2));
  return uniform(words);
}

// Numbers of datasets, drawn from weights: those of TensorFlow, which takes two words of a stream as the seeds of a
// stateless draw for each.
class SampleCursor : public DatasetCursor {
 public:
  SampleCursor(PartTypes element, std::vector<double> sums, PassStreamsPtr streams)
      : DatasetCursor(element), sums_(std::move(sums)), streams_(std::move(streams)), words_(streams_->open()) {}
  const char* name() const override { return "sample"; }
  bool read_next(Part* element) override {
    const std::uint32_t seed0 = words_.next();
    const std::uint32_t seed1 = words_.next();
    const double drawn = stateless_uniform(seed0, seed1) * sums_.back();
    // The first whose sum is above; rounding may reach the last one.
    const std::int64_t number =
        std::min(std::upper_bound(sums_.begin(), sums_.end(), drawn), sums_.end() - 1) - sums_.begin();
    element[0] = {number_as_tensor(int64, &number), nullptr};
    return true;
  }
  void save(PositionWriter& position) override { streams_->save(words_, position); }
  void restore(PositionReader& position) override { words_ = streams_->restore(position); }

 private:
  std::vector<double> sums_;
  PassStreamsPtr streams_;
  WordStream words_;
};

class SampleNode : public DatasetNode {
 public:
  SampleNode(std::vector<double> sums, StreamSeeds seeds, bool rerandomize)
      : DatasetNode(part_types<std::int64_t>()),
        sums_(std::move(sums)),
        streams_(std::make_shared<PassStreams>(seeds.seed, seeds.seed2, rerandomize)) {}
  std::int64_t cardinality() const override { return kInfinite; }
  DatasetCursorPtr open() const override { return std::make_unique<SampleCursor>(types, sums_, streams_); }

 private:
  std::vector<double> sums_;
  PassStreamsPtr streams_;
};

// --- rejection_resample ---

// An element is accepted with the probability ratio_i / (the largest ratio), where ratio_i is how much more often its
// class should occur than it does. TensorFlow mixes a second pass over the input in, whose elements come twice.
class ResampleCursor : public CountingCursor {
 public:
  ResampleCursor(PartTypes element, DatasetCursorPtr from, const PartNumber& class_of,
                 const std::vector<double>& target, const std::vector<double>& initial, const PassStreamsPtr& streams)
      : CountingCursor(element, std::move(from)),
        class_of_(class_of),
        target_(target),
        counts_(initial),
        is_estimated_(initial.empty()),
        streams_(streams),
        words_(streams_->open()) {
    if (is_estimated_) counts_.assign(target_.size(), kSmoothing);
  }
  const char* name() const override { return "rejection_resample"; }

  bool read_next(Part* element) override {
    for (;;) {
      if (!input->next(element + 1)) return false;
      const std::int64_t number = at++;
      const std::int64_t its = at_element(name(), number, [&] {
        const std::int64_t its_class = class_of_(element + 1);
        CAPSTAN_CHECK(its_class >= 0 && its_class < static_cast<std::int64_t>(target_.size()), IndexError,
                      "rejection_resample: the class ", its_class, " is not one of ", target_.size());
        return its_class;
      });
      const auto i = static_cast<std::size_t>(its);
      if (is_estimated_) counts_[i] += 1;
      if (!(uniform(words_) * largest_ratio() < ratio(i))) continue;
      element[0] = {number_as_tensor(int64, &its), nullptr};
      return true;
    }
  }

  void save(PositionWriter& position) override {
    streams_->save(words_, position);
    std::vector<std::int64_t> counts;
    if (is_estimated_) counts.assign(counts_.begin(), counts_.end());
    position.numbers("counts", counts);
    CountingCursor::save(position);
  }
  void restore(PositionReader& position) override {
    words_ = streams_->restore(position);
    const std::vector<std::int64_t> counts = position.numbers("counts", 1);
    if (counts.size() != (is_estimated_ ? target_.size() : 0)) position.refuse("counts");
    if (is_estimated_) counts_.assign(counts.begin(), counts.end());
    CountingCursor::restore(position);
  }

 private:
  // What an estimate begins with for each class, as in TensorFlow.
  static constexpr double kSmoothing = 10;

  double ratio(std::size_t i) const {
    double target = 0, all = 0;
    for (std::size_t k = 0; k < target_.size(); ++k) {
      target += target_[k];
      all += counts_[k];
    }
    return counts_[i] > 0 ? (target_[i] / target) / (counts_[i] / all) : 0;
  }
  // Of classes that occur.
  double largest_ratio() const {
    double most = 0;
    for (std::size_t i = 0; i < target_.size(); ++i) most = std::max(most, ratio(i));
    return most;
  }

  PartNumber class_of_;
  std::vector<double> target_;
  std::vector<double> counts_;  // how often each class occurs
  bool is_estimated_;
  PassStreamsPtr streams_;
  WordStream words_;
};

}  // namespace

DatasetNodePtr zipped(PartTypes types, std::vector<DatasetNodePtr> inputs) {
  return std::make_shared<ZipNode>(types, std::move(inputs));
}

DatasetNodePtr concatenated(DatasetNodePtr first, DatasetNodePtr second) {
  return std::make_shared<ConcatenateNode>(std::move(first), std::move(second));
}

DatasetNodePtr chosen(std::vector<DatasetNodePtr> inputs, DatasetNodePtr choices, bool stop_on_empty) {
  CAPSTAN_CHECK(!inputs.empty(), ValueError, "choose_from_datasets: there are no datasets");
  return std::make_shared<ChooseNode>(std::move(inputs), std::move(choices), stop_on_empty);
}

DatasetNodePtr sampled(std::vector<DatasetNodePtr> inputs, std::vector<double> weights, Seed seed, bool stop_on_empty,
                       bool rerandomize) {
  CAPSTAN_CHECK(!inputs.empty(), ValueError, "sample_from_datasets: there are no datasets");
  if (weights.empty()) weights.assign(inputs.size(), 1.0);
  check_distribution("sample_from_datasets", weights, inputs.size());
  // What is never drawn must not keep the others from being all.
  std::vector<DatasetNodePtr> drawn;
  std::vector<double> logits;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    logits.push_back(std::log(static_cast<float>(weights[i])));
    drawn.push_back(inputs[i]);
  }
  if (drawn.size() == 1) return drawn[0];
  // By way of logarithms of float32, as TensorFlow does.
  const double most = *std::max_element(logits.begin(), logits.end());
  std::vector<double> sums;
  for (const double logit : logits) sums.push_back((sums.empty() ? 0 : sums.back()) + std::exp(logit - most));
  return chosen(std::move(drawn), std::make_shared<SampleNode>(std::move(sums), stream_seeds(seed), rerandomize),
                stop_on_empty);
}

DatasetNodePtr resampled(PartTypes types, DatasetNodePtr input, PartNumber class_of, std::vector<double> target,
                         std::vector<double> initial, Seed seed) {
  check_distribution("rejection_resample", target, target.size());
  if (!initial.empty()) check_distribution("rejection_resample", initial, target.size());
  const StreamSeeds seeds = stream_seeds(seed);
  return make_stage<ResampleCursor>(types, std::move(input), kUnknown, std::move(class_of), std::move(target),
                                    std::move(initial), std::make_shared<PassStreams>(seeds.seed, seeds.seed2, false));
}

}  // namespace capstan::detail
