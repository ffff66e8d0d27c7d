// The file of saved functions: a checkpoint (src/io/checkpoint_file.h) with these names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "capstan/saved_model.h"
#include "src/io/checkpoint_file.h"

namespace capstan::saved_model {

// Texts beside the tensors: the functions and variables as JSON, and what the program has added.
inline constexpr const char* kGraphs = "saved_model";
inline constexpr const char* kDescription = "description";

inline std::string path_of(const std::string& folder) {
  return (std::filesystem::path(folder) / "saved_model.capstan").string();
}
inline std::string name_of_variable(std::size_t i) { return "variables/" + std::to_string(i); }
inline std::string name_of_constant(std::size_t i) { return "constants/" + std::to_string(i); }

// The functions of such a content; errors name the path.
Loaded read_functions(const std::string& path, const io::CheckpointContent& content);

}  // namespace capstan::saved_model
