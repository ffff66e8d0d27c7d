// The IMDB reviews and the Reuters newswires: texts as numbers of words, in Keras's archives.
//
// What is done with the numbers, and in which order, is Keras's, so that the same seed gives the same texts.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>

#include "capstan/datasets.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/datasets/numpy_shuffle.h"
#include "src/io/npy.h"
#include "src/io/to_tensor.h"
#include "src/io/zip_archive.h"

namespace capstan::datasets {

namespace {

using Words = std::vector<int>;

// Texts with their labels.
struct Texts {
  std::vector<Words> words;
  std::vector<std::int64_t> labels;

  void append(const Texts& other) {
    words.insert(words.end(), other.words.begin(), other.words.end());
    labels.insert(labels.end(), other.labels.begin(), other.labels.end());
  }
  WordData part(std::size_t first, std::size_t last) const {
    const auto begin = static_cast<std::ptrdiff_t>(first), end = static_cast<std::ptrdiff_t>(last);
    return {{words.begin() + begin, words.begin() + end},
            constant(std::span(labels).subspan(first, last - first), Shape{static_cast<std::int64_t>(last - first)})};
  }
};

class WordArchive {
 public:
  WordArchive(const char* reader, const std::string& path)
      : reader_(reader), path_(path), archive_(reader, path, "give Keras's archive of this data set") {}

  Texts read(const std::string& words, const std::string& labels) {
    Texts texts{io::read_npy_lists(*open(words)), {}};
    const std::unique_ptr<io::ByteSource> source = open(labels);
    const io::RawArray array = io::read_npy(*source);
    const bool is_integer = array.type == io::ElementType::kInt64 || array.type == io::ElementType::kInt32 ||
                            array.type == io::ElementType::kUint8;
    if (!is_integer || array.shape.size() != 1) {
      source->fail("the labels are " + array.description() + ", expected int64[n]");
    }
    texts.labels = cast(io::to_tensor(reader_, array, path_), int64).to_vector<std::int64_t>();
    if (texts.labels.size() != texts.words.size()) {
      source->fail("there are " + std::to_string(texts.labels.size()) + " labels for " +
                   std::to_string(texts.words.size()) + " texts");
    }
    return texts;
  }
  void check_headers() { archive_.check_headers(); }

 private:
  std::unique_ptr<io::ByteSource> open(const std::string& name) {
    const std::vector<std::string>& names = archive_.names();
    const auto found = std::find(names.begin(), names.end(), name + ".npy");
    if (found == names.end()) io::fail_file(reader_, "the archive lacks \"" + name + "\"", path_);
    return archive_.open(static_cast<std::size_t>(found - names.begin()));
  }

  const char* reader_;
  std::string path_;
  io::ZipArchive archive_;
};

Texts shuffled(Texts texts, std::mt19937& words) {
  std::vector<std::size_t> order(texts.words.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  detail::numpy_shuffle(order, words);
  Texts result;
  for (const std::size_t i : order) {
    result.words.push_back(std::move(texts.words[i]));
    result.labels.push_back(texts.labels[i]);
  }
  return result;
}

int moved(const char* reader, std::int64_t word, std::int64_t by) {
  const std::int64_t result = word + by;
  CAPSTAN_CHECK(result == static_cast<int>(result), ValueError, reader, ": word ", word, " and index_from ", by,
                " do not fit 32 bits");
  return static_cast<int>(result);
}

// Numbers from `index_from` on, after the sign of the beginning; without texts that are too long.
Texts numbered(const char* reader, const Texts& texts, const WordOptions& options) {
  Texts result;
  for (std::size_t i = 0; i < texts.words.size(); ++i) {
    Words words;
    if (options.start_char) words.push_back(*options.start_char);
    for (const int word : texts.words[i]) words.push_back(moved(reader, word, options.index_from));
    if (options.maxlen.value_or(0) > 0 && static_cast<std::int64_t>(words.size()) >= *options.maxlen) continue;
    result.words.push_back(std::move(words));
    result.labels.push_back(texts.labels[i]);
  }
  CAPSTAN_CHECK(!result.words.empty() || texts.words.empty(), ValueError, reader, ": no text is shorter than maxlen ",
                options.maxlen.value_or(0));
  return result;
}

// Words that are too rare or too frequent give way.
void leave_out(Texts& texts, const WordOptions& options) {
  std::int64_t end = options.num_words.value_or(0);
  if (end == 0) {
    for (const Words& words : texts.words) {
      for (const int word : words) end = std::max<std::int64_t>(end, word);
    }
  }
  const auto is_left_out = [&](int word) { return word < options.skip_top || word >= end; };
  for (Words& words : texts.words) {
    if (options.oov_char) {
      std::replace_if(words.begin(), words.end(), is_left_out, *options.oov_char);
    } else {
      words.erase(std::remove_if(words.begin(), words.end(), is_left_out), words.end());
    }
  }
}

void check_options(const char* reader, const WordOptions& options) {
  CAPSTAN_CHECK(options.num_words.value_or(0) >= 0 && options.maxlen.value_or(0) >= 0, ValueError, reader,
                ": num_words and maxlen must not be negative, but are ", options.num_words.value_or(0), " and ",
                options.maxlen.value_or(0));
}

}  // namespace

std::pair<WordData, WordData> imdb::load_data(const std::string& path, const WordOptions& options) {
  constexpr const char* kReader = "imdb";
  check_options(kReader, options);
  WordArchive archive(kReader, path);
  Texts train = archive.read("x_train", "y_train"), test = archive.read("x_test", "y_test");
  archive.check_headers();
  std::mt19937 words(options.seed);
  train = shuffled(std::move(train), words);
  test = shuffled(std::move(test), words);
  Texts all = numbered(kReader, train, options);
  const std::size_t divide = all.words.size();
  all.append(numbered(kReader, test, options));
  leave_out(all, options);
  return {all.part(0, divide), all.part(divide, all.words.size())};
}

std::pair<WordData, WordData> reuters::load_data(const std::string& path, const WordOptions& options,
                                                 double test_split) {
  constexpr const char* kReader = "reuters";
  check_options(kReader, options);
  CAPSTAN_CHECK(test_split >= 0 && test_split <= 1, ValueError, "reuters: test_split must be from 0 to 1, not ",
                test_split);
  WordArchive archive(kReader, path);
  Texts all = archive.read("x", "y");
  archive.check_headers();
  std::mt19937 words(options.seed);
  all = numbered(kReader, shuffled(std::move(all), words), options);
  leave_out(all, options);
  const auto divide = static_cast<std::size_t>(static_cast<double>(all.words.size()) * (1 - test_split));
  return {all.part(0, divide), all.part(divide, all.words.size())};
}

}  // namespace capstan::datasets
