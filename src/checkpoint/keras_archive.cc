// `.keras` archives: the configuration of a model, its weights and its optimizer in one file.
//
// The form is that of Keras 3: a zip archive with `config.json`, `model.weights.h5` and `metadata.json`, stored as they
// are. Whole models in `.h5` files, the form before, are written and read as well. What a file asks for is bounded:
// nothing is run, and the model may take a gigabyte beside four times the file.
#include <algorithm>
#include <ctime>
#include <exception>
#include <filesystem>

#include "capstan/models.h"
#include "capstan/state.h"
#include "src/checkpoint/legacy_weights.h"
#include "src/checkpoint/model_weights.h"
#include "src/core/allocator.h"
#include "src/core/check.h"
#include "src/core/hooks.h"
#include "src/io/file_sink.h"
#include "src/io/hdf5_file.h"
#include "src/io/hdf5_writer.h"
#include "src/io/keras_archive.h"
#include "src/io/zip_writer.h"
#include "src/train/layer_state.h"

namespace capstan {

using Kind = AttributeValue::Kind;

namespace {

constexpr const char kLoad[] = "load_model", kSave[] = "save";

// --- Writing ---

std::string metadata() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d@%H:%M:%S", &parts);
  return std::string(R"({"keras_version": ")") + io::kKerasVersion + R"(", "date_saved": ")" + date + "\"}";
}

bool is_known_kind(const Model& model) {
  const std::string type = model.type_name();
  return type == "Sequential" || type == "Functional";
}

// The shapes that a class of one's own was built for, without which Keras makes no weights.
AttributeValue build_config(const Model& model) {
  std::vector<AttributeValue> shapes;
  for (Shape shape : detail::LayerState::of(model).built_for) {
    if (shape.rank() > 0) shape.set(0, -1);
    shapes.push_back(get_field(InputShape(shape)));
  }
  AttributeValue config = AttributeValue::map();
  config.set("input_shape", shapes.size() == 1 ? shapes[0] : AttributeValue(std::move(shapes)));
  return config;
}

AttributeValue compile_config(const Model& model) {
  try {
    return model.get_compile_config();
  } catch (const ValueError& error) {
    warn(std::string("save: what compile() was given is left out; ") + error.what());
    return AttributeValue::map();
  }
}

AttributeValue config_of(const Model& model) {
  AttributeValue config = serialize(model);
  if (!is_known_kind(model)) config.set("build_config", build_config(model));
  config.set("compile_config", compile_config(model));
  return config;
}

// Whether the name is that of a file of the form before. Throws ValueError for one of neither; the help is for weights.
bool is_legacy(const char* what, const std::string& path, const char* hint) {
  const bool is_legacy = path.ends_with(".h5") && !path.ends_with(".weights.h5");
  CAPSTAN_CHECK(is_legacy || path.ends_with(".keras"), ValueError, what, ": the name \"", path,
                "\" ends with neither .keras nor .h5", help(hint));
  return is_legacy;
}

void save_legacy(const Model& model, const std::string& path, const SaveModelOptions& options) {
  CAPSTAN_CHECK(is_known_kind(model), ValueError, "save: \"", model.name(), "\" is of a class of its own, ",
                model.type_name(), ", for which an .h5 file has no place", help("save it to a .keras archive"));
  const detail::LegacyModel file = detail::legacy_model(model, config_of(model), options.include_optimizer);
  io::write_hdf5(kSave, path, file.tensors, file.attributes);
}

// --- Reading ---

// A model of a class of one's own makes its weights when it is called, or here.
void build(const Model& model, const AttributeValue& config) {
  if (model.is_built()) return;
  const AttributeValue* const how = config.find("build_config");
  const AttributeValue* const shape = how == nullptr ? nullptr : how->find("input_shape");
  CAPSTAN_CHECK(shape != nullptr && shape->kind == Kind::kList, ValueError, "the model \"", model.name(),
                "\" has weights, but the file does not say for which input shape");
  const bool is_list = !shape->list.empty() && shape->list[0].kind == Kind::kList;
  std::vector<Shape> shapes;
  for (const AttributeValue& one : is_list ? shape->list : std::vector<AttributeValue>{*shape}) {
    InputShape read;
    set_field(read, one, model.type_name(), "build_config");
    shapes.push_back(read.shape());
  }
  model.build_all(shapes);
}

void compile(const Model& model, const AttributeValue& config, const LoadModelOptions& options) {
  const AttributeValue* const compiled = config.find("compile_config");
  if (compiled == nullptr || !compiled->has_value()) return;
  try {
    options.compile_with ? options.compile_with(model, *compiled) : model.compile_from_config(*compiled);
  } catch (const Error& error) {
    throw ValueError(std::string("it cannot be compiled as it was, ") + error.what() +
                     help("with compile = false it is loaded, and not compiled"));
  }
}

// What a file holds, in either form.
struct StoredModel {
  AttributeValue config;
  std::map<std::string, Tensor> tensors;
  bool is_legacy = false;
  io::Hdf5Texts texts = {};  // of the older form
};

StoredModel stored_model(const std::string& path, bool is_legacy) {
  if (!is_legacy) {
    io::KerasArchive archive(kLoad, path);
    return {AttributeValue::from_json(archive.config()), io::load_hdf5_from(*archive.weights())};
  }
  StoredModel stored{.is_legacy = true};
  stored.tensors = io::load_hdf5_file(kLoad, path, &stored.texts);
  stored.config = detail::legacy_config(kLoad, stored.texts, path);
  return stored;
}

detail::KerasWeights weights_for(const Model& model, StoredModel stored, const std::string& path) {
  const auto weights = named_weights(model);
  if (!stored.is_legacy) return detail::match_keras_weights(std::move(stored.tensors), path, model, weights);
  detail::KerasWeights found = detail::match_legacy_weights(kLoad, stored.tensors, stored.texts, path, model, weights,
                                                            detail::LayerNames::kAreTheModels);
  found.optimizer = detail::legacy_optimizer(stored.tensors, stored.texts, model);
  return found;
}

Model read_model(const std::string& path, bool is_legacy, const LoadModelOptions& options) {
  StoredModel stored = stored_model(path, is_legacy);
  const AttributeValue& config = stored.config;
  Model model(layer_from(config));
  const std::string optimizer = stored.is_legacy ? "optimizer_weights/" : "optimizer/";
  const bool has_weights = std::any_of(stored.tensors.begin(), stored.tensors.end(),
                                       [&](const auto& one) { return !one.first.starts_with(optimizer); });
  const bool has_none = !has_weights && model.weights().empty();
  if (!has_none) build(model, config);
  if (options.compile) compile(model, config, options);
  if (has_none) return model;
  detail::take_weights(kLoad, path, model, weights_for(model, std::move(stored), path), false,
                       "the file is damaged, or a class of your own makes other weights than when it was saved");
  return model;
}

}  // namespace

void Model::save(const std::string& path, const SaveModelOptions& options) const {
  const bool as_legacy =
      is_legacy(kSave, path, "save_weights() writes the weights alone, to .weights.h5, .safetensors or .npz");
  CAPSTAN_CHECK(options.overwrite || !std::filesystem::exists(path), ValueError, "save: there is a file \"", path, "\"",
                help("overwrite = true replaces it"));
  CAPSTAN_CHECK(is_built(), ValueError, "save: \"", name(), "\" has no weights yet", help("call it, or build() it"));
  if (as_legacy) return save_legacy(*this, path, options);
  const std::string config = config_of(*this).to_json(), about = metadata();
  const std::vector<std::byte> weights =
      io::hdf5_bytes(kSave, detail::keras_weights_of(*this, options.include_optimizer));
  io::ZipWriter archive(kSave, path);
  archive.add(io::kKerasMetadata, std::as_bytes(std::span(about)));
  archive.add(io::kKerasConfig, std::as_bytes(std::span(config)));
  archive.add(io::kKerasWeights, weights);
  io::write_file(kSave, path, archive.close());
}

Model load_model(const std::string& path, const LoadModelOptions& options) {
  const bool from_legacy =
      is_legacy(kLoad, path, "load_weights() reads weights alone, from .weights.h5, .safetensors or .npz");
  std::error_code missing;  // is the reader's to tell
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  const AllocationBudget budget((std::int64_t{1} << 30) + (missing ? 0 : 4 * static_cast<std::int64_t>(size)));
  try {
    return read_model(path, from_legacy, options);
  } catch (const IoError&) {
    throw;
  } catch (const std::exception& error) {
    // A wrong value is wrong in the file. Of weights that do not fit the text has said so, and names the file.
    if (const std::string text = error.what(); text.starts_with(std::string(kLoad) + ": ")) throw IoError(text);
    io::fail_file(kLoad, std::string("the model cannot be made, ") + error.what(), path);
  }
}

}  // namespace capstan
