// The text file "checkpoint" of a directory: which checkpoints there are, in TensorFlow's form.
//
//     model_checkpoint_path: "ckpt-3"
//     all_model_checkpoint_paths: "ckpt-2"
//     all_model_checkpoint_paths: "ckpt-3"
//     all_model_checkpoint_timestamps: 1700000000.5
//     all_model_checkpoint_timestamps: 1700000060.25
//     last_preserved_timestamp: 1699999999.5
//
// A manager deletes files that are here, so only names of files in the directory itself are accepted.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace capstan {

struct CheckpointList {
  std::string latest;              // a name in the directory
  std::vector<std::string> names;  // the oldest first
  std::vector<double> timestamps;  // one for each, or none; seconds since 1970
  std::optional<double> last_preserved;
};

// Throws IoError for a file that is damaged or names files elsewhere. Nothing if there is none.
std::optional<CheckpointList> read_checkpoint_list(const std::string& directory);
void write_checkpoint_list(const std::string& directory, const CheckpointList& list);

// "run/ckpt-3" is "ckpt-3" in "run".
std::string directory_of(const std::string& path);
std::string path_in(const std::string& directory, const std::string& name);

}  // namespace capstan
