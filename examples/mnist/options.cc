#include "options.h"

#include <charconv>
#include <cstdio>
#include <cstring>
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
    "  --train-digits N   how many digits are drawn for training (60000)\n"
    "  --test-digits N    how many digits are drawn for the test (10000)\n"
    "  --picture FILE     where the worst mistakes are drawn (mnist_mistakes.png)\n"
    "  --help             this text\n";

template <class Integer>
bool read_number(std::string_view text, Integer low, Integer high, Integer* number) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) return false;
  *number = value;
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
    const bool known = key == "--data" || key == "--epochs" || key == "--seed" || key == "--threads" ||
                       key == "--train-digits" || key == "--test-digits" || key == "--picture";
    if (!known) {
      std::fprintf(stderr, "mnist: there is no option %s\n  help: mnist --help lists them\n", argv[i]);
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
    if (key == "--epochs") good = read_number(value, 0, 100000, &options.epochs);
    if (key == "--seed") good = read_number<std::uint64_t>(value, 0, UINT64_MAX, &options.seed);
    if (key == "--threads") good = read_number(value, 1, 4096, &options.threads);
    if (key == "--train-digits") good = read_number<std::int64_t>(value, 64, 10000000, &options.train_digits);
    if (key == "--test-digits") good = read_number<std::int64_t>(value, 1, 10000000, &options.test_digits);
    if (!good) {
      std::fprintf(stderr, "mnist: %s cannot be \"%s\"\n", argv[i - 1], argv[i]);
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace mnist
