// The numbers that the tutorials draw with NumPy, so that the examples train on the same ones.
//
// They lie in examples/data as NumPy wrote them. Each archive holds x, float32, and y: float32[100,
// 1] for 000_linear, int64 class numbers for the others.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "capstan/io.h"

namespace examples {

/// The directory examples/data of the sources that this program was built from, or else of the
/// working directory.
inline std::string data_directory() {
  namespace fs = std::filesystem;
  const fs::path beside_sources = fs::path(__FILE__).parent_path().parent_path() / "data";
  std::error_code ignored;
  return fs::is_directory(beside_sources, ignored) ? beside_sources.string() : "examples/data";
}

/// The arrays of examples/data/`name`.npz, by their names in the file. Throws capstan::IoError.
///
///     auto data = examples::load_npz("000_linear");
///     Tensor x = data.at("x"), y = data.at("y");
inline std::map<std::string, capstan::Tensor> load_npz(const std::string& name) {
  return capstan::io::load_npz(data_directory() + "/" + name + ".npz");
}

}  // namespace examples
