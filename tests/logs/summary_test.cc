// Logs for TensorBoard, compared with a log of TensorFlow's.
#include "capstan/summary.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>
#include <thread>

#include "capstan/capstan.h"
#include "src/io/wire.h"
#include "src/logs/event_message.h"
#include "tests/support/event_reader.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using io::content_of;
using io::TemporaryDirectory;
using testing::Json;
using testing::LoggedEvent;
using testing::message_of;
using testing::SteppedValue;
using testing::values_of;

constexpr const char* kSample = "events/events.out.tfevents.1700000000.sample.1.0.v2";

Json sample_entry() {
  for (Json& entry : testing::samples_of("events")) {
    if (entry.at("path") == testing::sample_path(kSample)) return entry;
  }
  return {};
}

std::vector<std::uint8_t> decoded(const std::string& png) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&header, png.data(), png.size()), 0) << header.message;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(header));
  EXPECT_NE(png_image_finish_read(&header, nullptr, pixels.data(), 0, nullptr), 0) << header.message;
  return pixels;
}

// What TensorFlow wrote into the sample, written again.
std::string written_again(const TemporaryDirectory& folder, const Json& entry) {
  const Json& inputs = entry.at("inputs");
  const Tensor picture = testing::tensor_from_json(entry.at("events")[7].at("values")[0].at("image"));
  const auto writer = summary::create_file_writer(folder.path());
  std::int64_t step = 0;
  for (const Json& loss : inputs.at("loss")) {
    writer.scalar("loss", loss.get<double>(), step, step == 0 ? "training loss" : "");
    ++step;
  }
  writer.scalar("nested/accuracy", constant(0.75f), 7);
  writer.histogram("weights", testing::tensor_from_json(inputs.at("weights")), 3, {.buckets = 10});
  writer.histogram("constant", fill({5}, 2.0f), 3);
  writer.image("picture", expand_dims(picture, 0), 4);
  writer.text("note", "some **markdown** text", 5);
  writer.text("table", Texts::rows({{"a", "b"}, {"c", "d"}}), 5);
  writer.hparams({{"rate", 0.5}, {"optimizer", "adam"}, {"units", 16}, {"flag", true}}, {.trial_id = "trial"});
  writer.close();
  return writer.path();
}

TEST(Summary, WritesWhatTensorFlowWrites) {
  const TemporaryDirectory folder;
  const Json entry = sample_entry();
  const auto theirs = testing::events_of(entry.at("path"));
  const auto ours = testing::events_of(written_again(folder, entry));
  ASSERT_EQ(ours.size(), theirs.size());
  EXPECT_EQ(ours[0].file_version, theirs[0].file_version);
  EXPECT_EQ(ours[0].writer, "capstan");
  EXPECT_EQ(ours[0].wall_time, std::floor(ours[0].wall_time));
  int same_bytes = 0;
  for (std::size_t i = 1; i < ours.size(); ++i) {
    ASSERT_EQ(ours[i].values.size(), 1u);
    const auto& [mine, other] = std::pair(ours[i].values[0], theirs[i].values[0]);
    SCOPED_TRACE(other.tag);
    EXPECT_EQ(ours[i].step, theirs[i].step);
    EXPECT_GE(ours[i].wall_time, ours[i - 1].wall_time);
    EXPECT_EQ(mine.tag, other.tag);
    EXPECT_EQ(mine.plugin, other.plugin);
    EXPECT_EQ(mine.description, other.description);
    EXPECT_EQ(mine.dtype, other.dtype);
    EXPECT_EQ(mine.shape, other.shape);
    if (mine.plugin == "images") {
      EXPECT_EQ(mine.texts[0], other.texts[0]);
      EXPECT_EQ(mine.texts[1], other.texts[1]);
      EXPECT_EQ(decoded(mine.texts.at(2)), decoded(other.texts.at(2)));
    } else if (mine.plugin == "histograms") {
      ASSERT_EQ(mine.numbers.size(), other.numbers.size());
      for (std::size_t k = 0; k < mine.numbers.size(); ++k) EXPECT_NEAR(mine.numbers[k], other.numbers[k], 1e-12) << k;
    } else if (mine.plugin == "hparams") {
      // Maps have no order, and the time differs.
      EXPECT_EQ(mine.plugin_content.size(), other.plugin_content.size());
      EXPECT_NE(mine.plugin_content.find("\x12\x06\x1a\x04"
                                         "adam"),
                std::string::npos);
    } else {
      EXPECT_EQ(mine.message, other.message);
      ++same_bytes;
    }
  }
  EXPECT_EQ(same_bytes, 6);
}

TEST(Summary, FilesHaveTensorFlowsNames) {
  const TemporaryDirectory folder;
  const auto first = summary::create_file_writer(folder.file("new/folder"));
  const auto second = summary::create_file_writer(folder.file("new/folder"), {.filename_suffix = ".test"});
  EXPECT_NE(first.path(), second.path());
  const std::regex form(R"(.*/new/folder/events\.out\.tfevents\.\d{10}\.[^/]+\.\d+\.\d+\.(v2|test))");
  EXPECT_TRUE(std::regex_match(first.path(), form)) << first.path();
  EXPECT_TRUE(std::regex_match(second.path(), form)) << second.path();
  EXPECT_TRUE(second.path().ends_with(".test"));
  // A log says what it is from the beginning.
  EXPECT_EQ(testing::events_of(first.path()).size(), 1u);
}

TEST(Summary, HistogramsHaveAllFiniteElements) {
  const TemporaryDirectory folder;
  const auto writer = summary::create_file_writer(folder.path());
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  writer.histogram("odd", constant({1.0f, inf, nan, 3.0f, -inf}), 1, {.buckets = 2});
  writer.histogram("empty", zeros({0}), 2, {.buckets = 2});
  writer.histogram("nothing", constant({nan}), 3, {.buckets = 1});
  writer.histogram("integers", constant({1, 2, 3, 4}), 4, {.buckets = 3});
  writer.flush();
  const auto values = values_of(writer.path());
  EXPECT_EQ(values[0].numbers, (std::vector<double>{1, 2, 1, 2, 3, 1}));
  EXPECT_EQ(values[1].numbers, std::vector<double>(6));
  EXPECT_EQ(values[2].numbers, std::vector<double>(3));
  EXPECT_EQ(values[3].numbers, (std::vector<double>{1, 2, 1, 2, 3, 1, 3, 4, 2}));
}

TEST(Summary, BucketsHoldWhateverTheRange) {
  const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  for (const auto& values : {std::vector<double>{-most, 0, most},
                             {0, least},
                             {0, least, 2 * least},
                             {-1e-300, 1e300},
                             {1, std::nextafter(1.0, 2)}}) {
    const auto rows = logs::histogram_buckets(values, 7);
    double count = 0;
    for (std::size_t i = 0; i < 7; ++i) {
      EXPECT_LE(rows[3 * i], rows[3 * i + 1]);
      if (i > 0) {
        EXPECT_EQ(rows[3 * i], rows[3 * i - 2]);
      }
      count += rows[3 * i + 2];
    }
    EXPECT_EQ(count, static_cast<double>(values.size()));
    EXPECT_EQ(rows.front(), values.front());
    EXPECT_EQ(rows[19], values.back());
  }
}

TEST(Summary, ImagesAreConvertedAndLimited) {
  const TemporaryDirectory folder;
  const auto writer = summary::create_file_writer(folder.path());
  writer.image("floats", reshape(constant({0.0f, 0.5f, 1.0f, 2.0f, -1.0f, 0.25f}), {1, 2, 3, 1}), 1);
  for (const std::int64_t channels : {1, 2, 3, 4}) writer.image("many", zeros({5, 1, 2, channels}, uint8), channels);
  writer.image("none", zeros({5, 1, 2, 1}, uint8), 9, {.max_outputs = 0});
  writer.flush();
  const auto values = values_of(writer.path());
  EXPECT_EQ(decoded(values[0].texts.at(2)), (std::vector<std::uint8_t>{0, 127, 255, 255, 0, 63}));
  EXPECT_EQ(values[0].texts[0], "3");
  EXPECT_EQ(values[0].texts[1], "2");
  for (std::size_t i = 1; i <= 4; ++i) EXPECT_EQ(values[i].texts.size(), 5u);
  EXPECT_EQ(values[5].texts, (std::vector<std::string>{"2", "1"}));
}

TEST(Summary, EventsWaitUntilTheQueueIsFull) {
  const TemporaryDirectory folder;
  const auto writer = summary::create_file_writer(folder.path(), {.max_queue = 3});
  const auto count = [&] { return testing::events_of(writer.path()).size(); };
  writer.scalar("x", 1, 1);
  writer.scalar("x", 2, 2);
  EXPECT_EQ(count(), 1u);
  writer.scalar("x", 3, 3);
  EXPECT_EQ(count(), 4u);
  writer.scalar("x", 4, 4);
  EXPECT_EQ(count(), 4u);
  writer.flush();
  EXPECT_EQ(count(), 5u);
  const auto quick = summary::create_file_writer(folder.path(), {.flush_millis = 0});
  quick.scalar("x", 1, 1);
  EXPECT_EQ(testing::events_of(quick.path()).size(), 2u);
}

TEST(Summary, ThreadsShareAWriter) {
  const TemporaryDirectory folder;
  const auto writer = summary::create_file_writer(folder.path());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([copy = writer, t] {
      for (int i = 0; i < 200; ++i) copy.scalar("thread" + std::to_string(t), i, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer.close();
  std::map<std::string, std::int64_t> steps;
  for (const SteppedValue& value : values_of(writer.path())) EXPECT_EQ(steps[value.tag]++, value.step);
  EXPECT_EQ(steps.size(), 4u);
  for (const auto& [tag, count] : steps) EXPECT_EQ(count, 200);
}

TEST(Summary, TheSameHyperParametersAreTheSameTrial) {
  const TemporaryDirectory folder;
  const auto writer = summary::create_file_writer(folder.path());
  writer.hparams({{"a", 1}, {"b", "x"}});
  writer.hparams({{"b", "x"}, {"a", 1}});
  writer.hparams({{"a", 2}, {"b", "x"}});
  writer.flush();
  const auto values = values_of(writer.path());
  const auto trial = [&](std::size_t i) {
    const std::string& text = values[i].plugin_content;
    return text.substr(text.find("\x22\x10") + 2, 16);
  };
  EXPECT_EQ(trial(0), trial(1));
  EXPECT_NE(trial(0), trial(2));
  EXPECT_EQ(message_of<ValueError>([&] {
              writer.hparams({{"list", std::vector<AttributeValue>{1}}});
            }),
            "summary: the hyper-parameter \"list\" is no number, truth value or text but [1]");
}

TEST(Summary, EmbeddingsAreTablesForTheProjector) {
  const TemporaryDirectory folder;
  const auto writer = summary::create_file_writer(folder.path());
  writer.embedding("words", constant({{1.5f, 2.0f}, {-3.0f, 1e-7f}}), {.labels = {"cat", "dog"}});
  writer.embedding("a/b", zeros({1, 1}, float64));
  writer.embedding("table", zeros({1, 1}), {.labels = Texts::rows({{"x", "y"}}), .columns = {"one", "two"}});
  EXPECT_EQ(content_of(folder.file("words.tsv")), "1.5\t2\n-3\t1e-07\n");
  EXPECT_EQ(content_of(folder.file("words_labels.tsv")), "cat\ndog\n");
  EXPECT_EQ(content_of(folder.file("table_labels.tsv")), "one\ttwo\nx\ty\n");
  EXPECT_EQ(content_of(folder.file("projector_config.pbtxt")),
            "embeddings {\n  tensor_name: \"a/b\"\n  tensor_path: \"a_2fb.tsv\"\n}\n"
            "embeddings {\n  tensor_name: \"table\"\n  tensor_path: \"table.tsv\"\n  metadata_path: "
            "\"table_labels.tsv\"\n}\n"
            "embeddings {\n  tensor_name: \"words\"\n  tensor_path: \"words.tsv\"\n  metadata_path: "
            "\"words_labels.tsv\"\n}\n");
  EXPECT_THROW(writer.embedding("x", zeros({2})), ShapeError);
  EXPECT_EQ(message_of<ValueError>([&] {
              writer.embedding("x", zeros({2, 1}), {.labels = {"a"}});
            }),
            "summary: the embedding \"x\" has 2 rows, and 1 labels");
  EXPECT_THROW(writer.embedding("x", zeros({1, 1}), {.labels = {"a\tb"}}), ValueError);
  EXPECT_THROW(writer.embedding("x", zeros({1, 1}), {.labels = Texts::rows({{"x", "y"}})}), ValueError);
}

// The messages of a field of bytes.
std::vector<std::string> parts_of(const std::string& bytes, std::uint32_t number) {
  std::vector<std::string> parts;
  io::wire::Message message("graph", "", bytes);
  while (const auto field = message.next()) {
    if (field->number == number) parts.emplace_back(field->bytes);
  }
  return parts;
}

TEST(Summary, GraphsHaveNodesAndEdges) {
  const TemporaryDirectory folder;
  const auto writer = summary::create_file_writer(folder.path());
  const Variable w(ones({3, 2}));
  auto step = function([&](const Tensor& x) { return relu(matmul(x, w) + 1.0f); });
  writer.graph(step.get_concrete(TensorSpec({-1, 3})).graph_nodes());
  writer.flush();
  const auto events = testing::events_of(writer.path());
  std::map<std::string, std::vector<std::string>> inputs;
  std::string ops;
  for (const std::string& node : parts_of(events.at(1).graph, 1)) {
    const std::string name = parts_of(node, 1).at(0);
    EXPECT_FALSE(inputs.contains(name)) << name;
    inputs[name] = parts_of(node, 3);
    ops += parts_of(node, 2).at(0) + " ";
    for (const std::string& input : inputs[name]) EXPECT_TRUE(inputs.contains(input)) << input << " comes first";
  }
  EXPECT_EQ(inputs["matmul"], (std::vector<std::string>{"argument", "Variable"})) << ops;
  EXPECT_EQ(inputs["relu"], std::vector<std::string>{"add"}) << ops;
  EXPECT_EQ(inputs["return"], std::vector<std::string>{"relu"}) << ops;
  EXPECT_THROW(writer.graph({{"", "op", {}, {}}}), ValueError);
}

TEST(Summary, ErrorsSayWhat) {
  const TemporaryDirectory folder;
  const auto writer = summary::create_file_writer(folder.path());
  EXPECT_EQ(message_of<ShapeError>([&] { writer.scalar("x", zeros({2}), 0); }),
            "summary: the scalar \"x\" must be one number, not float32[2]");
  EXPECT_THROW(writer.scalar("", 1, 0), ValueError);
  EXPECT_THROW(writer.scalar("\xff", 1, 0), ValueError);
  EXPECT_THROW(writer.scalar("x", 1, 0, "\xff"), ValueError);
  EXPECT_THROW(writer.text("x", "\xff", 0), ValueError);
  EXPECT_THROW(writer.histogram("x", zeros({2}), 0, {.buckets = 0}), ValueError);
  EXPECT_THROW(writer.histogram("x", zeros({2}), 0, {.buckets = 1'000'000'000}), ValueError);
  EXPECT_THROW(writer.histogram("x", zeros({2}, complex64), 0), DTypeError);
  EXPECT_THROW(writer.image("x", zeros({1, 2, 2}), 0), ShapeError);
  EXPECT_THROW(writer.image("x", zeros({1, 2, 2, 5}), 0), ShapeError);
  EXPECT_THROW(writer.image("x", zeros({1, 0, 2, 1}), 0), ShapeError);
  EXPECT_THROW(writer.image("x", zeros({1, 1, 2, 1}), 0, {.max_outputs = -1}), ValueError);
  EXPECT_EQ(testing::events_of(writer.path()).size(), 1u) << "nothing is written of what is refused";
  writer.close();
  writer.close();
  EXPECT_EQ(message_of<ValueError>([&] { writer.scalar("x", 1, 0); }),
            "summary: the file is closed\n  file: " + writer.path());
  EXPECT_THROW(summary::create_file_writer(folder.path(), {.max_queue = -1}), ValueError);
  EXPECT_THROW(summary::create_file_writer(folder.path(), {.filename_suffix = "/x"}), ValueError);
  const std::string file = folder.write("file", "");
  EXPECT_THROW(summary::create_file_writer(file), IoError);
  EXPECT_THROW(summary::create_file_writer(file + "/inner"), IoError);
  // What a function logs while it is traced has no value yet.
  auto traced = function([&](const Tensor& x) {
    writer.scalar("x", x, 0);
    return x;
  });
  EXPECT_THROW(traced(constant(1.0f)), TraceError);
}

}  // namespace
}  // namespace capstan
