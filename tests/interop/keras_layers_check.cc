// Every layer of Keras in a `.keras` archive: this side. keras_layers.py is the other; see README.md.
//
//     keras_layers_check read FOLDER    loads archives of Keras, compares, and writes the models to FOLDER/again
#include <cstdio>
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/interop/cases.h"

namespace capstan {
namespace {

using interop::Cases;
using interop::require;

std::string load(const std::filesystem::path& path) {
  const Model model = load_model(path.string());
  const io::NamedArrays arrays = io::load_npz(std::filesystem::path(path).replace_extension(".npz").string());
  std::vector<Tensor> inputs;
  for (int i = 0; arrays.contains("x" + std::to_string(i)); ++i) inputs.push_back(arrays.at("x" + std::to_string(i)));
  const Tensor output = model(inputs.size() == 1 ? Nest(inputs[0]) : Nest(inputs)).tensor(),
               wanted = arrays.at("output");
  require(output.shape() == wanted.shape(), "the shape is " + output.shape().to_string());
  const double apart = reduce_max(abs(cast(output, float64) - cast(wanted, float64))).item<double>();
  char text[40];
  std::snprintf(text, sizeof text, "outputs %.1e apart", apart);
  require(apart < 1e-5, text);
  model.save((path.parent_path() / "again" / path.filename()).string());
  return text;
}

void read(const std::filesystem::path& folder, Cases& cases) {
  std::filesystem::create_directories(folder / "again");
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".keras") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path& path : paths) cases.run(path.stem().string(), [&] { return load(path); });
}

}  // namespace
}  // namespace capstan

int main(int count, char** arguments) {
  return capstan::interop::write_or_read(
      count, arguments, [](const std::string&) {}, capstan::read);
}
