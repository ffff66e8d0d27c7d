// The weights of a model in files of other tools.
#include <algorithm>
#include <filesystem>

#include "capstan/io.h"
#include "capstan/models.h"
#include "capstan/state.h"
#include "src/checkpoint/legacy_weights.h"
#include "src/checkpoint/model_weights.h"
#include "src/core/check.h"
#include "src/core/hooks.h"
#include "src/io/hdf5_file.h"
#include "src/io/hdf5_writer.h"
#include "src/train/optimizer_state.h"

namespace capstan {

namespace {

enum class WeightsFormat { kSafetensors, kNpz, kHdf5, kLegacy };

WeightsFormat format_of(const char* what, const std::string& path, bool reads) {
  if (path.ends_with(".safetensors")) return WeightsFormat::kSafetensors;
  if (path.ends_with(".weights.h5")) return WeightsFormat::kHdf5;
  if (reads && path.ends_with(".keras")) return WeightsFormat::kHdf5;
  if (reads && path.ends_with(".h5")) return WeightsFormat::kLegacy;
  CAPSTAN_CHECK(path.ends_with(".npz"), ValueError, what, ": the name \"", path,
                "\" ends with none of .safetensors, .npz and .weights.h5", reads ? ", nor with .keras or .h5" : "",
                help("a Checkpoint also holds the optimizer, in a format of its own"));
  return WeightsFormat::kNpz;
}

std::string line_of(const std::string& name, DType dtype, const Shape& shape) {
  return "\"" + name + "\", " + std::string(name_of(dtype)) + shape.to_string();
}

detail::KerasWeights load(WeightsFormat format, const std::string& path, const Model& model,
                          const std::vector<std::pair<std::string, Variable>>& weights) {
  switch (format) {
    case WeightsFormat::kNpz:
      return {io::load_npz(path)};
    case WeightsFormat::kSafetensors:
      return {io::load_safetensors(path)};
    case WeightsFormat::kLegacy: {
      io::Hdf5Texts texts;
      const std::map<std::string, Tensor> stored = io::load_hdf5_file("load_weights", path, &texts);
      return detail::match_legacy_weights("load_weights", stored, texts, path, model, weights,
                                          detail::LayerNames::kAreAny);
    }
    case WeightsFormat::kHdf5:
      break;
  }
  return detail::match_keras_weights(io::load_hdf5_file("load_weights", path), path, model, weights);
}

// As Keras does it: slots that are not those of the optimizer are left out, and the weights are taken over.
void restore_optimizer(const char* what, const std::string& path, const Model& model, NamedTensors saved) {
  // An optimizer with nothing to update has no slots.
  if (saved.empty() || !model.is_compiled() || model.trainable_variables().empty()) return;
  // Slots that are there are what a file is written of, also before the next update.
  const bool is_built = detail::OptimizerState::of(model.optimizer()).updating().is_built();
  if (!is_built) model.optimizer().build(model.trainable_variables());
  State state(model.optimizer());
  // A model that was not trained before it was saved has no slots in its file; here they begin anew.
  const auto is_slot = [](const auto& one) { return one.first.starts_with("variables/"); };
  if (std::none_of(saved.begin(), saved.end(), is_slot)) {
    for (const auto& [name, tensor] : state.save()) saved.emplace(name, tensor);
  }
  const StateDifference difference = state.compare(saved);
  std::string lines;
  for (const auto* list : {&difference.missing, &difference.left_over, &difference.mismatched}) {
    for (const std::string& line : *list) lines += "\n  " + line;
  }
  if (lines.empty()) return state.restore(saved);
  warn(detail::join(what, ": the optimizer in ", path, " is not ", model.optimizer().name(), ", and is left out",
                    lines));
}

}  // namespace

void Model::save_weights(const std::string& path, bool overwrite) const {
  const WeightsFormat format = format_of("save_weights", path, false);
  CAPSTAN_CHECK(overwrite || !std::filesystem::exists(path), ValueError, "save_weights: there is a file \"", path, "\"",
                help("overwrite = true replaces it"));
  const auto weights = named_weights(*this);
  if (format == WeightsFormat::kHdf5) {
    return io::write_hdf5("save_weights", path, detail::keras_weights_of(*this));
  }
  NamedTensors tensors;
  for (const auto& [name, variable] : weights) {
    for (auto& [part, tensor] : State(variable).save()) tensors.emplace(name + part, tensor);
  }
  if (format == WeightsFormat::kNpz) return io::save_npz(path, tensors);
  io::save_safetensors(path, tensors, {.metadata = {{"format", "capstan"}}});
}

void detail::take_weights(const char* what, const std::string& path, const Model& model, KerasWeights file,
                          bool skip_mismatch, const std::string& remedy) {
  io::NamedArrays& saved = file.weights;
  std::vector<std::pair<Variable, Tensor>> assignments;
  std::string lines;
  for (const auto& [name, variable] : named_weights(model)) {
    const auto found = saved.find(name);
    if (found == saved.end()) {
      lines += "\n  missing: " + line_of(name, variable.dtype(), variable.shape());
      continue;
    }
    Tensor tensor = std::move(found->second);
    saved.erase(found);
    if (tensor.dtype() != variable.dtype() || tensor.shape() != variable.shape()) {
      lines += "\n  different: " + line_of(name, variable.dtype(), variable.shape()) + " here, and " +
               std::string(name_of(tensor.dtype())) + tensor.shape().to_string() + " in the file";
    } else {
      assignments.emplace_back(variable, std::move(tensor));
    }
  }
  for (const auto& [name, tensor] : saved) lines += "\n  left over: " + line_of(name, tensor.dtype(), tensor.shape());
  if (!lines.empty() && skip_mismatch) {
    warn(detail::join(what, ": some weights of ", path, " are left out", lines));
  } else if (!lines.empty()) {
    throw ValueError(join(what, ": the weights in the file are not those of ", model.name(), "\n  file: ", path, lines,
                          help(remedy)));
  }
  // Given away, so that a tensor that nobody else has becomes the variable's.
  for (auto& [variable, tensor] : assignments) variable.assign(std::move(tensor));
  restore_optimizer(what, path, model, file.optimizer);
}

void Model::load_weights(const std::string& path, bool skip_mismatch) const {
  const WeightsFormat format = format_of("load_weights", path, true);
  detail::take_weights("load_weights", path, *this, load(format, path, *this, named_weights(*this)), skip_mismatch,
                       "skip_mismatch = true takes over the others");
}

}  // namespace capstan
