// What is in a `.keras` archive: a configuration and weights.
#pragma once

#include <memory>
#include <string>

#include "src/io/byte_source.h"
#include "src/io/zip_archive.h"

namespace capstan::io {

/// The names of the members.
inline constexpr const char kKerasConfig[] = "config.json", kKerasWeights[] = "model.weights.h5",
                            kKerasMetadata[] = "metadata.json";

/// The version of Keras whose form files have.
inline constexpr const char kKerasVersion[] = "3.15.1";

/// An archive that is open for reading. Other members than these are never looked at. Every function throws IoError in
/// the name of `reader`.
class KerasArchive {
 public:
  KerasArchive(const std::string& reader, const std::string& path);

  /// The configuration of the model, as JSON.
  std::string config();
  /// The file of weights; the archive must outlive it.
  std::unique_ptr<ByteSource> weights();

 private:
  std::unique_ptr<ByteSource> open(const std::string& name);

  std::string reader_, path_;
  ZipArchive archive_;
};

}  // namespace capstan::io
