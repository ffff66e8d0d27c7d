#include "options.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace mnist {

namespace {

constexpr const char* kHelp =
    "Trains the convolutional network of the MNIST tutorial with a custom loop and a gradient tape.\n"
    "\n"
    "  --data DIR         train on the real digits in DIR (IDX files, plain or gzipped, or mnist.npz);\n"
    "                     without it the program draws digits itself\n"
    "  --epochs N         passes over the training digits (5)\n"
    "  --seed N           seed of weights, dropout and drawn digits (1)\n"
    "  --threads N        threads (all cores)\n"
    "  --literal          the tutorial's loop to the letter: the model is called without `training`\n"
    "  --eager            steps run as plain code instead of as functions\n"
    "  --train-digits N   how many digits are drawn for training (60000)\n"
    "  --test-digits N    how many digits are drawn for the test (10000)\n"
    "  --picture FILE     where the worst mistakes are drawn (mnist_mistakes.png)\n"
    "  --help             this text\n";

// Reads a whole number, or says what is wrong.
template <class Integer>
bool read_number(const char* key, std::string_view text, Integer low, Integer high, Integer* number) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    std::fprintf(stderr, "mnist: %s must be a whole number from %s to %s, not \"%.*s\"\n", key,
                 std::to_string(low).c_str(), std::to_string(high).c_str(), static_cast<int>(text.size()), text.data());
    return false;
  }
  *number = value;
  return true;
}

// After an hour of training it is too late to find out.
bool can_be_written(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) {
    std::fprintf(stderr, "mnist: --picture: %s cannot be written, %s\n", path.c_str(), std::strerror(errno));
    return false;
  }
  // An empty file is what was just made.
  const bool made = std::fseek(file, 0, SEEK_END) == 0 && std::ftell(file) == 0;
  std::fclose(file);
  if (made) std::remove(path.c_str());
  return true;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int* exit_code) {
  Options options;
  *exit_code = 2;
  for (int i = 1; i < argc; ++i) {
    const std::string_view key = argv[i];
    if (key == "--help" || key == "-h") {
      std::fputs(kHelp, stdout);
      *exit_code = 0;
      return std::nullopt;
    }
    if (key == "--literal") {
      options.literal = true;
      continue;
    }
    if (key == "--eager") {
      options.eager = true;
      continue;
    }
    const bool is_known = key == "--data" || key == "--epochs" || key == "--seed" || key == "--threads" ||
                          key == "--train-digits" || key == "--test-digits" || key == "--picture";
    if (!is_known) {
      const bool is_word = !key.starts_with("-");
      std::fprintf(
          stderr, "mnist: there is no option %s\n  help: %s\n", argv[i],
          is_word ? "options begin with --, as in --data DIR; mnist --help lists them" : "mnist --help lists them");
      return std::nullopt;
    }
    if (i + 1 == argc) {
      std::fprintf(stderr, "mnist: %s needs a value\n", argv[i]);
      return std::nullopt;
    }
    const std::string_view value = argv[++i];
    bool good = true;
    if (key == "--data") options.data = value;
    if (key == "--picture") options.picture = value;
    if (key == "--epochs") good = read_number(argv[i - 1], value, 0, 100000, &options.epochs);
    if (key == "--seed") good = read_number<std::uint64_t>(argv[i - 1], value, 0, UINT64_MAX, &options.seed);
    if (key == "--threads") good = read_number(argv[i - 1], value, 1, 4096, &options.threads);
    if (key == "--train-digits")
      good = read_number<std::int64_t>(argv[i - 1], value, 64, 10000000, &options.train_digits);
    if (key == "--test-digits") good = read_number<std::int64_t>(argv[i - 1], value, 1, 10000000, &options.test_digits);
    if (!good) return std::nullopt;
  }
  if (!can_be_written(options.picture)) return std::nullopt;
  return options;
}

}  // namespace mnist
