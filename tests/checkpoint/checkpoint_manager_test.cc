// Which checkpoints of a directory are kept.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "capstan/checkpoint.h"
#include "capstan/io.h"
#include "capstan/models.h"
#include "capstan/ops/array.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using io::files_of;
using io::TemporaryDirectory;
using testing::message_of;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(CheckpointManager, KeepsTheLatestAndWritesTensorflowsList) {
  const TemporaryDirectory directory;
  const std::string run = directory.file("run");
  const Variable v({0.0f});
  const Checkpoint checkpoint({{"v", v}});
  {
    CheckpointManager manager(checkpoint, run, {.max_to_keep = 2});
    EXPECT_EQ(manager.latest_checkpoint(), std::nullopt);
    for (int i = 1; i <= 4; ++i) {
      v.assign(constant({static_cast<float>(i)}));
      EXPECT_EQ(manager.save(), run + "/ckpt-" + std::to_string(i));
    }
    EXPECT_EQ(manager.checkpoints(), (std::vector<std::string>{run + "/ckpt-3", run + "/ckpt-4"}));
  }
  EXPECT_EQ(files_of(run), (std::set<std::string>{"checkpoint", "ckpt-3", "ckpt-4"}));
  const std::vector<std::string> lines = lines_of(run + "/checkpoint");
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "model_checkpoint_path: \"ckpt-4\"");
  EXPECT_EQ(lines[1], "all_model_checkpoint_paths: \"ckpt-3\"");
  EXPECT_EQ(lines[2], "all_model_checkpoint_paths: \"ckpt-4\"");
  EXPECT_EQ(lines[3].rfind("all_model_checkpoint_timestamps: 1", 0), 0u) << lines[3];
  EXPECT_EQ(lines[5].rfind("last_preserved_timestamp: 1", 0), 0u) << lines[5];

  // Another process goes on.
  v.assign(constant({0.0f}));
  const Checkpoint again({{"v", v}});
  CheckpointManager manager(again, run, {.max_to_keep = 2});
  EXPECT_EQ(manager.restore_or_initialize(), run + "/ckpt-4");
  EXPECT_EQ(v.to_vector<float>(), (std::vector<float>{4}));
  EXPECT_EQ(manager.save(), run + "/ckpt-5");
  EXPECT_EQ(files_of(run), (std::set<std::string>{"checkpoint", "ckpt-4", "ckpt-5"}));
  EXPECT_EQ(manager.save({.checkpoint_number = 100}), run + "/ckpt-100");
  EXPECT_EQ(again.save_counter(), 6);
}

TEST(CheckpointManager, KeepsOneEverySoOftenForEver) {
  const TemporaryDirectory directory;
  const Variable v({0.0f});
  const Checkpoint checkpoint({{"v", v}});
  // Whatever time has gone by is enough.
  CheckpointManager manager(checkpoint, directory.path(), {.max_to_keep = 1, .keep_checkpoint_every_n_hours = 1e-12});
  for (int i = 0; i < 3; ++i) manager.save();
  EXPECT_EQ(manager.checkpoints(), (std::vector<std::string>{directory.file("ckpt-3")}));
  EXPECT_EQ(files_of(directory.path()), (std::set<std::string>{"checkpoint", "ckpt-1", "ckpt-2", "ckpt-3"}));
}

TEST(CheckpointManager, WaitsForAnIntervalAndInitializes) {
  const TemporaryDirectory directory;
  std::int64_t step = 0;
  int initialized = 0;
  const Checkpoint checkpoint({{"step", step}});
  CheckpointManager manager(
      checkpoint, directory.path(),
      {.max_to_keep = {}, .checkpoint_name = "model", .step_counter = &step, .checkpoint_interval = 5, .init = [&] {
         ++initialized;
       }});
  EXPECT_EQ(manager.restore_or_initialize(), std::nullopt);
  EXPECT_EQ(initialized, 1);
  std::vector<std::int64_t> saved;
  for (step = 1; step <= 12; ++step) {
    if (manager.save()) saved.push_back(step);
  }
  EXPECT_EQ(saved, (std::vector<std::int64_t>{1, 6, 11}));
  EXPECT_TRUE(manager.save({.check_interval = false}));
  EXPECT_EQ(files_of(directory.path()),
            (std::set<std::string>{"checkpoint", "model-1", "model-2", "model-3", "model-4"}));
}

// What is written is the state at the time of save(), whatever happens to the variables while it is written.
TEST(CheckpointManager, WritesBehindWhileVariablesChange) {
  const TemporaryDirectory directory;
  const Variable large(zeros({200'000})), small({0.0f});
  const Checkpoint checkpoint({{"large", large}, {"small", small}});
  CheckpointManager manager(checkpoint, directory.path(), {.max_to_keep = 3, .asynchronous = true});
  for (int i = 1; i <= 6; ++i) {
    const auto value = static_cast<float>(i);
    large.assign(fill({200'000}, value));
    small.assign(constant({value}));
    const std::optional<std::string> path = manager.save();
    ASSERT_EQ(path, directory.file("ckpt-" + std::to_string(i)));
    EXPECT_EQ(manager.latest_checkpoint(), path);
    for (int k = 0; k < 20; ++k) {
      large.assign_add(ones({200'000}));
      small.assign_add(constant({1.0f}));
    }
  }
  manager.wait();
  EXPECT_EQ(manager.checkpoints().size(), 3u);
  for (int i = 4; i <= 6; ++i) {
    const io::NamedArrays arrays = io::load_checkpoint(directory.file("ckpt-" + std::to_string(i)));
    const std::vector<float> values = arrays.at("large").to_vector<float>();
    EXPECT_EQ(values, std::vector<float>(200'000, static_cast<float>(i)));
    EXPECT_EQ(arrays.at("small").to_vector<float>(), std::vector<float>{static_cast<float>(i)});
  }
}

TEST(CheckpointManager, KeepsTensorflowsForm) {
  const TemporaryDirectory directory;
  const Variable v({0.0f}, {.name = "v"});
  const Checkpoint checkpoint({{"v", v}});
  for (const bool asynchronous : {false, true}) {
    const std::string run = directory.file(asynchronous ? "asynchronous" : "run");
    {
      CheckpointManager manager(checkpoint, run,
                                {.max_to_keep = 2, .asynchronous = asynchronous, .tensorflow_format = true});
      for (int i = 1; i <= 11; ++i) {
        v.assign(constant({static_cast<float>(i)}));
        const std::string path = run + "/ckpt-" + std::to_string(i);
        EXPECT_EQ(manager.save({.checkpoint_number = i}), path);
        EXPECT_EQ(manager.latest_checkpoint(), path);
        v.assign(constant({-1.0f}));
      }
      EXPECT_EQ(manager.checkpoints(), (std::vector<std::string>{run + "/ckpt-10", run + "/ckpt-11"}));
    }
    EXPECT_EQ(files_of(run), (std::set<std::string>{"checkpoint", "ckpt-10.data-00000-of-00001", "ckpt-10.index",
                                                    "ckpt-11.data-00000-of-00001", "ckpt-11.index"}));
    EXPECT_EQ(lines_of(run + "/checkpoint")[0], "model_checkpoint_path: \"ckpt-11\"");

    // Another process goes on, in the library's own form; what is too old goes with all its files.
    const Checkpoint again({{"v", v}});
    CheckpointManager manager(again, run, {.max_to_keep = 2});
    EXPECT_EQ(manager.restore_or_initialize(), run + "/ckpt-11");
    EXPECT_EQ(v.to_vector<float>(), (std::vector<float>{11}));
    EXPECT_EQ(manager.save({.checkpoint_number = 12}), run + "/ckpt-12");
    EXPECT_EQ(files_of(run),
              (std::set<std::string>{"checkpoint", "ckpt-11.data-00000-of-00001", "ckpt-11.index", "ckpt-12"}));
    EXPECT_EQ(manager.restore_or_initialize(), run + "/ckpt-12");
  }
}

TEST(CheckpointManager, ChangesNothingIfTensorflowsFormLacksSomething) {
  const TemporaryDirectory directory;
  const Variable a({1.0f}, {.name = "a"}), b({2.0f}, {.name = "b"});
  CheckpointManager(Checkpoint({{"a", a}}), directory.path(), {.tensorflow_format = true}).save();
  const Checkpoint more({{"a", a}, {"b", b}});
  a.assign(constant({7.0f}));
  CheckpointManager manager(more, directory.path(), {.tensorflow_format = true});
  EXPECT_NE(message_of<ValueError>([&] { manager.restore_or_initialize(); }).find("b"), std::string::npos);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{7}));
  EXPECT_EQ(more.save_counter(), 0);
  std::filesystem::remove(directory.file("ckpt-1.index"));
  EXPECT_THROW(manager.restore_or_initialize(), IoError);
}

TEST(CheckpointManager, TellsWhatWentWrongBehind) {
  const TemporaryDirectory directory;
  const std::string run = directory.file("run");
  const Variable v({0.0f});
  const Checkpoint checkpoint({{"v", v}});
  CheckpointManager manager(checkpoint, run, {.asynchronous = true});
  manager.save();
  manager.wait();
  std::filesystem::remove_all(run);
  manager.save();
  EXPECT_NE(message_of<IoError>([&] { manager.wait(); }).find("cannot write the file"), std::string::npos);
  EXPECT_EQ(manager.latest_checkpoint(), run + "/ckpt-1");
  manager.save();
  EXPECT_NE(message_of<IoError>([&] { manager.save(); }).find("cannot write the file"), std::string::npos);
  std::filesystem::create_directory(run);
  manager.save();
  manager.wait();
  EXPECT_TRUE(std::filesystem::exists(*manager.latest_checkpoint()));
}

TEST(CheckpointManager, RefusesListsThatAreDamagedOrLeadElsewhere) {
  const TemporaryDirectory directory;
  const Variable v({0.0f});
  const Checkpoint checkpoint({{"v", v}});
  const std::string outside = directory.write("victim", "x");
  const std::string run = directory.file("run");
  std::filesystem::create_directory(run);
  const std::pair<const char*, const char*> cases[] = {
      {"", "names no latest"},
      {"model_checkpoint_path \"a\"\n", "not `key: value`"},
      {"other: \"a\"\n", "is not known"},
      {"model_checkpoint_path: a\n", "in quotes"},
      {"model_checkpoint_path: \"\n", "in quotes"},
      {"model_checkpoint_path: \"a\\\"\n", "in quotes"},
      {"model_checkpoint_path: \"../victim\"\n", "not the name of a file in the directory"},
      {"model_checkpoint_path: \"..\"\n", "not the name of a file in the directory"},
      {"model_checkpoint_path: \"a\"\nall_model_checkpoint_paths: \"/etc/passwd\"\n", "line 2"},
      {"model_checkpoint_path: \"a\"\nall_model_checkpoint_timestamps: 1\n", "0 paths and 1 timestamps"},
      {"model_checkpoint_path: \"a\"\nlast_preserved_timestamp: nan\n", "is no time"},
  };
  for (const auto& [text, reason] : cases) {
    std::ofstream(run + "/checkpoint") << text;
    const std::string message = message_of<IoError>([&] { CheckpointManager(checkpoint, run, {.max_to_keep = 1}); });
    EXPECT_NE(message.find(reason), std::string::npos) << reason << "\n" << message;
  }
  EXPECT_TRUE(std::filesystem::exists(outside));
}

TEST(CheckpointManager, RefusesOptionsThatMakeNoSense) {
  const TemporaryDirectory directory;
  const Variable v({0.0f});
  const Checkpoint checkpoint({{"v", v}});
  const auto refused = [&](const CheckpointManagerOptions& options, const std::string& part) {
    const std::string message =
        message_of<ValueError>([&] { CheckpointManager(checkpoint, directory.path(), options); });
    return message.find(part) != std::string::npos;
  };
  EXPECT_TRUE(refused({.max_to_keep = 0}, "max_to_keep must be at least 1, or none, not 0"));
  EXPECT_TRUE(refused({.keep_checkpoint_every_n_hours = -1}, "must be positive, not -1"));
  EXPECT_TRUE(refused({.checkpoint_interval = 3}, "needs a step_counter"));
  EXPECT_TRUE(refused({.checkpoint_interval = 0}, "must be at least 1, not 0"));
  EXPECT_TRUE(refused({.checkpoint_name = "a/b"}, "checkpoint_name \"a/b\""));
  const std::string file = directory.write("file", "");
  EXPECT_NE(message_of<IoError>([&] { CheckpointManager(checkpoint, file); }).find("cannot be made"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan
