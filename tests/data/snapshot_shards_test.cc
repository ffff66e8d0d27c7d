// Snapshots in several files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "src/io/element_file.h"
#include "tests/data/elements.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;
using datasets::range;
using testing::elements_of;
using testing::message_of;
using testing::rest_of;
using testing::Words;

class SnapshotShards : public ::testing::Test {
 protected:
  std::string folder() const { return directory_.path(); }
  std::string list() const { return directory_.file("elements.elements"); }
  std::size_t files() const { return static_cast<std::size_t>(testing::entries_in(folder())); }
  std::string shard(std::int64_t number) const {
    for (const auto& entry : fs::directory_iterator(folder())) {
      const std::string name = entry.path().filename().string();
      if (name.find("-" + std::to_string(number) + "-of-") != std::string::npos) return entry.path().string();
    }
    return "";
  }

  io::TemporaryDirectory directory_;
};

TEST_F(SnapshotShards, GiveTheOrderInWhichTheyWereWritten) {
  for (const std::int64_t count : {0, 1, 2, 3, 7, 3000}) {
    for (const std::int64_t shards : {1, 2, 3, 256}) {
      SCOPED_TRACE(std::to_string(count) + " in " + std::to_string(shards));
      const std::string key = std::to_string(count) + "-" + std::to_string(shards);
      const std::size_t before = files();
      const auto source = range(count).shuffle(10, {.seed = 1}).map([](std::int64_t x) {
        return std::tuple(x, std::to_string(x), fill({2}, static_cast<float>(x)));
      });
      const auto dataset = source.snapshot(folder(), {.key = key, .shards = shards});
      const Words want = elements_of(dataset);
      EXPECT_EQ(files() - before, static_cast<std::size_t>(shards == 1 ? 1 : shards + 1));
      // What is read does not depend on the number that is asked for now, nor on the input.
      const auto others = source.take(0).snapshot(folder(), {.key = key, .shards = 2});
      EXPECT_EQ(elements_of(dataset), want);
      EXPECT_EQ(elements_of(others), want);
      const auto loaded = Dataset<std::int64_t, std::string, Tensor>::load(directory_.file(key + ".elements"));
      EXPECT_EQ(elements_of(loaded), want);
      EXPECT_EQ(loaded.size(), count);
    }
  }
  for (const std::int64_t shards : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{257}, INT64_MAX}) {
    EXPECT_EQ(message_of<ValueError>([&] { range(3).snapshot(folder(), {.shards = shards}); }),
              "snapshot: shards is " + std::to_string(shards) + ", not from 1 to 256");
  }
}

TEST_F(SnapshotShards, AreThereAsAWholeOrNotAtAll) {
  const auto fails = range(9).map([](std::int64_t x) {
    if (x == 7) throw ValueError("seven");
    return x;
  });
  elements_of(fails.snapshot(folder(), {.shards = 3}));
  EXPECT_EQ(files(), 0U);
  {
    const auto stops = range(9).snapshot(folder(), {.shards = 3});
    auto iterator = stops.begin();
    for (int i = 0; i < 8; ++i) iterator.next();
    EXPECT_EQ(files(), 4U);
  }
  EXPECT_EQ(files(), 0U);
  // Of two passes at once the first that ends is kept, alone.
  const auto dataset = range(9).shuffle(9).snapshot(folder(), {.shards = 3});
  auto one = dataset.begin(), two = dataset.begin();
  one.next();
  const Words other = rest_of(two);
  rest_of(one);
  EXPECT_EQ(files(), 4U);
  EXPECT_EQ(elements_of(dataset), other);
}

TEST_F(SnapshotShards, HavePositionsAtEveryElement) {
  int number = 0;
  const auto make = [&](const std::string& key) {
    return range(7).shuffle(7, {.seed = 1}).snapshot(folder(), {.key = key, .shards = 3}).repeat(2);
  };
  for (std::size_t cut = 0; cut <= 14; ++cut) {
    SCOPED_TRACE(cut);
    const std::string key = std::to_string(number++);
    const std::size_t before = files();
    const auto dataset = make(key), another = make(key);
    auto iterator = dataset.begin();
    for (std::size_t i = 0; i < cut; ++i) ASSERT_TRUE(iterator.next().has_value());
    const DatasetPosition position = iterator.save();
    auto restored = another.begin();
    restored.restore(position);
    auto again = another.begin();
    again.restore(restored.save());
    const Words rest = rest_of(restored);
    EXPECT_EQ(rest.size(), 14 - cut);
    EXPECT_EQ(rest_of(again), rest);
    EXPECT_EQ(rest_of(iterator), rest);
    EXPECT_EQ(elements_of(another), elements_of(dataset));
    EXPECT_EQ(files() - before, 4U);
  }
}

TEST_F(SnapshotShards, GoOnWhereAPositionStoodInAnotherProcess) {
  const auto make = [&] { return range(50000).shuffle(50000, {.seed = 1}).snapshot(folder(), {.shards = 4}); };
  DatasetPosition position;
  Words first;
  {
    const auto dataset = make();
    auto iterator = dataset.begin();
    for (int i = 0; i < 30001; ++i) first.push_back(testing::text_of(*iterator.next()));
    position = iterator.save();
  }
  EXPECT_EQ(files(), 4U);  // drafts
  const auto dataset = make();
  auto iterator = dataset.begin();
  iterator.restore(position);
  for (const std::string& text : rest_of(iterator)) first.push_back(text);
  EXPECT_EQ(files(), 5U);
  EXPECT_EQ(elements_of(dataset), first);
  // Without one of its drafts the pass goes on and writes nothing.
  for (const auto& entry : fs::directory_iterator(folder())) fs::remove(entry);
  auto stops = make().begin();
  for (int i = 0; i < 30001; ++i) stops.next();
  position = stops.save();
  fs::remove(shard(2));
  auto restored = make().begin();
  restored.restore(position);
  EXPECT_EQ(rest_of(restored).size(), 19999U);
  EXPECT_FALSE(fs::exists(list()));
}

TEST_F(SnapshotShards, DoNotBelieveADraftOfAPosition) {
  const auto make = [&] { return range(6).snapshot(folder(), {.shards = 2}); };
  const auto dataset = make();
  auto iterator = dataset.begin();
  for (int i = 0; i < 3; ++i) iterator.next();
  const DatasetPosition position = iterator.save();
  const std::vector<std::int64_t> right = position.at("snapshot/draft").to_vector<std::int64_t>();
  ASSERT_EQ(right.size(), 5U);
  std::vector<std::vector<std::int64_t>> drafts = {{1}, {1, 2}, {1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}};
  for (std::size_t i = 0; i < right.size(); ++i) {
    for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{0}, right[i] + 1, INT64_MAX}) {
      drafts.push_back(right);
      drafts.back()[i] = value;
    }
  }
  for (const std::vector<std::int64_t>& draft : drafts) {
    testing::expect_no_belief_in(draft, "snapshot/draft", position, list(), make);
  }
}

TEST_F(SnapshotShards, AreReadOnThreadsIfThatPays) {
  const int before = num_threads();
  set_num_threads(3);
  // Elements of 4 MB, whose checksums alone take longer than to start a thread.
  const auto dataset = range(40)
                           .map([](std::int64_t x) { return fill({1 << 20}, static_cast<float>(x)); })
                           .snapshot(folder(), {.shards = 3});
  for (const Tensor& x : dataset) ASSERT_EQ(x.dim(0), 1 << 20);
  std::int64_t number = 0;
  std::ptrdiff_t most = 0;
  const std::ptrdiff_t threads = testing::thread_total();
  for (const Tensor& x : dataset) {
    ASSERT_EQ(x(0).item<float>(), static_cast<float>(number++));
    most = std::max(most, testing::thread_total() - threads);
  }
  EXPECT_EQ(number, 40);
  EXPECT_GE(most, 1);
  set_num_threads(before);
}

TEST_F(SnapshotShards, ThatAreDamagedAreErrors) {
  const auto dataset = range(7).snapshot(folder(), {.shards = 3});
  elements_of(dataset);
  const auto load = [&] { elements_of(Dataset<std::int64_t>::load(list())); };
  const std::string one = shard(1), two = shard(2);
  // Another number of elements than the list says.
  const std::string kept = directory_.file("kept");
  fs::rename(one, kept);
  EXPECT_NE(message_of<IoError>(load).find("load: cannot open the file"), std::string::npos);
  EXPECT_THROW(dataset.begin(), IoError);
  range(3).save(one);
  EXPECT_EQ(message_of<IoError>(load),
            "load: it has 3 elements, and 2 as a shard of \"elements.elements\"\n  file: " + one);
  from_range(std::vector<std::string>{"a", "b"}).save(one);
  EXPECT_EQ(message_of<IoError>(load),
            "load: the parts of its elements are (std::string), not (int64)\n  file: " + one);
  fs::rename(kept, one);
  elements_of(dataset);
  // One that is cut off.
  fs::resize_file(two, fs::file_size(two) - 1);
  EXPECT_THROW(load(), IoError);
  EXPECT_EQ(message_of<IoError>([&] { Dataset<std::string>::load(list()); }),
            "load: the parts of its elements are (int64), not (std::string)\n  file: " + shard(0));
}

// A file says how many shards there are, and may say anything.
TEST_F(SnapshotShards, DoNotBelieveTheirList) {
  const auto read = [&](const std::vector<Tensor>& elements) {
    io::ElementWriter writer("test", list(), {"capstan.shards"});
    for (const Tensor& element : elements) {
      const io::ElementPart part = {element};
      writer.add({&part, 1});
    }
    writer.finish();
    return message_of<IoError>([&] { Dataset<std::int64_t>::load(list()); });
  };
  const auto numbers = [](const std::vector<std::int64_t>& values) { return Tensor(constant(values)); };
  const std::string wrong = "load: it is no list of shards\n  file: " + list();
  EXPECT_EQ(read({}), wrong);
  EXPECT_EQ(read({constant({1.0F, 2.0F, 3.0F})}), wrong);
  for (const std::vector<std::int64_t>& values :
       {std::vector<std::int64_t>{1, 2}, {1, 2, 3, 4}, {-1, 2, 3}, {1, 0, 3}, {1, -1, 3}, {1, 257, 3}, {1, 2, -1}}) {
    EXPECT_EQ(read({numbers(values)}), wrong);
  }
  EXPECT_EQ(read({numbers({1, 2, 3}), numbers({1, 2, 3})}), wrong);
  EXPECT_NE(read({numbers({1, 2, INT64_MAX})}).find("elements-1-0-of-2.elements"), std::string::npos);
}

}  // namespace
}  // namespace capstan
