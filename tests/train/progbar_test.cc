// Keras's progress bar, alone and in loops of one's own; its text in trainings is compared in tests/golden.
#include "capstan/progbar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "capstan/callbacks.h"
#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

// A bar whose clock and text the test has.
struct Shown {
  double time = 10;
  std::string text;

  ProgbarOptions options(int verbose = 1) {
    return {.verbose = verbose,
            .interval = 0,
            .clock = [this] { return time; },
            .print = [this](const std::string& part) { text += part; }};
  }
};

TEST(Progbar, ShowsItsStepsAndAverages) {
  Shown shown;
  Progbar bar(4, shown.options(2));
  for (int step = 1; step <= 4; ++step) {
    shown.time += 0.5;
    bar.update(step, {{"loss", step}});
  }
  EXPECT_EQ(shown.text, "4/4 - 2s - 500ms/step - loss: 4.0000\n");
}

TEST(Progbar, OfNoSteps) {
  Shown shown;
  Progbar bar(0, shown.options());
  bar.update(0);
  EXPECT_TRUE(shown.text.ends_with(" \x1b[1m0s\x1b[0m 0s/step\n")) << shown.text;
  EXPECT_NE(shown.text.find("0/0"), std::string::npos);
}

TEST(Progbar, BeyondItsTarget) {
  Shown shown;
  Progbar bar(2, shown.options());
  bar.update(5);
  EXPECT_NE(shown.text.find("5/2"), std::string::npos) << shown.text;
}

TEST(Progbar, TakesAnyNumberAndAnyTime) {
  Shown shown;
  Progbar bar(3, shown.options());
  bar.update(1, {{"loss", -std::nan("")}, {"large", 1e308}});
  EXPECT_NE(shown.text.find(" - loss: nan - large: 1"), std::string::npos) << shown.text;
  for (const double time : {-1e300, 1e300, std::nan(""), HUGE_VAL}) {
    shown.time = time;
    bar.update(2);
  }
}

TEST(Progbar, AValueWithALongUnitIsCoveredByCharacters) {
  Shown shown;
  ProgbarOptions options = shown.options();
  options.unit_name = "größe";
  Progbar bar(9, options);
  bar.update(1, {{"a", 1}});
  shown.text.clear();
  bar.update(2, {{"a", 1}});
  // "1/9 " + 20 cells + " 0s" + " 0s/größe" + " - a: 1.0000"
  EXPECT_TRUE(shown.text.starts_with(std::string(48, '\b') + "\r")) << shown.text.find('\r');
}

TEST(Progbar, RefusesWhatHasNoMeaning) {
  EXPECT_EQ(testing::message_of([] { Progbar bar(-1); }), "progbar: target must be at least 0, not -1");
  EXPECT_EQ(testing::message_of([] { Progbar bar(1, {.width = -2}); }), "progbar: width must be at least 0, not -2");
}

TEST(ProgbarLogger, WritesToStandardOutputInALoopOfOnesOwn) {
  const Model model = Sequential({layers::Dense(1)});
  Callbacks callbacks({callbacks::ProgbarLogger()}, model, {.epochs = 2, .steps = 3, .verbose = 2});
  ::testing::internal::CaptureStdout();
  callbacks.on_train_begin();
  callbacks.on_epoch_begin(0);
  for (int batch = 0; batch < 3; ++batch) callbacks.on_train_batch_end(batch, Logs{{"loss", 2.0}});
  Logs logs{{"loss", 2.0}};
  callbacks.on_epoch_end(0, logs);
  callbacks.on_train_end();
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_TRUE(text.starts_with("Epoch 1/2\n3/3 - 0s - ")) << text;
  EXPECT_TRUE(text.ends_with("/step - loss: 2.0000\n")) << text;
}

TEST(ProgbarLogger, OfOnesOwnReplacesThatOfFit) {
  const Model model = Sequential({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(), .loss = "mse"});
  std::string text;
  const auto print = [&text](const std::string& part) { text += part; };
  ::testing::internal::CaptureStdout();
  model.fit(ones({4, 2}), ones({4, 1}),
            {.batch_size = 2, .verbose = 2, .callbacks = {callbacks::ProgbarLogger({.print = print})}});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_TRUE(text.starts_with("2/2 - ")) << text;
}

}  // namespace
}  // namespace capstan
