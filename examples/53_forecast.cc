// The power that a town will use in the next hours, from what it used in the last two days: a time series by windows.
//
//     53_forecast [--picture FILE]
//
// The program makes up a year of hours: days and weeks that repeat, a slow change with the seasons, and weather that
// drifts. A window is 48 hours that are known and the 12 that follow. The training has the windows of the first nine
// months, the test those after: windows that overlap must not be on both sides. The forecast is compared with that of
// the same hour of the day before. The picture shows four forecasts: what was known is black, what came green, what
// was foreseen red.
#include "capstan/capstan.h"
#include "support/arguments.h"
#include "support/pictures.h"
#include "support/transcript.h"

#include <numbers>

using namespace capstan;

namespace {

constexpr std::int64_t kHours = 365 * 24;
constexpr std::int64_t kKnown = 48, kAhead = 12;

// One number for each hour, about 0 with a deviation of about 1.
Tensor power() {
  const Tensor hour = range(static_cast<float>(kHours));
  const auto wave = [&](double period, double shift) { return sin(2 * std::numbers::pi * (hour / period + shift)); };
  const Tensor day = wave(24, -0.3) + 0.5 * wave(12, 0.1);
  const Tensor weekend = cast((hour / 24) % 7 >= 5, float32);
  // Weather: what it was an hour ago, a little less, and something new.
  const Tensor weather = linear_recurrence(fill({kHours}, 0.98f), random::normal({kHours}, 0, 0.08));
  return day * (1 - 0.6 * weekend) - 0.5 * weekend + 0.4 * wave(365 * 24, 0.25) + weather;
}

// All windows of a series: [windows, length], each an hour after the one before.
Tensor windows(const Tensor& series, std::int64_t length) {
  const Tensor starts = expand_dims(range(series.dim(0) - length + 1), 1);
  return gather(series, starts + expand_dims(range(length), 0));
}

struct Windows {
  Tensor known;  // [windows, 48, 1]
  Tensor ahead;  // [windows, 12]
};

Windows cut(const Tensor& series) {
  const Tensor all = windows(series, kKnown + kAhead);
  return {expand_dims(all(slice(), slice(0, kKnown)), -1), all(slice(), slice(kKnown))};
}

double mean_error(const Tensor& a, const Tensor& b) { return reduce_mean(abs(a - b)).item<double>(); }

// A series [60] of numbers from -3 to 3 as points on a white ground: [60 wide, 40 high], 0 where a point is.
Tensor curve(const Tensor& series) {
  const Tensor height = reshape(range(40.0f), {40, 1}) / -40.0 * 6.0 + 3.0;
  return 1 - cast(abs(height - series) < 0.15, float32);
}

// The three colours of one forecast, [40, 60, 3].
Tensor draw(const Tensor& known, const Tensor& ahead, const Tensor& foreseen) {
  const Tensor nowhere = fill({kKnown}, 100.0f);
  const Tensor black = curve(concat({known, fill({kAhead}, 100.0f)}, 0));
  const Tensor green = curve(concat({nowhere, ahead}, 0));
  const Tensor red = curve(concat({nowhere, foreseen}, 0));
  return stack({black * green, black * red, black * green * red}, -1);
}

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv, {"--picture FILE  receives the picture"});
  set_seed(1);
  examples::Transcript out;
  const Tensor series = power();
  const std::int64_t border = kHours * 3 / 4;
  const Windows train = cut(series(slice(0, border))), test = cut(series(slice(border)));
  out.print("windows: %lld to train on, %lld for the test", static_cast<long long>(train.known.dim(0)),
            static_cast<long long>(test.known.dim(0)));

  // 1. Causal convolutions see further and further back: 2, 4, 8, 16, 32 hours.
  std::vector<Layer> list = {layers::InputLayer({kKnown, 1})};
  for (const std::int64_t dilation : {1, 2, 4, 8, 16}) {
    list.push_back(layers::Conv1D(16, 2, {.padding = "causal", .dilation_rate = dilation, .activation = "relu"}));
  }
  list.push_back(layers::Flatten());
  list.push_back(layers::Dense(kAhead));
  const Sequential model(list);

  // 2. The rate falls to zero along a cosine.
  constexpr std::int64_t kEpochs = 5, kBatch = 64;
  model.compile({.optimizer = optimizers::Adam(
                     {.learning_rate = schedules::CosineDecay(3e-3, kEpochs * (train.known.dim(0) / kBatch + 1))}),
                 .loss = losses::Huber(),
                 .metrics = {"mae"}});
  model.fit(train.known, train.ahead,
            {.batch_size = kBatch,
             .epochs = kEpochs,
             .verbose = 2,
             .validation_data = ValidationData(test.known, test.ahead)});

  // 3. Against the day before, and by how far ahead.
  const Tensor foreseen = model.predict(test.known);
  const Tensor day_before = squeeze(test.known, {-1})(slice(), slice(kKnown - 24, kKnown - 24 + kAhead));
  out.print("mean error: %.3f", mean_error(foreseen, test.ahead));
  out.print("as the day before: %.3f", mean_error(day_before, test.ahead));
  for (const std::int64_t hours : {1, 6, 12}) {
    out.print("%lld hours ahead: %.3f", static_cast<long long>(hours),
              mean_error(foreseen(slice(), hours - 1), test.ahead(slice(), hours - 1)));
  }

  std::vector<Tensor> pictures;
  for (const std::int64_t i : {100, 500, 1000, 1500}) {
    pictures.push_back(draw(reshape(test.known(i), {-1}), test.ahead(i), foreseen(i)));
  }
  const std::string path = examples::picture_path(arguments.value("--picture"), "capstan_forecast.png");
  out.print("picture written: %s", examples::write_pictures(path, {stack(pictures)}, 4) ? "yes" : "no");
  return out.finish({
      {"windows: 6511 to train on, 2131 for the test"},
      {"mean error: #", {{0.15, 0.3}}},
      {"as the day before: #", {{0.35, 0.6}}},
      {"1 hours ahead: #", {{0.08, 0.2}}},
      {"6 hours ahead: #", {{0.15, 0.32}}},
      {"12 hours ahead: #", {{0.2, 0.38}}},
      {"picture written: yes"},
  });
}
