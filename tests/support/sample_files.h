// Files of other tools, with what is in them: tests/golden/files.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/golden_json.h"

namespace capstan::testing {

inline std::string sample_path(const std::string& file) {
  return std::string(CAPSTAN_SOURCE_DIR) + "/tests/golden/files/" + file;
}

// The entries of a folder, each with the path of its file. Fails if there are none.
inline std::vector<Json> samples_of(const std::string& folder) {
  std::vector<Json> entries;
  const Json index = read_json(sample_path(folder + "/index.json"));
  for (Json entry : index.at("files")) {
    entry["path"] = sample_path(folder + "/" + entry.at("file").get<std::string>());
    entries.push_back(std::move(entry));
  }
  EXPECT_FALSE(entries.empty()) << folder;
  return entries;
}

// Bytes written as pairs of hexadecimal digits.
inline std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// A tensor as the readers give it: smaller types become wider ones.
inline Tensor expected_tensor(Json json) {
  for (const auto& [narrow, wide] : {std::pair{"float16", "float32"}, {"int16", "int32"}, {"int8", "int32"}}) {
    if (json.at("dtype") == narrow) json["dtype"] = wide;
  }
  return tensor_from_json(json);
}

}  // namespace capstan::testing
