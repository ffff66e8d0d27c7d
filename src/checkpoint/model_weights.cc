// The weights of a model in files of other tools.
#include <cstdio>
#include <filesystem>

#include "capstan/io.h"
#include "capstan/models.h"
#include "capstan/ops/math.h"
#include "capstan/state.h"
#include "src/checkpoint/keras_paths.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/io/hdf5_file.h"

namespace capstan {

namespace {

enum class WeightsFormat { kSafetensors, kNpz, kHdf5 };

WeightsFormat format_of(const char* what, const std::string& path) {
  if (path.ends_with(".safetensors")) return WeightsFormat::kSafetensors;
  if (path.ends_with(".weights.h5")) return WeightsFormat::kHdf5;
  CAPSTAN_CHECK(path.ends_with(".npz"), ValueError, what, ": the name \"", path,
                "\" ends with none of .safetensors, .npz and .weights.h5",
                help("a Checkpoint also holds the optimizer, in a format of its own"));
  return WeightsFormat::kNpz;
}

std::string line_of(const std::string& name, DType dtype, const Shape& shape) {
  return "\"" + name + "\", " + std::string(name_of(dtype)) + shape.to_string();
}

// The weights of a file of Keras, by the names that they have here; others keep theirs. What the optimizer of the
// program had that wrote it is left out.
io::NamedArrays load_keras(const std::string& path, const Model& model,
                           const std::vector<std::pair<std::string, Variable>>& weights) {
  const std::unique_ptr<io::ByteSource> source = io::open_plain_file("load_weights", path);
  const std::vector<std::byte> bytes = io::read_exactly(*source, source->most_bytes(), "the file");
  std::map<std::string, Tensor> stored = io::read_hdf5(*source, bytes);
  std::map<const void*, std::string> names;
  for (const auto& [name, variable] : weights) names.emplace(variable.state(), name);
  io::NamedArrays saved(path, "load_weights");
  for (const auto& [place, variable] : detail::keras_weight_paths(model)) {
    const auto found = stored.find(place);
    if (found == stored.end()) continue;
    // Any floating type serves, as in Keras.
    const bool converts = is_floating(found->second.dtype()) && is_floating(variable.dtype());
    saved.emplace(names.at(variable.state()), converts ? cast(found->second, variable.dtype()) : found->second);
    stored.erase(found);
  }
  for (auto& [place, tensor] : stored) {
    if (!place.starts_with("optimizer/vars/")) saved.emplace(place, std::move(tensor));
  }
  return saved;
}

io::NamedArrays load(WeightsFormat format, const std::string& path, const Model& model,
                     const std::vector<std::pair<std::string, Variable>>& weights) {
  switch (format) {
    case WeightsFormat::kNpz:
      return io::load_npz(path);
    case WeightsFormat::kSafetensors:
      return io::load_safetensors(path);
    case WeightsFormat::kHdf5:
      break;
  }
  return load_keras(path, model, weights);
}

}  // namespace

void Model::save_weights(const std::string& path, bool overwrite) const {
  const WeightsFormat format = format_of("save_weights", path);
  CAPSTAN_CHECK(format != WeightsFormat::kHdf5, ValueError, "save_weights: .weights.h5 files are only read",
                help("write .safetensors or .npz"));
  CAPSTAN_CHECK(overwrite || !std::filesystem::exists(path), ValueError, "save_weights: there is a file \"", path, "\"",
                help("overwrite = true replaces it"));
  NamedTensors tensors;
  for (const auto& [name, variable] : named_weights(*this)) {
    for (auto& [part, tensor] : State(variable).save()) tensors.emplace(name + part, tensor);
  }
  if (format == WeightsFormat::kNpz) return io::save_npz(path, tensors);
  io::save_safetensors(path, tensors, {.metadata = {{"format", "capstan"}}});
}

void Model::load_weights(const std::string& path, bool skip_mismatch) const {
  const WeightsFormat format = format_of("load_weights", path);
  const auto weights = named_weights(*this);
  io::NamedArrays saved = load(format, path, *this, weights);
  std::vector<std::pair<Variable, Tensor>> assignments;
  std::string lines;
  for (const auto& [name, variable] : weights) {
    const auto found = saved.find(name);
    if (found == saved.end()) {
      lines += "\n  missing: " + line_of(name, variable.dtype(), variable.shape());
      continue;
    }
    const Tensor tensor = found->second;
    saved.erase(found);
    if (tensor.dtype() != variable.dtype() || tensor.shape() != variable.shape()) {
      lines += "\n  different: " + line_of(name, variable.dtype(), variable.shape()) + " here, and " +
               std::string(name_of(tensor.dtype())) + tensor.shape().to_string() + " in the file";
    } else {
      assignments.emplace_back(variable, tensor);
    }
  }
  for (const auto& [name, tensor] : saved) lines += "\n  left over: " + line_of(name, tensor.dtype(), tensor.shape());
  if (!lines.empty() && skip_mismatch) {
    std::fprintf(stderr, "capstan: warning: load_weights: some weights of %s are left out%s\n", path.c_str(),
                 lines.c_str());
  } else if (!lines.empty()) {
    throw ValueError(detail::join("load_weights: the weights in the file are not those of ", name(), "\n  file: ", path,
                                  lines, help("skip_mismatch = true takes over the others")));
  }
  for (const auto& [variable, tensor] : assignments) State(variable).restore({{"", tensor}});
}

}  // namespace capstan
