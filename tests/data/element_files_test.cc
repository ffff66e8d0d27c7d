// Elements in files: caches, snapshots, saved datasets.
#include <gtest/gtest.h>

#include <iterator>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/data/elements.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan {

// Of a type that only can be copied.
struct Unwritable {
  int value = 0;
};

namespace {

namespace fs = std::filesystem;
using datasets::range;
using testing::elements_of;
using testing::message_of;
using testing::rest_of;
using testing::squared;
using testing::Words;

class ElementFiles : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "file") const { return directory_.file(name); }
  std::size_t files() const { return static_cast<std::size_t>(testing::entries_in(directory_.path())); }
  // Saved and loaded, elements are what they were.
  template <class... Ts>
  void expect_the_same(const Dataset<Ts...>& dataset) {
    dataset.save(path("same"));
    const auto loaded = Dataset<Ts...>::load(path("same"));
    const Words want = elements_of(dataset);
    EXPECT_EQ(elements_of(loaded), want);
    EXPECT_EQ(loaded.size(), static_cast<std::int64_t>(want.size()));
  }

  io::TemporaryDirectory directory_;
};

TEST_F(ElementFiles, HoldElementsOfEveryType) {
  expect_the_same(range(1000));
  expect_the_same(range(0));
  expect_the_same(from_tensor_slices(constant({{1.5F, 2.0F}, {3.0F, 4.0F}}), Texts{"a", "b"}).enumerate());
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    expect_the_same(from_tensors(ones({2, 3}, dtype), zeros({}, dtype), zeros({0, 4}, dtype)));
  }
  expect_the_same(from_tensors(Texts("scalar"), Texts{"a", ""},
                               Texts(std::vector<std::vector<std::string>>{{"r"}, {}, {"s", "t"}})));
  expect_the_same(from_tensor_slices(std::map<std::string, Tensor>{{"a", constant({1, 2})}, {"b", ones({2, 2})}}));
  // Larger than a block.
  expect_the_same(range(4).map([](auto n) { return fill({30000 + n}, static_cast<double>(n)); }));
  expect_the_same(range(4).map([](auto n) { return std::string(static_cast<std::size_t>(n) * 50000, 'x'); }));
  EXPECT_EQ(files(), 1U);
}

TEST_F(ElementFiles, HoldStructuresAndNumbers) {
  const auto lists = range(3).map([](auto n) { return std::vector<Tensor>(static_cast<std::size_t>(n), ones({2})); });
  lists.save(path());
  std::size_t n = 0;
  for (const std::vector<Tensor>& list : Dataset<std::vector<Tensor>>::load(path())) EXPECT_EQ(list.size(), n++);
  EXPECT_EQ(n, 3U);
  const auto floats = from_range(std::vector<float>{0.5F, 1.5F});
  floats.save(path());
  float sum = 0;
  for (const float x : Dataset<float>::load(path())) sum += x;
  EXPECT_EQ(sum, 2.0F);
  // A number is a scalar.
  for (const Tensor& x : Dataset<Tensor>::load(path())) EXPECT_EQ(x.dtype(), float32);
  from_tensor_slices(constant({1, 2})).save(path());
  std::int32_t total = 0;
  for (const std::int32_t x : Dataset<std::int32_t>::load(path())) total += x;
  EXPECT_EQ(total, 3);
}

TEST_F(ElementFiles, AreReadAfterTheFirstWholePass) {
  std::atomic<int> calls = 0;
  const auto counted = [&calls](std::int64_t x) {
    ++calls;
    return x * x;
  };
  const Words want = elements_of(range(5).map(squared));
  const auto cached = range(5).map(counted).cache(path());
  EXPECT_EQ(cached.size(), 5);
  cached.begin();  // which reads nothing
  EXPECT_EQ(files(), 0U);
  {
    auto iterator = cached.begin();
    iterator.next();
    EXPECT_FALSE(fs::exists(path()));
    EXPECT_EQ(files(), 1U);  // the draft
  }
  EXPECT_EQ(files(), 0U);
  EXPECT_EQ(elements_of(cached.take(2)).size(), 2U);
  EXPECT_EQ(files(), 0U);
  calls = 0;
  EXPECT_EQ(elements_of(cached), want);
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(elements_of(cached), want);
  EXPECT_EQ(elements_of(cached.repeat(2)).size(), 10U);
  EXPECT_EQ(calls, 5);
  // By another pipeline, too, whatever its input.
  EXPECT_EQ(elements_of(range(2).cache(path())), want);
  EXPECT_EQ(elements_of(Dataset<std::int64_t>::load(path())), want);
}

TEST_F(ElementFiles, KeepTheOrderOfTheFirstPass) {
  const auto cached = range(20).shuffle(20).cache(path());
  const Words first = elements_of(cached);
  EXPECT_EQ(elements_of(cached), first);
  // A pass that is read draws no seeds.
  const auto memory = range(20).shuffle(20, {.seed = 3}).cache().concatenate(range(3));
  const auto file = range(20).shuffle(20, {.seed = 3}).cache(path("other")).concatenate(range(3));
  for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(elements_of(file), elements_of(memory));
}

TEST_F(ElementFiles, OfEmptyDatasets) {
  const auto cached = range(0).cache(path());
  EXPECT_EQ(elements_of(cached), Words());
  EXPECT_TRUE(fs::exists(path()));
  EXPECT_EQ(elements_of(cached), Words());
  EXPECT_EQ(Dataset<std::int64_t>::load(path()).size(), 0);
}

TEST_F(ElementFiles, AreNotMadeByPassesWithErrors) {
  std::atomic<bool> fails = true;
  const auto cached = range(4)
                          .map([&](std::int64_t x) {
                            if (x == 2 && fails) throw ValueError("two");
                            return x;
                          })
                          .cache(path());
  const Words words = elements_of(cached);
  ASSERT_EQ(words.size(), 4U);
  EXPECT_EQ(words[2], "error: two\n  map: element 2");
  EXPECT_EQ(words[3], "3");
  EXPECT_EQ(files(), 0U);
  fails = false;
  EXPECT_EQ(elements_of(cached), elements_of(range(4)));
  EXPECT_EQ(files(), 1U);
}

TEST_F(ElementFiles, OfSnapshotsLieInAFolder) {
  const std::string folder = path("a/b");
  const auto snapshot = range(4).map(squared).snapshot(folder, {.key = "squares-1"});
  EXPECT_EQ(elements_of(snapshot), elements_of(range(4).map(squared)));
  EXPECT_TRUE(fs::exists(folder + "/squares-1.elements"));
  EXPECT_EQ(elements_of(range(9).snapshot(folder, {.key = "squares-1"})), elements_of(snapshot));
  EXPECT_EQ(elements_of(range(9).snapshot(folder)).size(), 9U);
  for (const char* key : {"", "../x", "a/b", ".x"}) {
    EXPECT_EQ(message_of<ValueError>([&] { range(9).snapshot(folder, {.key = key}); }),
              "snapshot: the key is \"" + std::string(key) +
                  "\", which is no name of a file\n  help: letters, digits, '-', '_' and '.' make one");
  }
}

// At every place of a pass, of one that writes and of one that reads: what another iterator gives after it took over,
// and later passes.
TEST_F(ElementFiles, HavePositionsAtEveryElement) {
  int number = 0;
  const auto make = [&](const std::string& name) {
    return range(5).shuffle(5, {.seed = 1}).map(squared).cache(path(name)).repeat(3);
  };
  const std::size_t count = elements_of(make("count")).size();
  ASSERT_EQ(count, 15U);
  for (std::size_t cut = 0; cut <= count; ++cut) {
    SCOPED_TRACE(cut);
    const std::string name = std::to_string(number++);
    const auto dataset = make(name);
    auto iterator = dataset.begin();
    for (std::size_t i = 0; i < cut; ++i) ASSERT_TRUE(iterator.next().has_value());
    const DatasetPosition position = iterator.save();
    const auto another = make(name);
    auto restored = another.begin();
    if (cut % 2 == 1) restored.next();
    restored.restore(position);
    const DatasetPosition again = restored.save();
    EXPECT_EQ(again.size(), position.size());
    const Words rest = rest_of(restored);
    EXPECT_EQ(rest.size(), count - cut);
    EXPECT_EQ(rest_of(iterator), rest);
    EXPECT_EQ(elements_of(another), elements_of(dataset));
    auto third = make(name).begin();
    third.restore(again);
    EXPECT_EQ(rest_of(third), rest);
    auto fourth = make(name).begin();
    fourth.restore(position);
    EXPECT_EQ(rest_of(fourth), rest);
  }
}

TEST_F(ElementFiles, GoOnWhereAPositionStoodInAnotherProcess) {
  const auto make = [&] { return range(50000).shuffle(50000, {.seed = 1}).cache(path()); };
  DatasetPosition position;
  Words first;
  {
    const auto dataset = make();
    auto iterator = dataset.begin();
    for (int i = 0; i < 30000; ++i) first.push_back(testing::text_of(*iterator.next()));
    position = iterator.save();
  }
  EXPECT_EQ(files(), 1U);  // what was written stays
  const auto dataset = make();
  auto iterator = dataset.begin();
  iterator.restore(position);
  for (const std::string& text : rest_of(iterator)) first.push_back(text);
  EXPECT_EQ(files(), 1U);
  ASSERT_TRUE(fs::exists(path()));
  EXPECT_EQ(elements_of(dataset), first);
  // Where it is gone, the pass goes on without it.
  fs::remove(path());
  iterator = make().begin();
  for (int i = 0; i < 3; ++i) iterator.next();
  position = iterator.save();
  for (const auto& entry : fs::directory_iterator(directory_.path())) fs::remove(entry);
  auto restored = make().begin();
  restored.restore(position);
  EXPECT_EQ(rest_of(restored).size(), 49997U);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(ElementFiles, HavePositionsOfLoadedDatasets) {
  range(30000).save(path());
  const auto loaded = Dataset<std::int64_t>::load(path());
  for (const std::int64_t cut : {0, 1, 9999, 29999, 30000}) {
    auto iterator = loaded.begin();
    for (std::int64_t i = 0; i < cut; ++i) iterator.next();
    auto restored = Dataset<std::int64_t>::load(path()).begin();
    restored.restore(iterator.save());
    EXPECT_EQ(rest_of(restored).size(), static_cast<std::size_t>(30000 - cut));
  }
  auto iterator = loaded.begin();
  iterator.next();
  DatasetPosition position = iterator.save();
  position.at("load/at") = cast(constant(30001), int64);
  EXPECT_EQ(message_of<ValueError>([&] { loaded.begin().restore(position); }),
            "restore: \"load/at\" does not fit this pipeline\n  help: the position belongs to another pipeline");
}

TEST_F(ElementFiles, ServePassesOnSeveralThreads) {
  const auto dataset = range(5000).cache(path()).prefetch(2);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::int64_t> sums(4);
    std::vector<std::thread> threads;
    for (std::int64_t& sum : sums) {
      threads.emplace_back([&sum, &dataset] {
        for (const std::int64_t x : dataset) sum += x;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::int64_t sum : sums) EXPECT_EQ(sum, 5000 * 4999 / 2);
    EXPECT_EQ(files(), 1U);
  }
}

TEST_F(ElementFiles, OfOtherTypesAreErrors) {
  from_tensor_slices(constant({1.5, 2.0}), Texts{"a", "b"}).save(path());
  EXPECT_EQ(message_of<IoError>([&] { Dataset<Tensor>::load(path()); }),
            "load: the parts of its elements are (Tensor, std::string), not (Tensor)\n  file: " + path());
  EXPECT_EQ((message_of<IoError>([&] { Dataset<std::string, Tensor>::load(path()); })),
            "load: the parts of its elements are (Tensor, std::string), not (std::string, Tensor)\n  file: " + path());
  EXPECT_EQ(message_of<IoError>([&] { range(3).cache(path()).begin(); }),
            "cache: the parts of its elements are (Tensor, std::string), not (int64)\n  file: " + path());
  EXPECT_NE(message_of<IoError>([&] { Dataset<Tensor>::load(path("none")); }).find("cannot open the file"),
            std::string::npos);
  // What is no number of the type that is asked for.
  from_tensor_slices(constant({1.5F, 2.0F})).save(path());
  EXPECT_EQ(elements_of(Dataset<std::int64_t>::load(path()))[0].substr(0, 42),
            "error: load: element 0: part 0 is no int64");
  from_tensors(Tensor(constant({1.5F, 2.0F}))).save(path());
  EXPECT_NE(message_of<IoError>([&] { Dataset<float>::load(path()).begin().next(); }).find("part 0 is no float32"),
            std::string::npos);
  EXPECT_EQ(message_of<ValueError>([&] { range(3).map([](auto) { return Unwritable(); }).cache(path()); }),
            "cache: elements of capstan::Unwritable cannot be written\n  help: specialise DatasetTraits for this type, "
            "with save() and restore()");
  EXPECT_EQ(message_of<ValueError>([&] { range(3).cache(""); }),
            "cache: the path is empty\n  help: cache() without one is in memory");
  EXPECT_EQ(message_of<ValueError>([&] { range(3).repeat().save(path()); }),
            "save: the dataset is infinite\n  help: take() gives a finite one");
}

TEST_F(ElementFiles, ThatCannotBeWrittenAreErrorsThatChangeNothing) {
  const std::string missing = path("no/such/file");
  EXPECT_NE(message_of<IoError>([&] { range(3).save(missing); }).find("save: cannot write the file"),
            std::string::npos);
  // The pass goes on without it.
  const Words words = elements_of(range(3).cache(missing));
  ASSERT_EQ(words.size(), 3U);
  EXPECT_NE(words[0].find("cache: cannot write the file"), std::string::npos) << words[0];
  EXPECT_EQ(words[2], "2");
  range(4).save(path());
  const auto failing = range(9).map([](std::int64_t x) {
    if (x == 5) throw ValueError("five");
    return x;
  });
  EXPECT_THROW(failing.save(path()), ValueError);
  EXPECT_EQ(Dataset<std::int64_t>::load(path()).size(), 4);
  EXPECT_EQ(files(), 1U);
}

// Every byte of a small file changed, and every length.
TEST_F(ElementFiles, ThatAreDamagedAreErrors) {
  range(3).map([](auto n) { return std::pair(std::string("ab"), n); }).save(path());
  std::ifstream in(path(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto read = [&](const std::string& content) {
    return message_of<IoError>([&] {
      directory_.write("file", content);
      for ([[maybe_unused]] const auto& element : Dataset<std::string, std::int64_t>::load(path())) {
      }
    });
  };
  EXPECT_EQ(read(bytes), "nothing was thrown");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    SCOPED_TRACE(at);
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_NE(read(changed).find("file: " + path()), std::string::npos);
    EXPECT_NE(read(bytes.substr(0, at)).find("file: " + path()), std::string::npos);
  }
  EXPECT_NE(read(bytes + "x").find("file: " + path()), std::string::npos);
  EXPECT_EQ(read(bytes.substr(0, bytes.size() - 1)),
            "load: the file has no end, so it is cut off or damaged\n  file: " + path() +
                "\n  help: the copy is incomplete or damaged; fetch the file again");
  EXPECT_EQ(read("some text that is longer than the frame of one record"),
            "load: the checksum of the length of the record at byte 0 differs\n  file: " + path() +
                "\n  help: is this a file that cache(), save() or snapshot() of a dataset wrote?");
  // A cache that is damaged is not written over.
  const std::string text = "a text of the user that happens to have this name, and is no file of elements";
  directory_.write("file", text);
  EXPECT_THROW(range(3).cache(path()).begin(), IoError);
  EXPECT_EQ(fs::file_size(path()), text.size());
}

TEST_F(ElementFiles, DoNotBelieveADraftOfAPosition) {
  const auto make = [&] { return range(6).cache(path()); };
  auto iterator = make().begin();
  for (int i = 0; i < 3; ++i) iterator.next();
  const DatasetPosition position = iterator.save();
  for (const std::vector<std::int64_t>& draft :
       {std::vector<std::int64_t>{1}, {1, 2, 3}, {-1, 3}, {1, 3}, {INT64_MAX, 3}, {1, INT64_MAX}}) {
    testing::expect_no_belief_in(draft, "cache/draft", position, path(), make);
  }
}

}  // namespace
}  // namespace capstan
