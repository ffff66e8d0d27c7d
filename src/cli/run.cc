// Runs an ONNX model on arrays of files.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "capstan/error.h"
#include "capstan/io.h"
#include "capstan/onnx.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/cli/commands.h"
#include "src/cli/statistics.h"
#include "src/cli/table.h"

namespace capstan::cli {

namespace {

using Arrays = std::map<std::string, Tensor>;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string names_of(const std::vector<TensorSpec>& inputs) {
  std::string names;
  for (const TensorSpec& input : inputs) names += (names.empty() ? "" : ", ") + printable(input.name);
  return names;
}

// What the options say of the inputs, by name.
Arrays arrays_of(const OnnxModel& model, const std::vector<std::string>& given) {
  const std::vector<TensorSpec>& inputs = model.inputs();
  const auto is_input = [&](const std::string& name) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const TensorSpec& input) { return input.name == name; });
  };
  Arrays arrays;
  const auto add = [&](const std::string& name, const Tensor& array, const std::string& file) {
    if (!is_input(name)) {
      throw ValueError("run: the model has no input \"" + printable(name) + "\", for which " + file +
                       " is given\n  inputs: " + names_of(inputs));
    }
    if (!arrays.emplace(name, array).second)
      throw ValueError("run: the input \"" + printable(name) + "\" is given twice");
  };
  std::vector<std::string> unnamed;
  for (const std::string& one : given) {
    // A name may have "=" in it only if an input has.
    std::size_t at = one.find('=');
    while (at != std::string::npos && !is_input(one.substr(0, at)) && one.find('=', at + 1) != std::string::npos)
      at = one.find('=', at + 1);
    if (at != std::string::npos && !std::filesystem::exists(one)) {
      const std::string file = one.substr(at + 1);
      add(one.substr(0, at), io::load_npy(file), file);
    } else if (ends_with(one, ".npz")) {
      for (const auto& [name, array] : io::load_npz(one)) add(name, array, one);
    } else {
      unnamed.push_back(one);
    }
  }
  std::size_t next = 0;
  for (const std::string& file : unnamed) {
    while (next < inputs.size() && arrays.count(inputs[next].name) != 0) ++next;
    if (next == inputs.size()) {
      throw ValueError("run: there is no input for " + file + ", the model takes " + std::to_string(inputs.size()) +
                       "\n  inputs: " + names_of(inputs));
    }
    add(inputs[next].name, io::load_npy(file), file);
  }
  return arrays;
}

void show_interface(const OnnxModel& model) {
  std::printf("opset %lld\n", static_cast<long long>(model.opset()));
  for (TensorSpec input : model.inputs()) {
    const std::string name = std::exchange(input.name, "");
    std::printf("input %s: %s\n", printable(name).c_str(), input.to_string().c_str());
  }
  for (const std::string& name : model.output_names()) std::printf("output %s\n", printable(name).c_str());
}

// The first elements, "1, 2, 3, ...".
std::string beginning_of(const Tensor& tensor) {
  if (is_complex(tensor.dtype())) return "-";
  constexpr std::int64_t kShown = 5;
  const std::int64_t count = std::min(kShown, tensor.size());
  const Tensor flat = reshape(tensor, {-1});
  std::string text;
  for (const double value : cast(flat(slice(0, count)), float64).to_vector<double>())
    text += (text.empty() ? "" : ", ") + number_text(value);
  return text + (count < tensor.size() ? ", ..." : "");
}

void show(const std::vector<std::string>& names, const std::vector<Tensor>& outputs) {
  std::vector<std::vector<std::string>> rows = {
      {"name", "dtype", "shape", "least", "greatest", "mean", "not finite", "elements"}};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    rows.push_back({printable(names[i]), std::string(name_of(output.dtype())), output.shape().to_string()});
    for (std::string& one : statistics_of(output)) rows.back().push_back(std::move(one));
    rows.back().push_back(beginning_of(output));
  }
  print_table(rows);
}

// A name as that of a file in a directory: names come from the model, and none may lead elsewhere.
std::string file_name(const std::string& name) {
  std::string result = printable(name);
  std::replace(result.begin(), result.end(), '/', '_');
  if (result.empty() || result[0] == '.') result = "_" + result;
  return result + ".npy";
}

void write(const std::string& path, const std::vector<std::string>& names, const std::vector<Tensor>& outputs) {
  if (ends_with(path, ".npy")) {
    io::save_npy(path, outputs[0]);
  } else if (ends_with(path, ".npz")) {
    Arrays arrays;
    for (std::size_t i = 0; i < outputs.size(); ++i) arrays.emplace(names[i], outputs[i]);
    io::save_npz(path, arrays);
  } else {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) throw IoError("run: cannot make the directory " + path + ": " + error.message());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      io::save_npy((std::filesystem::path(path) / file_name(names[i])).string(), outputs[i]);
    }
  }
  std::printf("wrote %s\n", path.c_str());
}

// What can be known to be wrong about the output before anything runs.
void check_output(const std::string& path, const std::vector<std::string>& names) {
  if (ends_with(path, ".npy") && names.size() != 1) {
    throw ValueError("run: a .npy file has one array, but the model gives " + std::to_string(names.size()) +
                     "\n  help: name an .npz file or a directory");
  }
  std::set<std::string> files;
  for (const std::string& name : names) {
    if (!path.empty() && !files.insert(file_name(name)).second)
      throw ValueError("run: two outputs would be the file " + file_name(name) + "\n  help: name an .npz file");
  }
}

}  // namespace

int run_model(const RunOptions& options) {
  const OnnxModel model = load_onnx(options.model, {.trainable = false});
  if (options.inputs.empty() && !model.inputs().empty()) {
    if (!options.output.empty()) {
      throw ValueError("run: there are no arrays for the inputs\n  inputs: " + names_of(model.inputs()));
    }
    show_interface(model);
    return 0;
  }
  check_output(options.output, model.output_names());
  const Arrays arrays = arrays_of(model, options.inputs);
  std::vector<Tensor> inputs;
  for (const TensorSpec& input : model.inputs()) {
    const auto found = arrays.find(input.name);
    if (found == arrays.end()) {
      throw ValueError("run: no array is given for the input \"" + printable(input.name) +
                       "\"\n  inputs: " + names_of(model.inputs()));
    }
    inputs.push_back(found->second);
  }
  const std::vector<Tensor> outputs = model(inputs);
  show(model.output_names(), outputs);
  if (!options.output.empty()) write(options.output, model.output_names(), outputs);
  return 0;
}

}  // namespace capstan::cli
