// Checkpoints: the state of a training in a file.
//
// A run that is restored from a checkpoint ends with the bits of one that never stopped, if all that has state is in
// it: the model, the optimizer, counts of the loop, RandomState for draws without a seed, and iterators over data.
//
// A checkpoint is one file with checksums, written beside its place and then renamed, and on the disk when the call
// returns: at any moment there is the old file or the new one, whole. Reading believes nothing: a file that is damaged,
// cut off or lies is an IoError that names file, place and reason, and nothing has changed.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/export.h"
#include "capstan/state.h"

namespace capstan {

/// Options of Checkpoint::restore.
struct RestoreOptions {
  /// Leaves what has another shape or dtype as it is, with a warning, instead of failing.
  bool skip_mismatch = false;
};

/// What restoring found. A restoration that did not take everything writes a warning when this goes, unless it was
/// asked about with one of the functions that return it or throw.
class CAPSTAN_EXPORT RestoreStatus {
 public:
  RestoreStatus(std::string path, StateDifference difference);
  RestoreStatus(RestoreStatus&& other) noexcept;
  RestoreStatus& operator=(RestoreStatus&&) = delete;
  RestoreStatus(const RestoreStatus&) = delete;
  ~RestoreStatus();

  /// What objects have and the file lacks, what the file has and no object, and what was skipped.
  const StateDifference& difference() const { return difference_; }
  /// Errors: ValueError, with a line for each tensor, unless everything in the file was taken and nothing was missing.
  const RestoreStatus& assert_consumed() const;
  /// The same, but the file may have more.
  const RestoreStatus& assert_existing_objects_matched() const;
  /// No warning: only a part was wanted.
  const RestoreStatus& expect_partial() const;

 private:
  std::string path_;
  StateDifference difference_;
  mutable bool is_asked_ = false;
};

/// Objects under names whose state is saved together, and restored.
///
///     std::int64_t step = 0;
///     Checkpoint checkpoint({{"model", model}, {"optimizer", optimizer}, {"step", step}, {"random", RandomState()}});
///     checkpoint.write("run/checkpoint");
///     checkpoint.restore("run/checkpoint").assert_consumed();
class CAPSTAN_EXPORT Checkpoint {
 public:
  /// Errors: ValueError for a name that is empty, has a '/', is "save_counter" or occurs there twice.
  explicit Checkpoint(std::initializer_list<std::pair<std::string, State>> objects);
  explicit Checkpoint(std::vector<std::pair<std::string, State>> objects);

  /// Writes a file and returns its path. Errors: IoError if that fails, with the old file in its place; what the
  /// objects throw, such as ValueError for a model without weights.
  std::string write(const std::string& path) const;

  /// Writes `prefix`-1, then `prefix`-2 and so on, and the text file "checkpoint" beside it, which names the latest, as
  /// TensorFlow does. Returns the path. The count is part of the state.
  std::string save(const std::string& prefix) const;
  /// How many times save() was called, in the runs before this one, too.
  std::int64_t save_counter() const;

  /// Takes over what a file has. Everything is read and compared before anything is changed.
  ///
  /// What is missing or left over is in the status. An optimizer whose slots are not there yet takes them at its first
  /// update. Errors, with nothing changed: IoError for a file that is none or is damaged; ValueError for tensors of
  /// another shape or dtype, unless skipped, and if nothing at all has a name that the objects know; what an object's
  /// own `restore` throws.
  RestoreStatus restore(const std::string& path, const RestoreOptions& options = {}) const;
  /// What restoring would find; nothing is changed, and nothing but a bad file is an error.
  StateDifference compare(const std::string& path) const;

  /// Takes over what TensorFlow's tf.train.Checkpoint with objects of these names wrote, or its CheckpointManager. The
  /// prefix is the path of the files without ".index"; latest_checkpoint() finds it.
  ///
  ///     std::int64_t step = 0;
  ///     Checkpoint checkpoint({{"model", model}, {"optimizer", optimizer}, {"step", step}});
  ///     checkpoint.write_tensorflow("run/weights");   // tf.train.Checkpoint(model=, optimizer=, step=)
  ///     checkpoint.read_tensorflow("run/weights").assert_consumed();
  ///
  /// Models of Keras are found along the attributes of their layers: those of Sequential and functional models in
  /// their order; those of a class of one's own by the names that they were given, else in their order, or among the
  /// variables of an optimizer. A compiled model brings its optimizer. Rates, counts and numbers may have another size
  /// than here; the keys of layers that draw are not in such files, and stay. The status and the errors are those of
  /// restore(); IoError also for a checkpoint without a graph of objects.
  RestoreStatus read_tensorflow(const std::string& prefix, const RestoreOptions& options = {}) const;

  /// Writes `prefix`.index and `prefix`.data-00000-of-00001, from which tf.train.Checkpoint restores the same objects
  /// of Keras 3, so that `assert_consumed` passes. Returns the prefix. An int becomes an int32, as tf.Variable(0) is.
  /// Of an object with names alone, such as RandomState, each '/' is an attribute. Layers of a class of one's own have
  /// to be given the names of the attributes that hold them in Python, unless an optimizer trains their weights.
  /// Errors: IoError; what the objects throw.
  std::string write_tensorflow(const std::string& prefix) const;

 private:
  friend class CheckpointManager;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// The path of the checkpoint that the text file "checkpoint" in a directory names as the latest, or none.
///
///     if (auto path = latest_checkpoint("checkpoints")) checkpoint.restore(*path);
CAPSTAN_EXPORT std::optional<std::string> latest_checkpoint(const std::string& directory);

/// Options of CheckpointManager.
struct CheckpointManagerOptions {
  /// The oldest beyond so many are deleted; none: all are kept.
  std::optional<std::int64_t> max_to_keep = 5;
  /// One that was written so long after the last one that was kept for this reason is never deleted.
  std::optional<double> keep_checkpoint_every_n_hours = {};
  std::string checkpoint_name = "ckpt";
  /// What `checkpoint_interval` looks at; must outlive the manager.
  const std::int64_t* step_counter = nullptr;
  /// save() does nothing before so many steps have gone by since the last one.
  std::optional<std::int64_t> checkpoint_interval = {};
  /// What restore_or_initialize() calls if there is no checkpoint.
  std::function<void()> init = {};
  /// save() returns when it knows what to write; a thread of the manager writes it.
  bool asynchronous = false;
  /// Checkpoints are those of Checkpoint::write_tensorflow, which tf.train.CheckpointManager goes on with, and paths
  /// are their prefixes. What is restored may have either form.
  bool tensorflow_format = false;
};

/// Options of CheckpointManager::save.
struct ManagerSaveOptions {
  std::optional<std::int64_t> checkpoint_number = {};  ///< instead of the count of the checkpoint
  bool check_interval = true;                          ///< false: writes whatever `checkpoint_interval` says
};

/// Checkpoints in a directory, of which the latest are kept. The text file "checkpoint" in it has TensorFlow's form.
///
///     CheckpointManager manager(checkpoint, "run", {.max_to_keep = 3});
///     manager.restore_or_initialize();
///     while (step < 1000) {
///       ...
///       if (++step % 100 == 0) manager.save();
///     }
///
/// Belongs to one thread at a time. Errors: ValueError for max_to_keep or checkpoint_interval below 1, hours that are
/// not positive, an interval without a step_counter, or a name that is empty or has a '/'; IoError if the directory
/// cannot be made or its file "checkpoint" is damaged.
class CAPSTAN_EXPORT CheckpointManager {
 public:
  CheckpointManager(const Checkpoint& checkpoint, const std::string& directory,
                    const CheckpointManagerOptions& options = {});
  CheckpointManager(const CheckpointManager&) = delete;
  CheckpointManager& operator=(const CheckpointManager&) = delete;
  /// Waits for what is being written; an error that nobody asked for is a warning.
  ~CheckpointManager();

  /// Writes a checkpoint, deletes what is too old, and returns the path; none if it is too early. Errors: IoError; with
  /// `asynchronous` also that of the save before.
  std::optional<std::string> save(const ManagerSaveOptions& options = {});
  /// Waits until everything is written. Errors: IoError if writing failed.
  void wait();
  /// The latest, or none; as of the last save(), also if it is still being written.
  std::optional<std::string> latest_checkpoint() const;
  /// Those that are kept, the oldest first, without the ones that are kept for ever. Waits for what is being written.
  std::vector<std::string> checkpoints() const;
  /// Restores the latest and returns its path, or calls `init` and returns none. Errors: what Checkpoint::restore
  /// throws; ValueError if something is missing or left over.
  std::optional<std::string> restore_or_initialize();
  const std::string& directory() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace capstan
