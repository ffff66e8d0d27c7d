// CheckpointManager: which checkpoints of a directory are kept, by the rules of TensorFlow's.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "src/checkpoint/checkpoint_impl.h"
#include "src/checkpoint/checkpoint_list.h"
#include "src/core/check.h"
#include "src/core/hooks.h"

namespace capstan {

namespace {

constexpr double kSecondsPerHour = 3600;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The calling thread takes no core from a thread that runs, as a training's: the steps beside a save of 3 MB lost 19 %
// without this and lose 13 %, if the training has two threads on two cores.
void let_others_run_first() {
  const sched_param none = {};
  sched_setscheduler(0, SCHED_BATCH, &none);
}

// Deletes a checkpoint of either form: a file, or an index and its files of elements.
void remove_checkpoint(const std::string& directory, const std::string& name) {
  std::error_code failure;
  std::filesystem::remove(path_in(directory, name), failure);
  if (!std::filesystem::remove(path_in(directory, name + ".index"), failure)) return;
  std::vector<std::filesystem::path> shards;
  for (std::filesystem::directory_iterator entry(directory, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->path().filename().string().starts_with(name + ".data-")) shards.push_back(entry->path());
  }
  for (const std::filesystem::path& shard : shards) std::filesystem::remove(shard, failure);
}

bool is_tensorflow(const std::string& path) {
  std::error_code failure;
  return !std::filesystem::exists(path, failure) && std::filesystem::exists(path + ".index", failure);
}

}  // namespace

struct CheckpointManager::Impl {
  Checkpoint checkpoint;
  std::string directory;
  CheckpointManagerOptions options;
  CheckpointList list;  // of those that may be deleted one day; belongs to the writer while it runs
  std::string latest;   // its path, or empty
  std::optional<std::int64_t> last_step;
  // Of a writer: what it writes, which this thread made and lets go, and how it ended.
  std::thread writer;
  std::function<void(const std::string& path)> write_content;
  std::exception_ptr error;

  void collect() {
    const Checkpoint::Impl& its = *checkpoint.impl_;
    if (options.tensorflow_format) {
      write_content = [bundle = its.collect_tensorflow()](const std::string& path) {
        io::write_tensor_bundle("save", path, bundle);
      };
    } else {
      write_content = [content = its.collect()](const std::string& path) {
        io::write_checkpoint("save", path, content);
      };
    }
  }

  // Until the writer is done; its error is left.
  void settle() {
    if (!writer.joinable()) return;
    writer.join();
    write_content = {};
    // Of what was not written, the one before.
    latest = list.latest.empty() ? "" : path_in(directory, list.latest);
  }

  void rethrow() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }

  void write(const std::string& name) {
    write_content(path_in(directory, name));
    // One that is written again is the youngest.
    for (std::size_t i = 0; i < list.names.size(); ++i) {
      if (list.names[i] == name) erase(i--);
    }
    list.names.push_back(name);
    list.timestamps.push_back(seconds_now());
    list.latest = name;
    // The list never names what is gone: it is written before files are deleted, too.
    write_checkpoint_list(directory, list);
    if (sweep()) write_checkpoint_list(directory, list);
  }

  bool sweep() {
    bool has_changed = false;
    while (options.max_to_keep && static_cast<std::int64_t>(list.names.size()) > *options.max_to_keep) {
      const std::string name = list.names.front();
      const double time = list.timestamps.front();
      erase(0);
      has_changed = true;
      if (options.keep_checkpoint_every_n_hours &&
          time - *options.keep_checkpoint_every_n_hours * kSecondsPerHour >= *list.last_preserved) {
        list.last_preserved = time;
        continue;
      }
      remove_checkpoint(directory, name);
    }
    return has_changed;
  }

  void erase(std::size_t i) {
    list.names.erase(list.names.begin() + static_cast<std::ptrdiff_t>(i));
    list.timestamps.erase(list.timestamps.begin() + static_cast<std::ptrdiff_t>(i));
  }
};

CheckpointManager::CheckpointManager(const Checkpoint& checkpoint, const std::string& directory,
                                     const CheckpointManagerOptions& options)
    : impl_(new Impl{checkpoint, directory, options, {}, {}, {}, {}, {}, {}}) {
  const CheckpointManagerOptions& o = options;
  const std::string& name = o.checkpoint_name;
  CAPSTAN_CHECK(!o.max_to_keep || *o.max_to_keep >= 1, ValueError,
                "checkpoint_manager: max_to_keep must be at least 1, or none, not ", *o.max_to_keep);
  CAPSTAN_CHECK(!o.keep_checkpoint_every_n_hours || *o.keep_checkpoint_every_n_hours > 0, ValueError,
                "checkpoint_manager: keep_checkpoint_every_n_hours must be positive, not ",
                *o.keep_checkpoint_every_n_hours);
  CAPSTAN_CHECK(!o.checkpoint_interval || *o.checkpoint_interval >= 1, ValueError,
                "checkpoint_manager: checkpoint_interval must be at least 1, not ", *o.checkpoint_interval);
  CAPSTAN_CHECK(!o.checkpoint_interval || o.step_counter != nullptr, ValueError,
                "checkpoint_manager: checkpoint_interval ", *o.checkpoint_interval, " needs a step_counter");
  CAPSTAN_CHECK(!name.empty() && name.find('/') == std::string::npos, ValueError,
                "checkpoint_manager: checkpoint_name \"", name, "\" is not the beginning of a file's name");
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  CAPSTAN_CHECK(std::filesystem::is_directory(directory), IoError, "checkpoint_manager: the directory cannot be made, ",
                failure.message(), "\n  file: ", directory);
  const double now = seconds_now();
  CheckpointList& list = impl_->list;
  if (std::optional<CheckpointList> known = read_checkpoint_list(directory)) {
    list = std::move(*known);
    impl_->latest = path_in(directory, list.latest);
    // As written by Checkpoint::save.
    list.timestamps.resize(list.names.size(), now);
    list.last_preserved = std::min(list.last_preserved.value_or(now), now);
  } else {
    list.last_preserved = now - 1;
  }
}

CheckpointManager::~CheckpointManager() {
  if (impl_ == nullptr) return;
  impl_->settle();
  try {
    impl_->rethrow();
  } catch (const std::exception& error) {
    warn(std::string("a checkpoint was not written: ") + error.what());
  }
}

std::optional<std::string> CheckpointManager::save(const ManagerSaveOptions& options) {
  Impl& its = *impl_;
  wait();
  const std::int64_t step = its.options.step_counter != nullptr ? *its.options.step_counter : 0;
  if (its.options.checkpoint_interval && options.check_interval && its.last_step &&
      step - *its.last_step < *its.options.checkpoint_interval) {
    return std::nullopt;
  }
  std::int64_t& counter = its.checkpoint.impl_->save_counter;
  ++counter;
  try {
    its.collect();
    const std::string name =
        its.options.checkpoint_name + "-" + std::to_string(options.checkpoint_number.value_or(counter));
    if (its.options.asynchronous) {
      its.writer = std::thread([&its, name] {
        let_others_run_first();
        try {
          its.write(name);
        } catch (...) {
          its.error = std::current_exception();
        }
      });
    } else {
      its.write(name);
      its.write_content = {};
    }
    its.latest = path_in(its.directory, name);
  } catch (...) {
    --counter;
    its.write_content = {};
    throw;
  }
  its.last_step = step;
  return its.latest;
}

void CheckpointManager::wait() {
  impl_->settle();
  impl_->rethrow();
}

std::optional<std::string> CheckpointManager::latest_checkpoint() const {
  return impl_->latest.empty() ? std::nullopt : std::optional(impl_->latest);
}

std::vector<std::string> CheckpointManager::checkpoints() const {
  impl_->settle();
  std::vector<std::string> paths;
  for (const std::string& name : impl_->list.names) paths.push_back(path_in(impl_->directory, name));
  return paths;
}

std::optional<std::string> CheckpointManager::restore_or_initialize() {
  Impl& its = *impl_;
  wait();
  if (its.latest.empty()) {
    if (its.options.init) its.options.init();
    return std::nullopt;
  }
  if (is_tensorflow(its.latest)) {
    its.checkpoint.impl_->read_tensorflow(its.latest, {}, true).expect_partial();
  } else {
    const StateDifference difference = its.checkpoint.compare(its.latest);
    RestoreStatus(its.latest, difference).assert_consumed();
    its.checkpoint.restore(its.latest).expect_partial();
  }
  if (its.options.step_counter != nullptr) its.last_step = *its.options.step_counter;
  return its.latest;
}

const std::string& CheckpointManager::directory() const { return impl_->directory; }

}  // namespace capstan
