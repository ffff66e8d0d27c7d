// Times calls of an ONNX model on one thread: benchmarks/peers/onnx_resnet50.py compares them with onnxruntime's.
//
// onnx_speed_check MODEL INPUT.pb REPEATS prints the milliseconds of each call, and the first column of the result.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "capstan/function.h"
#include "capstan/onnx.h"
#include "capstan/runtime.h"

#include "src/onnx/proto.h"

int main(int argc, char** argv) {
  using namespace capstan;
  if (argc != 4) {
    std::cerr << "onnx_speed_check MODEL INPUT.pb REPEATS\n";
    return 2;
  }
  set_num_threads(1);
  const OnnxModel model = load_onnx(argv[1]);
  std::ifstream file(argv[2], std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Tensor x = onnx::read_tensor({"onnx_speed_check", argv[2]}, bytes);
  auto forward = function([&](const Tensor& images) { return model(images); });
  Tensor y;
  for (int i = 0; i < 2; ++i) y = forward(x);
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    y = forward(x);
    std::cout << std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() << " ";
  }
  std::cout << "\n";
  for (std::int64_t row = 0; row < y.dim(0); ++row) std::cout << y(row, 0).item<float>() << " ";
  std::cout << "\n";
}
