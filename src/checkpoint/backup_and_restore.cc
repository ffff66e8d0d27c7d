// BackupAndRestore.
//
// The file is read in two parts. Model and optimizer are restored when the training begins, before other callbacks look
// at them; metrics, which may not be there yet, and random numbers when the data are at the place where the training
// goes on, since getting there may draw.
#include <filesystem>

#include "src/checkpoint/save_frequency.h"
#include "src/core/check.h"

namespace capstan::callbacks {

namespace {

struct BackupAndRestoreConfig : BackupAndRestoreOptions {
  std::string backup_dir;
  static std::span<const OptionField> fields() {
    using O = BackupAndRestoreConfig;
    static constexpr OptionField all[] = {option<&O::backup_dir>("backup_dir", true),
                                          option<&O::save_freq, O>("save_freq"),
                                          option<&O::delete_checkpoint, O>("delete_checkpoint")};
    return all;
  }
};

struct BackupAndRestoreBody final : Configured<BackupAndRestoreBody, CallbackBody, BackupAndRestoreConfig> {
  static constexpr std::string_view kName = "BackupAndRestore";
  static constexpr std::string_view kText = "Makes a training go on where it was cut off.";

  explicit BackupAndRestoreBody(const BackupAndRestoreConfig& given = {})
      : Configured(given), counter(options.save_freq) {
    CAPSTAN_CHECK(!options.backup_dir.empty(), ValueError, "backup_and_restore: backup_dir is empty");
    path = (std::filesystem::path(options.backup_dir) / "latest.ckpt").string();
  }

  std::vector<std::pair<std::string, State>> objects() {
    return {{"model", model()}, {"optimizer", model().optimizer()}, {"epoch", epoch}, {"batch", batches}};
  }
  std::vector<std::pair<std::string, State>> later_objects() {
    std::vector<std::pair<std::string, State>> list = {{"random", RandomState()}};
    // Where an epoch begins they are zero.
    if (batches == 0) return list;
    for (const Metric& metric : model().metrics()) {
      list.emplace_back("metric_" + std::to_string(list.size() - 1), metric);
    }
    return list;
  }

  void on_train_begin() override {
    CAPSTAN_CHECK(model().is_built(), ValueError, "backup_and_restore: ", model().name(), " has no weights yet",
                  help("weights are made at the first call, or by build(input_shape)"));
    std::error_code failure;
    std::filesystem::create_directories(options.backup_dir, failure);
    CAPSTAN_CHECK(std::filesystem::is_directory(options.backup_dir), IoError,
                  "backup_and_restore: the directory cannot be made, ", failure.message(),
                  "\n  file: ", options.backup_dir);
    epoch = batches = 0;
    if (!std::filesystem::exists(path)) return;
    restore(objects());
    begin_at(epoch, batches, [this] { restore(later_objects()); });
  }

  void on_epoch_begin(std::int64_t now) override {
    epoch = now;
    counter.begin_epoch();
  }
  void on_train_batch_end(std::int64_t batch, const BatchLogs&) override {
    batches = batch + 1;
    if (counter.is_due(batch)) save();
  }
  void on_epoch_end(std::int64_t now, Logs&) override {
    epoch = now + 1;
    batches = 0;
    if (options.save_freq.is_epoch()) save();
  }

  void on_train_end(const Logs&) override {
    if (!options.delete_checkpoint) return;
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    // Only if nothing else is in it.
    std::filesystem::remove(options.backup_dir, ignored);
  }

  void save() {
    std::vector<std::pair<std::string, State>> all = objects();
    for (const auto& object : later_objects()) all.push_back(object);
    Checkpoint(std::move(all)).write(path);
  }

  // All or nothing of these objects; the file has others, too.
  void restore(std::vector<std::pair<std::string, State>> list) {
    const bool list_has_model = list[0].first == "model";
    const Checkpoint checkpoint(std::move(list));
    StateDifference difference = checkpoint.compare(path);
    // A model or an optimizer that has less than the one that was saved is another one.
    std::erase_if(difference.left_over, [](const std::string& line) {
      return !line.starts_with("\"model/") && !line.starts_with("\"optimizer/");
    });
    if (list_has_model) {
      RestoreStatus(path, difference).assert_consumed();
    } else {
      RestoreStatus(path, difference).assert_existing_objects_matched();
    }
    checkpoint.restore(path).expect_partial();
  }

  std::string path;
  BatchCounter counter;
  std::int64_t epoch = 0, batches = 0;
};

}  // namespace

std::span<const OptionField> BackupAndRestoreOptions::fields() { return BackupAndRestoreConfig::fields().subspan(1); }

BackupAndRestore::BackupAndRestore(const std::string& backup_dir, const BackupAndRestoreOptions& options)
    : Callback(std::make_shared<BackupAndRestoreBody>(BackupAndRestoreConfig{options, backup_dir})) {}

}  // namespace capstan::callbacks
