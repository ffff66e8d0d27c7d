// ModelCheckpoint.
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "src/checkpoint/save_frequency.h"
#include "src/core/check.h"
#include "src/train/callbacks/monitor.h"

namespace capstan::callbacks {

namespace {

// As Keras prints it.
std::string shown(const std::optional<double>& value) {
  if (!value) return "None";
  char text[32];
  std::snprintf(text, sizeof text, "%.5f", *value);
  return text;
}

constexpr std::string_view kModes[] = {"auto", "min", "max"};

struct ModelCheckpointConfig : ModelCheckpointOptions {
  std::string filepath;
  static std::span<const OptionField> fields() {
    using O = ModelCheckpointConfig;
    static constexpr OptionField all[] = {
        option<&O::filepath>("filepath", true),
        option<&O::monitor, O>("monitor"),
        option<&O::verbose, O>("verbose"),
        option<&O::save_best_only, O>("save_best_only"),
        option<&O::save_weights_only, O>("save_weights_only"),
        option<&O::mode, O>("mode").one_of(kModes),
        option<&O::save_freq, O>("save_freq"),
        option<&O::initial_value_threshold, O>("initial_value_threshold"),
    };
    return all;
  }
};

struct ModelCheckpointBody final : Configured<ModelCheckpointBody, CallbackBody, ModelCheckpointConfig> {
  static constexpr std::string_view kName = "ModelCheckpoint";
  static constexpr std::string_view kText = "Writes the model while it is trained.";

  explicit ModelCheckpointBody(const ModelCheckpointConfig& given = {})
      : Configured(given),
        monitor("model_checkpoint", options.monitor, options.mode, 0),
        best(options.initial_value_threshold),
        counter(options.save_freq) {
    const std::string& path = options.filepath;
    if (options.save_weights_only) {
      CAPSTAN_CHECK(path.ends_with(".safetensors") || path.ends_with(".npz") || path.ends_with(".weights.h5"),
                    ValueError, "model_checkpoint: the name of a file of weights ends with .safetensors, .npz or ",
                    ".weights.h5, not \"", path, "\"");
    } else {
      CAPSTAN_CHECK(
          path.ends_with(".keras") || path.ends_with(".h5") || path.ends_with(".ckpt"), ValueError,
          "model_checkpoint: the name of a model ends with .keras or .h5, and that of a checkpoint with .ckpt, not \"",
          path, "\"", help("save_weights_only = true writes .safetensors, .npz and .weights.h5"));
    }
  }

  void on_train_begin() override {
    if (options.save_best_only) monitor.reset(model());
  }
  void on_epoch_begin(std::int64_t now) override {
    epoch = now;
    counter.begin_epoch();
  }
  void on_train_batch_end(std::int64_t batch, const BatchLogs& logs) override {
    if (counter.is_due(batch)) save(batch, logs.numbers());
  }
  void on_epoch_end(std::int64_t, Logs& logs) override {
    if (options.save_freq.is_epoch()) save(std::nullopt, logs);
  }

  void save(std::optional<std::int64_t> batch, const Logs& logs) {
    const std::string path = file_name(options.filepath, epoch, batch, logs);
    const auto number = static_cast<long long>(epoch) + 1;
    std::string change;
    if (options.save_best_only) {
      const std::optional<double> value = monitor.read(logs);
      if (!value) return;
      if (!monitor.is_better(*value, best)) {
        if (options.verbose > 0) {
          std::printf("\nEpoch %lld: %s did not improve from %.5f\n", number, options.monitor.c_str(), *best);
        }
        return;
      }
      change = options.monitor + " improved from " + shown(best) + " to " + shown(value) + ", ";
      best = value;
    }
    if (options.verbose > 0) {
      std::printf("\nEpoch %lld: %ssaving model to %s\n", number, change.c_str(), path.c_str());
    }
    std::error_code failure;  // which the writer says, with the name of the file
    if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty()) {
      std::filesystem::create_directories(folder, failure);
    }
    if (options.save_weights_only) {
      model().save_weights(path);
    } else if (path.ends_with(".ckpt")) {
      Checkpoint({{"model", model()}, {"optimizer", model().optimizer()}}).write(path);
    } else {
      model().save(path);
    }
    if (options.verbose > 0) std::printf("\nEpoch %lld: finished saving model to %s\n", number, path.c_str());
  }

  AttributeValue found() const override {
    AttributeValue values = AttributeValue::map();
    values.set("best", get_field(best));
    return values;
  }

  Monitor monitor;
  std::optional<double> best;
  BatchCounter counter;
  std::int64_t epoch = 0;
};

}  // namespace

std::span<const OptionField> ModelCheckpointOptions::fields() {
  // All but the path, which comes first.
  return ModelCheckpointConfig::fields().subspan(1);
}

ModelCheckpoint::ModelCheckpoint(const std::string& filepath, const ModelCheckpointOptions& options)
    : Callback(std::make_shared<ModelCheckpointBody>(ModelCheckpointConfig{options, filepath})) {}

}  // namespace capstan::callbacks
