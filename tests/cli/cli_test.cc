// The program `capstan`: what it prints, its exit status, and the pages that tell of it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "capstan/capstan.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

struct Result {
  int status;
  std::string text;  // of both streams
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Result run(const std::string& arguments) {
  const std::string command = std::string(CAPSTAN_BINARY_DIR) + "/capstan " + arguments + " 2>&1";
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::string text;
  for (int letter; (letter = std::fgetc(pipe)) != EOF;) text += static_cast<char>(letter);
  const int status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

class CommandLine : public ::testing::Test {
 protected:
  CommandLine() {
    io::save_safetensors(path("a.safetensors"), {{"layer.kernel", constant({{1.0f, -2.0f}, {3.0f, 4.0f}})},
                                                 {"layer.bias", constant({0.0f, NAN})},
                                                 {"count", constant({1, 2, 3})}});
  }
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  io::TemporaryDirectory directory_;
};

TEST_F(CommandLine, InspectShowsWhatIsThere) {
  const Result plain = run("inspect " + path("a.safetensors"));
  EXPECT_EQ(plain.status, 0) << plain.text;
  EXPECT_TRUE(has(plain.text, "safetensors, weights")) << plain.text;
  EXPECT_TRUE(std::regex_search(plain.text, std::regex("layer.kernel +float32 +\\[2, 2\\] +16\n"))) << plain.text;
  EXPECT_TRUE(has(plain.text, "3 tensors, 9 elements, 36 bytes")) << plain.text;
  const Result more = run("inspect --statistics " + path("a.safetensors"));
  EXPECT_TRUE(std::regex_search(more.text, std::regex("layer.kernel .* -2 +4 +1.5 +0\n"))) << more.text;
  EXPECT_TRUE(std::regex_search(more.text, std::regex("layer.bias .* 0 +0 +0 +1\n"))) << more.text;
}

TEST_F(CommandLine, InspectKnowsEveryFormat) {
  const std::string samples = testing::sample_path("");
  for (const std::string file : {"archives/sequential_cnn.keras", "torch/checkpoint.pt", "checkpoints/nested/ckpt-1",
                                 "checkpoints/nested/ckpt-1.index", "checkpoints/variables/values",
                                 "models/mixed_layers.weights.h5", "tfrecord/plain.tfrecord", "tfrecord/gzip.tfrecord",
                                 "tfrecord/zlib.tfrecord", "events/events.out.tfevents.1700000000.sample.1.0.v2"}) {
    const Result result = run("inspect --statistics " + samples + file);
    EXPECT_EQ(result.status, 0) << file << ": " << result.text;
  }
  EXPECT_TRUE(has(run("inspect " + samples + "tfrecord/plain.tfrecord").text, "feature id: 1 integers"));
  EXPECT_TRUE(has(run("inspect " + samples + "torch/checkpoint.pt").text, "epoch: 3"));
  EXPECT_TRUE(has(run("inspect " + samples + "tfrecord/zlib.tfrecord").text, "feature id: 1 integers"));
  EXPECT_TRUE(has(run("inspect " + samples + "torch/legacy.pt").text, "zip"));
  std::int64_t step = 7;
  Checkpoint({{"step", step}}).write(path("state"));
  EXPECT_TRUE(has(run("inspect " + path("state")).text, "checkpoint of Capstan"));
  io::save_npy(path("x.npy"), zeros({2, 3}));
  EXPECT_TRUE(has(run("inspect " + path("x.npy") + " " + path("state")).text, "[2, 3]"));
}

TEST_F(CommandLine, InspectShowsModelsFunctionsAndImages) {
  const Variable w(constant({{1.0f}, {2.0f}}), {.name = "w"});
  const auto f = [&](const Tensor& x) { return matmul(x, w); };
  save_onnx(path("f.onnx"), f, {.inputs = {TensorSpec({-1, 2}, float32, "x")}, .output_names = {"y"}});
  const Result onnx = run("inspect --statistics " + path("f.onnx"));
  EXPECT_EQ(onnx.status, 0) << onnx.text;
  EXPECT_TRUE(std::regex_search(onnx.text, std::regex("w +float32 +\\[2, 1\\] +8 +1 +2 +1.5 +0\n"))) << onnx.text;
  EXPECT_TRUE(has(onnx.text, "inputs: float32[?, 2] x\noutputs: y\n")) << onnx.text;
  EXPECT_EQ(run("convert " + path("f.onnx") + " " + path("w.npz")).status, 0);
  EXPECT_EQ(run("diff " + path("f.onnx") + " " + path("w.npz")).text, "");
  const Variable same(constant(3.0f), {.name = "w"});
  saved_model::save(path("saved"), {saved_model::entry("f", f, {TensorSpec({-1, 2}, float32, "x")}, {"y"})},
                    {.variables = {same}});
  for (const std::string file : {"saved", "saved/saved_model.capstan"}) {
    const Result saved = run("inspect " + path(file));
    EXPECT_EQ(saved.status, 0) << saved.text;
    EXPECT_TRUE(has(saved.text, "function f: float32[?, 2] x -> float32[?, 1] y\n2 tensors")) << saved.text;
  }
  io::save_png(path("i.png"), zeros({2, 3, 3}, uint8));
  io::save_jpeg(path("i.jpg"), zeros({2, 3, 3}, uint8));
  const Result images = run("inspect " + path("i.png") + " " + path("i.jpg"));
  EXPECT_TRUE(std::regex_search(images.text, std::regex("image +uint8 +\\[2, 3, 3\\] +18\n"))) << images.text;
  EXPECT_EQ(run("inspect " + path("")).status, 2);
}

TEST_F(CommandLine, ConvertKeepsEveryElement) {
  const std::string a = path("a.safetensors");
  EXPECT_EQ(run("convert " + a + " " + path("b.npz")).status, 0);
  EXPECT_EQ(run("diff " + a + " " + path("b.npz")).status, 0);
  EXPECT_EQ(run("convert " + path("b.npz") + " " + path("d.h5")).status, 0);
  EXPECT_EQ(run("diff " + a + " " + path("d.h5")).status, 0);
  EXPECT_EQ(run("convert " + path("d.h5") + " " + path("c") + " --to tensorflow").status, 0);
  EXPECT_EQ(io::load_tensorflow_checkpoint(path("c")).tensors.size(), 3U);
  // Paths of TensorFlow have another separator.
  const Result back = run("diff " + a + " " + path("c"));
  EXPECT_EQ(back.status, 1);
  EXPECT_TRUE(has(back.text, "layer/bias: only in")) << back.text;
  EXPECT_EQ(run("convert " + testing::sample_path("torch/mlp.pt") + " " + path("m.safetensors")).status, 0);
  EXPECT_EQ(run("diff " + testing::sample_path("torch/mlp.pt") + " " + path("m.safetensors")).text, "");
}

TEST_F(CommandLine, DiffSaysWhatDiffers) {
  io::save_npz(path("b.npz"), {{"layer.kernel", constant({{1.0f, -2.0f}, {3.0f, 4.25f}})},
                               {"layer.bias", constant({0.0, 1.0}, float64)},
                               {"other", constant(1)}});
  const Result result = run("diff " + path("a.safetensors") + " " + path("b.npz"));
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(has(result.text, "layer.kernel: differs by up to 0.25\n")) << result.text;
  EXPECT_TRUE(has(result.text, "layer.bias: float32[2] and float64[2]\n")) << result.text;
  EXPECT_TRUE(has(result.text, "count: only in ")) << result.text;
  EXPECT_TRUE(has(result.text, "other: only in ")) << result.text;
  EXPECT_FALSE(has(run("diff --tolerance 0.5 " + path("a.safetensors") + " " + path("b.npz")).text, "layer.kernel"));
  // NaN is what it is.
  EXPECT_EQ(run("diff " + path("a.safetensors") + " " + path("a.safetensors")).status, 0);
}

TEST_F(CommandLine, ErrorsHaveAStatusOfTheirOwn) {
  const auto error = [&](const std::string& arguments) {
    const Result result = run(arguments);
    EXPECT_EQ(result.status, 2) << arguments << ": " << result.text;
    return result.text;
  };
  EXPECT_TRUE(has(error("inspect " + path("none")), path("none")));
  std::ofstream(path("text.txt")) << "hello";
  EXPECT_TRUE(has(error("inspect " + path("text.txt")), "no format that is known"));
  const std::string bytes = io::content_of(path("a.safetensors"));
  std::ofstream(path("cut.safetensors"), std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  EXPECT_TRUE(has(error("inspect " + path("cut.safetensors")), "cut.safetensors"));
  EXPECT_TRUE(has(error("convert " + path("a.safetensors") + " " + path("b.xyz")), "names no format"));
  EXPECT_TRUE(has(error("convert " + path("a.safetensors") + " " + path("b") + " --to torch"), "\"torch\""));
  EXPECT_TRUE(has(error("convert " + path("a.safetensors") + " " + path("b.npy")), "there are 3"));
  EXPECT_TRUE(has(error("convert " + path("a.safetensors") + " /nowhere/b.npz"), "/nowhere/b.npz"));
  EXPECT_FALSE(std::filesystem::exists(path("b.npy")));
  EXPECT_TRUE(has(error(""), "subcommand"));
  EXPECT_TRUE(has(error("remove x"), "subcommand"));
  EXPECT_TRUE(has(error("diff a"), "SECOND"));
  EXPECT_TRUE(has(error("diff a b --tolerance -1"), "-1"));
  EXPECT_TRUE(has(error("inspect --all x"), "--all"));
}

TEST_F(CommandLine, RunGivesWhatTheModelGives) {
  save_onnx(path("f.onnx"),
            [](const Tensor& a, const Tensor& b) {
              return std::vector<Tensor>{a + b, a * b};
            },
            {.inputs = {TensorSpec({-1, 2}, float32, "a"), TensorSpec({2}, float32, "b")},
             .output_names = {"sum", "product"}});
  const Tensor a = constant({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}}), b = constant({10.0f, 100.0f});
  io::save_npy(path("a.npy"), a);
  io::save_npy(path("b.npy"), b);
  const Result shown = run("run " + path("f.onnx"));
  EXPECT_EQ(shown.status, 0) << shown.text;
  EXPECT_TRUE(has(shown.text, "input a: float32[?, 2]\ninput b: float32[2]\noutput sum\n")) << shown.text;
  const std::string run_it = "run " + path("f.onnx") + " --input " + path("a.npy") + " --input b=" + path("b.npy");
  const Result plain = run(run_it);
  EXPECT_EQ(plain.status, 0) << plain.text;
  EXPECT_TRUE(std::regex_search(plain.text,
                                std::regex("sum +float32 +\\[3, 2\\] +11 +106 +58.5 +0 +11, 102, 13, 104, 15, ...\n")))
      << plain.text;
  EXPECT_EQ(run(run_it + " --output " + path("y.npz")).status, 0);
  const io::NamedArrays arrays = io::load_npz(path("y.npz"));
  EXPECT_TRUE(reduce_all(equal(arrays.at("sum"), a + b)).item<bool>());
  EXPECT_TRUE(reduce_all(equal(arrays.at("product"), a * b)).item<bool>());
  // The model may stand last.
  const Result last = run("run --input " + path("a.npy") + " --input " + path("b.npy") + " " + path("f.onnx"));
  EXPECT_EQ(last.text, plain.text);
  // Inputs by their names, and outputs in a directory.
  io::save_npz(path("x.npz"), {{"b", b}, {"a", a}});
  const Result files = run("run " + path("f.onnx") + " --input " + path("x.npz") + " --output " + path("out/here"));
  EXPECT_EQ(files.status, 0) << files.text;
  EXPECT_TRUE(reduce_all(equal(io::load_npy(path("out/here/product.npy")), a * b)).item<bool>());
}

TEST_F(CommandLine, RunSaysWhatIsWrongWithItsArguments) {
  save_onnx(path("f.onnx"),
            [](const Tensor& a) {
              return std::vector<Tensor>{a, a + 1};
            },
            {.inputs = {TensorSpec({-1, 2}, float32, "a")}});
  io::save_npy(path("a.npy"), zeros({3, 2}));
  io::save_npy(path("long.npy"), zeros({3, 4}));
  const auto error = [&](const std::string& arguments) {
    const Result result = run("run " + path("f.onnx") + " " + arguments);
    EXPECT_EQ(result.status, 2) << arguments << ": " << result.text;
    return result.text;
  };
  const std::string input = "--input " + path("a.npy");
  EXPECT_TRUE(has(error("--input b=" + path("a.npy")), "the model has no input \"b\""));
  EXPECT_TRUE(has(error(input + " " + input), "there is no input for"));
  EXPECT_TRUE(has(error("--input a=" + path("a.npy") + " --input a=" + path("a.npy")), "\"a\" is given twice"));
  EXPECT_TRUE(has(error("--output " + path("y.npz")), "there are no arrays for the inputs"));
  EXPECT_TRUE(has(error(input + " --output " + path("y.npy")), "but the model gives 2"));
  EXPECT_TRUE(has(error("--input " + path("long.npy")), "float32[3, 4], but should be float32[?, 2]"));
  EXPECT_TRUE(has(error("--input " + path("none.npy")), "none.npy"));
  EXPECT_TRUE(has(error(input + " --output " + path("a.npy/out")), "cannot make the directory"));
  EXPECT_EQ(run("run " + path("none.onnx")).status, 2);
  EXPECT_FALSE(std::filesystem::exists(path("y.npy")));
  EXPECT_FALSE(std::filesystem::exists(path("y.npz")));
}

TEST_F(CommandLine, NamesFromFilesAreShownSafely) {
  io::save_safetensors(path("odd.safetensors"), {{"a\x1b[31m\nb", constant(1.0f)}});
  const std::string text = run("inspect " + path("odd.safetensors")).text;
  EXPECT_TRUE(has(text, "a?[31m?b")) << text;
}

// What --help names, the page and the completions name, too.
TEST(CommandLinePages, TellOfEveryCommandAndOption) {
  const std::string folder = std::string(CAPSTAN_SOURCE_DIR) + "/src/cli/";
  std::string page = io::content_of(folder + "capstan.1");
  page = std::regex_replace(page, std::regex(R"(\\-)"), "-");
  const std::string bash = io::content_of(folder + "capstan.bash"), zsh = io::content_of(folder + "_capstan");
  const std::string help = run("--help").text;
  for (const std::string command : {"inspect", "convert", "diff", "run"}) {
    EXPECT_TRUE(has(help, command));
    for (const std::string& text : {page, bash, zsh}) EXPECT_TRUE(has(text, command)) << command;
    const std::string its_help = run(command + " --help").text;
    static const std::regex option("--[a-z]+");
    for (std::sregex_iterator it(its_help.begin(), its_help.end(), option), end; it != end; ++it) {
      for (const std::string& text : {page, bash, zsh}) EXPECT_TRUE(has(text, it->str())) << it->str();
    }
  }
  for (const std::string format :
       {"safetensors", "npz", "npy", "tensorflow", "keras", "torch", "checkpoint", "tfrecord", "idx"}) {
    EXPECT_TRUE(has(help, "  " + format)) << help;
    EXPECT_TRUE(has(page, format)) << format;
  }
  EXPECT_TRUE(has(run("--version").text, "capstan 0."));
}

}  // namespace
}  // namespace capstan
