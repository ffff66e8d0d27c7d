// Callbacks that write the state of a training to files. They belong to the library of files, capstan::io, unlike those
// of capstan/callbacks.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "capstan/callbacks.h"
#include "capstan/checkpoint.h"
#include "capstan/config.h"

namespace capstan {

/// When a callback writes: at the end of every epoch, or after every so many batches, counted across epochs.
class CAPSTAN_EXPORT SaveFrequency {
 public:
  SaveFrequency() = default;
  /// "epoch". Errors: ValueError for another text.
  SaveFrequency(const char* text);
  SaveFrequency(const std::string& text) : SaveFrequency(text.c_str()) {}
  /// Errors: ValueError for a number below 1.
  SaveFrequency(int batches) : SaveFrequency(static_cast<std::int64_t>(batches)) {}
  SaveFrequency(std::int64_t batches);
  bool is_epoch() const { return batches_ == 0; }
  std::int64_t batches() const { return batches_; }

 private:
  std::int64_t batches_ = 0;
};

/// In configurations: "epoch", or a number. Errors: ValueError for anything else, naming the option.
CAPSTAN_EXPORT void set_field(SaveFrequency& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const SaveFrequency& field);

namespace callbacks {

/// Options of ModelCheckpoint.
struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  int verbose = 0;
  bool save_best_only = false;  ///< only when the value that is looked at has improved
  bool save_weights_only = false;
  std::string mode = "auto";  ///< or "min", "max"
  SaveFrequency save_freq = "epoch";
  std::optional<double> initial_value_threshold = {};  ///< what the first value has to beat
  static std::span<const OptionField> fields();
};

/// Writes the model while it is trained: with `save_weights_only` its weights, to a file whose name ends as those of
/// Model::save_weights do (".safetensors", ".weights.h5"), else the whole model to a ".keras" archive or an ".h5" file,
/// or a Checkpoint of "model" and "optimizer" to a ".ckpt". The name may have {epoch} and {batch}, which count from 1,
/// and values of the logs, each with a format of Python's: {epoch:02d}, {val_loss:.2f}. A folder that is not there is
/// made.
///
///     callbacks::ModelCheckpoint best("best.safetensors", {.save_best_only = true, .save_weights_only = true});
///     model.fit(x, y, {.epochs = 5, .callbacks = {best}, .validation_split = 0.2});
///
/// Errors: ValueError for another ending, for a mode that is not known from the name, and where a file is written for a
/// name in braces that the logs lack or a format that does not fit; IoError.
class CAPSTAN_EXPORT ModelCheckpoint final : public Callback {
 public:
  explicit ModelCheckpoint(const std::string& filepath, const ModelCheckpointOptions& options = {});
};

/// Options of BackupAndRestore.
struct BackupAndRestoreOptions {
  SaveFrequency save_freq = "epoch";
  bool delete_checkpoint = true;  ///< when the training has ended
  static std::span<const OptionField> fields();
};

/// Makes a training go on where an earlier process was cut off, with the same bits: writes model, optimizer, metrics,
/// random numbers and the place in the training to the file "latest.ckpt" in a directory, and fit() begins there if the
/// file is there. The program is otherwise the same: it gives the same data in the same order, which shuffled data with
/// a seed or after set_seed() do. A History has the epochs from there on; what other callbacks remember begins anew.
///
///     model.fit(x, y, {.epochs = 50, .callbacks = {callbacks::BackupAndRestore("backup")}});
///
/// Errors: where a training begins, ValueError for a model without weights, or a file of another model; IoError.
class CAPSTAN_EXPORT BackupAndRestore final : public Callback {
 public:
  explicit BackupAndRestore(const std::string& backup_dir, const BackupAndRestoreOptions& options = {});
};

}  // namespace callbacks
}  // namespace capstan
