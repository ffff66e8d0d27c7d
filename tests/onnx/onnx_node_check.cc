// Runs the tests of a folder (tools/onnx_node_tests.py writes them): a model in each folder, and its tensors beside it.
//
// One line for each test: "passed", "not supported" or "failed", the name, and why, with tabs between. A test is "not
// supported" if the reader or an op says so; anything else that does not give the numbers is "failed".
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/onnx.h"

#include "src/onnx/proto.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Tensor> tensors_of(const fs::path& folder, const std::string& kind) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const std::string stem = kind + "_" + std::to_string(i);
    if (fs::exists(folder / (stem + ".other"))) throw ValueError("values that are no tensors are not supported");
    const fs::path path = folder / (stem + ".pb");
    if (!fs::exists(path)) return tensors;
    tensors.push_back(onnx::read_tensor({"onnx_node_check", path.string()}, bytes_of(path)));
  }
}

// Empty if the two agree.
std::string difference(const Tensor& is, const Tensor& should_be, double relative, double absolute) {
  if (is.dtype() != should_be.dtype() || !(is.shape() == should_be.shape())) {
    return std::string(name_of(is.dtype())) + is.shape().to_string() + " instead of " +
           std::string(name_of(should_be.dtype())) + should_be.shape().to_string();
  }
  if (is_complex(is.dtype())) throw ValueError("complex numbers are not supported here");
  if (is.dtype() == bfloat16) relative = std::max(relative, 1.0 / 64);
  const std::vector<double> a = is.to_vector<double>(), b = should_be.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i] || std::abs(a[i] - b[i]) <= absolute + relative * std::abs(b[i])) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + " instead of " + std::to_string(b[i]);
  }
  return "";
}

std::string run_test(const fs::path& folder) {
  double relative = 1e-3, absolute = 1e-7;
  std::ifstream(folder / "tolerance.txt") >> relative >> absolute;
  const OnnxModel model = load_onnx((folder / "model.onnx").string());
  for (int set = 0;; ++set) {
    const fs::path data = folder / ("test_data_set_" + std::to_string(set));
    if (!fs::exists(data)) return "";
    const std::vector<Tensor> inputs = tensors_of(data, "input"), wanted = tensors_of(data, "output");
    const std::vector<Tensor> outputs = model(inputs);
    if (outputs.size() != wanted.size()) {
      return std::to_string(outputs.size()) + " outputs instead of " + std::to_string(wanted.size());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string why = difference(outputs[i], wanted[i], relative, absolute);
      if (!why.empty()) return "output " + std::to_string(i) + ": " + why;
    }
  }
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc != 2) {
    std::cerr << "onnx_node_check FOLDER\n";
    return 2;
  }
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(argv[1])) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  int failed = 0;
  for (const fs::path& folder : folders) {
    std::string result = "passed", why;
    try {
      why = capstan::run_test(folder);
      if (!why.empty()) result = "failed";
    } catch (const std::exception& error) {
      why = error.what();
      const bool is_known = why.find("not supported") != std::string::npos;
      result = is_known ? "not supported" : "failed";
    }
    failed += result == "failed" ? 1 : 0;
    std::cout << result << "\t" << folder.filename().string() << "\t" << capstan::one_line(why) << std::endl;
  }
  return failed == 0 ? 0 : 1;
}
