// A training that was cut off ends with the bits of one that was not.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "tests/checkpoint/resume_training.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

extern char** environ;

namespace capstan {
namespace {

using io::content_of;
using io::TemporaryDirectory;
using testing::make_resumable;
using testing::Resumable;
using testing::state_text;

struct Cut {};

// Throws after so many batches, as a process that ends.
Callback cut_after(int batches) {
  auto left = std::make_shared<int>(batches);
  return callbacks::LambdaCallback({.on_train_batch_end = [left](std::int64_t, const BatchLogs&) {
    if (--*left == 0) throw Cut();
  }});
}

TEST(Resume, OfFitHasTheSameBitsWhereverItWasCutOff) {
  const TemporaryDirectory directory;
  Resumable whole = make_resumable();
  const History history = testing::train_with_backup(whole, directory.file("whole"), "epoch");
  const std::string expected = state_text(whole);
  EXPECT_FALSE(std::filesystem::exists(directory.file("whole")));

  // An epoch has 8 batches.
  for (const SaveFrequency& frequency : {SaveFrequency("epoch"), SaveFrequency(1), SaveFrequency(3)}) {
    for (const int batches : {1, 7, 8, 9, 20, 31, 48}) {
      const std::string backup = directory.file("backup");
      std::filesystem::remove_all(backup);
      {
        Resumable first = make_resumable();
        EXPECT_THROW(testing::train_with_backup(first, backup, frequency, {cut_after(batches)}), Cut);
      }
      Resumable second = make_resumable();
      const History rest = testing::train_with_backup(second, backup, frequency);
      EXPECT_EQ(state_text(second), expected) << batches << " batches, saved every " << frequency.batches();
      EXPECT_FALSE(std::filesystem::exists(backup));
      // Also what the last epochs report, of which the first may have been cut in the middle.
      ASSERT_FALSE(rest.epoch.empty());
      for (const char* name : {"loss", "mae"}) {
        for (std::size_t i = 0; i < rest.epoch.size(); ++i) {
          EXPECT_EQ(rest[name][i], history[name][static_cast<std::size_t>(rest.epoch[i])]) << name << " " << i;
        }
      }
    }
  }
}

TEST(Resume, OfADatasetGoesOnInItsOrder) {
  const TemporaryDirectory directory;
  const auto run = [&](std::vector<Callback> callbacks, const std::optional<std::int64_t>& steps) {
    Resumable r = make_resumable();
    // Draws in a function of the pipeline are augmentation, too.
    const auto data =
        from_tensor_slices(r.x, r.y)
            .shuffle(10, {.seed = 3})
            .batch(5)
            .map([](const Tensor& x, const Tensor& y) { return std::pair(x + random::normal(x.shape(), 0, 0.1), y); })
            .repeat(steps ? 10 : 1);
    r.model.fit(data, {.epochs = 5, .verbose = 0, .callbacks = std::move(callbacks), .steps_per_epoch = steps});
    return state_text(r);
  };
  const auto backup = [&] { return callbacks::BackupAndRestore(directory.file("backup"), {.save_freq = 2}); };
  for (const std::optional<std::int64_t>& steps : {std::optional<std::int64_t>(), std::optional<std::int64_t>(6)}) {
    const std::string expected = run({}, steps);
    for (const int batches : {5, 16, 25}) {
      EXPECT_THROW(run({backup(), cut_after(batches)}, steps), Cut);
      EXPECT_EQ(run({backup()}, steps), expected) << batches;
    }
  }
}

TEST(Resume, OfALoopOfOnesOwnHasTheSameBits) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("checkpoint");
  const auto run = [&](std::int64_t steps, bool restores, bool writes) {
    Resumable r = make_resumable();
    std::int64_t step = 0;
    const metrics::Mean mean;
    const Checkpoint checkpoint(
        {{"model", r.model}, {"optimizer", r.optimizer}, {"step", step}, {"mean", mean}, {"random", RandomState()}});
    if (restores) checkpoint.restore(path).assert_consumed();
    while (step < steps) {
      GradientTape tape;
      const Tensor noise = random::normal(r.y.shape());
      const Tensor loss = reduce_mean(square(r.model(r.x, {.training = true}) - r.y + 0.1 * noise));
      r.optimizer.apply_gradients(tape.gradient(loss, r.model.trainable_variables()), r.model.trainable_variables());
      mean.update_state(loss);
      ++step;
    }
    if (writes) checkpoint.write(path);
    return state_text(r) + mean.result().to_string();
  };
  const std::string expected = run(12, false, false);
  run(5, false, true);
  EXPECT_EQ(run(12, true, false), expected);
  EXPECT_NE(run(12, false, false) + "x", expected);
}

// Starts the program, and kills it after so many microseconds, unless that is negative. Whether it ended by itself.
bool run_and_kill(const std::string& directory, const std::string& file, const std::string& frequency,
                  std::int64_t microseconds) {
  std::string program = std::string(CAPSTAN_BINARY_DIR) + "/tests/interrupted_training_check";
  std::vector<std::string> texts = {program, directory, file, frequency};
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) return false;
  if (microseconds >= 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    kill(child, SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Cut off after its last epoch, before averages became the weights.
TEST(Resume, OfATrainingThatHadEndedHasTheSameBits) {
  const TemporaryDirectory directory;
  Resumable whole = make_resumable();
  testing::train_with_backup(whole, directory.file("whole"), "epoch");
  int epochs = 0;
  const callbacks::LambdaCallback cut({.on_epoch_end = [&](std::int64_t, Logs&) {
    if (++epochs == 6) throw Cut();
  }});
  Resumable first = make_resumable();
  EXPECT_THROW(testing::train_with_backup(first, directory.file("backup"), "epoch", {cut}), Cut);
  Resumable resumed = make_resumable();
  testing::train_with_backup(resumed, directory.file("backup"), "epoch");
  EXPECT_EQ(state_text(resumed), state_text(whole));
}

TEST(Resume, OfAveragesNeedsTheirVariables) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("averages.ckpt");
  const Variable v(constant({1.0F, 2.0F}));
  const optimizers::SGD optimizer({.learning_rate = 0.5, .use_ema = true});
  optimizer.finalize_variable_values();  // nothing yet
  optimizer.apply_gradients(std::vector{constant({1.0F, 1.0F})}, std::vector{v});
  optimizer.apply_gradients(std::vector{constant({1.0F, 1.0F})}, std::vector{v});
  Checkpoint({{"optimizer", optimizer}}).write(path);
  const optimizers::SGD restored({.learning_rate = 0.5, .use_ema = true});
  Checkpoint({{"optimizer", restored}}).restore(path);
  const std::string error = testing::message_of<ValueError>([&] { restored.finalize_variable_values(); });
  EXPECT_NE(error.find("help: build(variables) hands them over"), std::string::npos) << error;
  restored.build(std::vector{v});
  restored.finalize_variable_values();
  EXPECT_TRUE(testing::same_bits(v.value(), optimizer.averages()[0].value()));
}

TEST(Resume, OfAKilledProcessHasTheSameBits) {
  const char* const wanted = std::getenv("CAPSTAN_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 10;
  const TemporaryDirectory directory;
  const std::string backup = directory.file("backup"), end = directory.file("end");
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(run_and_kill(backup, end, "epoch", -1)) << "the program interrupted_training_check does not run";
  const auto whole =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
  const std::string expected = content_of(end);
  ASSERT_FALSE(expected.empty());
  std::mt19937_64 random(1);
  int killed = 0, ended = 0;
  while (killed < kills) {
    const std::string frequency = ended % 3 == 0 ? "epoch" : ended % 3 == 1 ? "1" : "3";
    std::filesystem::remove(end);
    // A run is killed until it gets to its end.
    while (
        !run_and_kill(backup, end, frequency,
                      killed < kills ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(whole)) : -1)) {
      ++killed;
      ASSERT_LE(killed, kills) << "a run that was not killed failed";
    }
    ++ended;
    ASSERT_EQ(content_of(end), expected) << "after " << killed << " kills, saved every " << frequency;
  }
  // At times a run is killed several times, so there are fewer ends; the last one was not cut off.
  EXPECT_GE(ended, 1);
}

}  // namespace
}  // namespace capstan
