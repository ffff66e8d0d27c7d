// The callback that logs a training for TensorBoard.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/callbacks.h"

namespace capstan::callbacks {

/// How often TensorBoard writes the values of batches: "epoch", which is never, "batch", or every so many batches.
class CAPSTAN_EXPORT UpdateFrequency {
 public:
  UpdateFrequency() = default;
  UpdateFrequency(const char* name) : UpdateFrequency(std::string_view(name)) {}
  UpdateFrequency(std::string_view name);
  UpdateFrequency(std::int64_t batches);
  UpdateFrequency(int batches) : UpdateFrequency(static_cast<std::int64_t>(batches)) {}

  bool is_due(std::int64_t batch) const { return batches_ != 0 && batch % batches_ == 0; }
  std::int64_t batches() const { return batches_; }  ///< 0 for "epoch"

 private:
  std::int64_t batches_ = 0;
};
/// For tables of options: a text or a number.
CAPSTAN_EXPORT void set_field(UpdateFrequency& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
/// The same back.
CAPSTAN_EXPORT AttributeValue get_field(const UpdateFrequency& field);

/// Options of TensorBoard.
struct TensorBoardOptions {
  std::int64_t histogram_freq = 0;      ///< epochs from one histogram of each weight to the next; 0: none
  bool write_graph = true;              ///< of a Sequential or functional model
  bool write_images = false;            ///< of each weight, beside its histogram
  bool write_steps_per_second = false;  ///< by epoch, and by batch if update_freq has it
  UpdateFrequency update_freq = "epoch";
  std::vector<std::int64_t> profile_batch =
      {};  ///< the batch to profile, or the first and the last; batches count from 1
  std::int64_t embeddings_freq =
      0;  ///< epochs from one table of each Embedding, for the projector, to the next; 0: none
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// Logs a training for TensorBoard, in the folders train and validation of `log_dir`: "epoch_loss" and so on for the
/// number of the epoch; "evaluation_loss_vs_iterations" of each evaluation for the optimizer's iterations;
/// "epoch_learning_rate"; with `update_freq` "batch_loss" and so on for the number of the batch;
/// "dense/kernel/histogram" and "dense/kernel/image". What is profiled is in train/plugins/profile, for Chrome's
/// tracing as well.
///
///     model.fit(x, y, {.epochs = 5, .callbacks = {callbacks::TensorBoard("logs", {.histogram_freq = 1})}});
///
/// Errors: ValueError for options that are not allowed; IoError for files that cannot be written.
class CAPSTAN_EXPORT TensorBoard final : public Callback {
 public:
  explicit TensorBoard(const std::string& log_dir = "logs", const TensorBoardOptions& options = {});
};

}  // namespace capstan::callbacks
