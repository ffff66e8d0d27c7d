// What a Checkpoint shares with its manager.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "capstan/checkpoint.h"
#include "src/io/checkpoint_file.h"
#include "src/io/tensor_bundle.h"

namespace capstan {

struct Checkpoint::Impl {
  std::vector<std::pair<std::string, State>> objects;
  std::int64_t save_counter = 0;

  explicit Impl(std::vector<std::pair<std::string, State>> given);
  // All there is now. The tensors share their elements with variables, which are not written while others hold them.
  io::CheckpointContent collect() const;
  io::TensorBundle collect_tensorflow() const;

  // What a file has for each object, and how it differs.
  struct Found {
    std::vector<NamedTensors> parts;
    StateDifference difference;
    bool knows_any = false;
  };
  Found find(const NamedTensors& saved) const;
  // Changes the objects to what was found, or throws in the name of `what` and changes nothing.
  RestoreStatus take_over(const std::string& what, const std::string& path, const NamedTensors& saved, Found found,
                          const RestoreOptions& options);
  // With `everything`, what is missing or left over is an error that changes nothing.
  RestoreStatus read_tensorflow(const std::string& prefix, const RestoreOptions& options, bool everything);
};

}  // namespace capstan
