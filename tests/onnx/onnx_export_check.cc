// Files of exported functions and models for other runtimes, with inputs and what Capstan gives:
//
//     onnx_export_check FOLDER
//
// tests/interop/onnx_export.py runs them in onnxruntime. For each NAME.onnx there are NAME.npz, or several with another
// length of what is open, with x0, x1, ... and y0, y1, ... in the order of the file's inputs and outputs.
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/onnx/export_cases.h"
#include "tests/op_samples/sample_calls.h"

namespace capstan {
namespace {

void write_arrays(const std::string& path, const std::vector<Tensor>& x, const std::vector<Tensor>& y) {
  std::map<std::string, Tensor> arrays;
  for (std::size_t i = 0; i < x.size(); ++i) arrays.emplace("x" + std::to_string(i), x[i]);
  for (std::size_t i = 0; i < y.size(); ++i) arrays.emplace("y" + std::to_string(i), y[i]);
  io::save_npz(path, arrays);
}

void write_ops(const std::filesystem::path& folder, std::int64_t opset) {
  std::filesystem::create_directories(folder);
  int written = 0, refused = 0;
  for (const OpInfo& info : list_ops()) {
    for (const testing::SampleCall& one : testing::sample_calls(info.name)) {
      const std::string path = (folder / one.name).string();
      std::vector<TensorSpec> specs;
      for (const Tensor& x : one.inputs) specs.emplace_back(x.shape(), x.dtype());
      try {
        save_onnx(path + ".onnx", [&](const std::vector<Tensor>& x) { return one.run(x); },
                  {.inputs = specs, .opset = opset});
        write_arrays(path + ".npz", one.inputs, one.run(one.inputs));
        ++written;
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  std::printf("opset %d: wrote %d samples of ops, %d cannot be exported\n", static_cast<int>(opset), written, refused);
}

void write_cases(const std::filesystem::path& folder) {
  for (const testing::ExportCase& one : testing::export_cases()) {
    const std::string path = (folder / one.name).string();
    one.save(path + ".onnx");
    int number = 0;
    for (const std::vector<Tensor>& x : one.inputs) {
      write_arrays(path + (number == 0 ? "" : "." + std::to_string(number)) + ".npz", x, one.run(x));
      ++number;
    }
    std::printf("wrote %s\n", one.name.c_str());
  }
  const Model resnet = applications::ResNet50({.weights = ""});
  const Tensor x = random::uniform({2, 224, 224, 3}, -1, 1, float32, 3);
  save_onnx((folder / "resnet50.onnx").string(), resnet, {.dynamic_batch = true});
  write_arrays((folder / "resnet50.npz").string(), {x}, {resnet(x)});
  std::printf("wrote resnet50\n");
}

}  // namespace
}  // namespace capstan

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "onnx_export_check FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  std::filesystem::create_directories(folder / "models");
  capstan::write_ops(folder / "ops_18", 18);
  capstan::write_ops(folder / "ops_24", 24);
  capstan::write_cases(folder / "models");
  return 0;
}
