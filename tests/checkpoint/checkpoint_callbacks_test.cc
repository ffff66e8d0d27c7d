// Callbacks that write files, beside what resume_test.cc does with them.
#include "capstan/checkpoint_callbacks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "capstan/io.h"
#include "capstan/ops/array.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using io::files_of;
using io::TemporaryDirectory;
using testing::message_of;

Sequential small_model() {
  Sequential model({layers::Dense(1, {.input_shape = {2}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model;
}

void fit(const Model& model, const Callback& callback, std::int64_t epochs) {
  model.fit(ones({10, 2}), ones({10, 1}),
            {.batch_size = 2, .epochs = epochs, .verbose = 0, .callbacks = {callback}, .shuffle = false});
}

TEST(ModelCheckpoint, CountsBatchesAcrossEpochs) {
  const TemporaryDirectory directory;
  const Sequential model = small_model();
  // An epoch has 5 batches; as Keras has it.
  fit(model,
      callbacks::ModelCheckpoint(directory.file("{epoch}-{batch:03d}.npz"),
                                 {.save_weights_only = true, .save_freq = 3}),
      2);
  EXPECT_EQ(files_of(directory.path()), (std::set<std::string>{"1-003.npz", "2-001.npz", "2-004.npz"}));
}

TEST(ModelCheckpoint, WritesModelAndOptimizer) {
  const TemporaryDirectory directory;
  const Sequential model = small_model();
  fit(model, callbacks::ModelCheckpoint(directory.file("m.ckpt")), 2);
  const Sequential other = small_model();
  Checkpoint({{"model", other}, {"optimizer", other.optimizer()}}).restore(directory.file("m.ckpt")).assert_consumed();
  EXPECT_EQ(other.optimizer().iterations(), 10);
  EXPECT_EQ(other.get_weights()[0].to_string(), model.get_weights()[0].to_string());
}

TEST(ModelCheckpoint, WritesArchivesOfKeras) {
  const TemporaryDirectory directory;
  const Sequential model = small_model();
  fit(model, callbacks::ModelCheckpoint(directory.file("m-{epoch}.keras")), 2);
  EXPECT_EQ(files_of(directory.path()), (std::set<std::string>{"m-1.keras", "m-2.keras"}));
  const Model loaded = load_model(directory.file("m-2.keras"));
  EXPECT_EQ(loaded.optimizer().iterations(), 10);
  EXPECT_EQ(loaded.get_weights()[0].to_string(), model.get_weights()[0].to_string());
}

TEST(ModelCheckpoint, MakesItsFolder) {
  const TemporaryDirectory directory;
  fit(small_model(), callbacks::ModelCheckpoint(directory.file("runs/{epoch}/w.npz"), {.save_weights_only = true}), 2);
  EXPECT_EQ(files_of(directory.file("runs/2")), (std::set<std::string>{"w.npz"}));
  std::ofstream(directory.file("file")) << "no folder";
  EXPECT_THROW(fit(small_model(), callbacks::ModelCheckpoint(directory.file("file/m.keras")), 1), IoError);
}

TEST(ModelCheckpoint, FormatsNamesAsPython) {
  const TemporaryDirectory directory;
  const Sequential model = small_model();
  const auto name_for = [&](const std::string& pattern, double value) {
    const TemporaryDirectory here;
    Callbacks callbacks({callbacks::ModelCheckpoint(here.file(pattern + ".npz"), {.save_weights_only = true})}, model);
    callbacks.on_train_begin();
    callbacks.on_epoch_begin(6);
    Logs logs = {{"v", value}};
    callbacks.on_epoch_end(6, logs);
    const std::string name = *files_of(here.path()).begin();
    return name.substr(0, name.size() - 4);
  };
  EXPECT_EQ(name_for("{epoch}", 0), "7");
  EXPECT_EQ(name_for("{epoch:03d}-{v:.2f}", 0.125), "007-0.12");
  EXPECT_EQ(name_for("{v}", 0.1), "0.1");
  EXPECT_EQ(name_for("{v}", 3), "3.0");
  EXPECT_EQ(name_for("{v:08.3f}", -1.5), "-001.500");
  EXPECT_EQ(name_for("{v:.1e}", 1234), "1.2e+03");
  EXPECT_EQ(name_for("{epoch:.1f}{{}}", 0), "7.0{}");
  for (const auto& [pattern, reason] :
       std::vector<std::pair<std::string, std::string>>{{"{w}", "names \"w\", which is not among the values: epoch, v"},
                                                        {"{batch}", "names \"batch\""},
                                                        {"{v:d}", "is for whole numbers"},
                                                        {"{v:x}", "is not known"},
                                                        {"{v:.999f}", "is not known"},
                                                        {"{v", "do not match"},
                                                        {"v}", "do not match"}}) {
    const std::string message = message_of<ValueError>([&, p = pattern] { name_for(p, 1); });
    EXPECT_NE(message.find(reason), std::string::npos) << pattern << "\n" << message;
  }
}

TEST(ModelCheckpoint, RefusesOtherEndingsAndOptions) {
  EXPECT_NE(message_of<ValueError>([] { callbacks::ModelCheckpoint("m.pb"); }).find("ends with .keras"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([] {
              callbacks::ModelCheckpoint("m.keras", {.save_weights_only = true});
            }).find("ends with .safetensors, .npz or .weights.h5"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([] { callbacks::ModelCheckpoint("m.ckpt", {.mode = "up"}); }).find("mode"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([] { SaveFrequency("batch"); }).find("must be \"epoch\" or a number"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([] { SaveFrequency(0); }).find("at least 1, not 0"), std::string::npos);
}

TEST(BackupAndRestore, RefusesTheFileOfAnotherModelAndOneWithoutWeights) {
  const TemporaryDirectory directory;
  fit(small_model(), callbacks::BackupAndRestore(directory.path(), {.delete_checkpoint = false}), 1);
  Sequential other({layers::Dense(3, {.input_shape = {2}}), layers::Dense(1)});
  other.compile({.optimizer = "sgd", .loss = "mse"});
  const std::string message =
      message_of<ValueError>([&] { fit(other, callbacks::BackupAndRestore(directory.path()), 1); });
  EXPECT_NE(message.find("dense/kernel"), std::string::npos) << message;
  Sequential unbuilt({layers::Dense(1)});
  unbuilt.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_NE(message_of<ValueError>([&] {
              fit(unbuilt, callbacks::BackupAndRestore(directory.path()), 1);
            }).find("has no weights yet"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(directory.file("latest.ckpt")));
}

TEST(BackupAndRestore, DeletesItsFileAndNothingElse) {
  const TemporaryDirectory directory;
  directory.write("note", "");
  fit(small_model(), callbacks::BackupAndRestore(directory.path()), 2);
  EXPECT_EQ(files_of(directory.path()), (std::set<std::string>{"note"}));
}

}  // namespace
}  // namespace capstan
