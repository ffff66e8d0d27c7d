#include "capstan/hdf5_files.h"
#include "src/core/unfilled.h"
#include "src/io/hdf5_file.h"
#include "src/io/hdf5_writer.h"
#include "src/io/keras_archive.h"

namespace capstan::io {

std::map<std::string, Tensor> load_hdf5_file(const std::string& reader, const std::string& path, Hdf5Texts* texts) {
  if (!path.ends_with(".keras")) return load_hdf5_from(*open_plain_file(reader, path), texts);
  KerasArchive archive(reader, path);
  return load_hdf5_from(*archive.weights(), texts);
}

std::map<std::string, Tensor> load_hdf5_from(ByteSource& source, Hdf5Texts* texts) {
  const std::uint64_t size = source.most_bytes();
  const Tensor memory = detail::unfilled(int64, {static_cast<std::int64_t>(size / sizeof(std::int64_t) + 1)});
  const std::span bytes(static_cast<std::byte*>(const_cast<void*>(memory.raw_data())), size);
  if (source.can_read_at()) return read_hdf5(source, bytes, texts);
  read_into(source, bytes, "the file");
  return read_hdf5(source, bytes, std::make_shared<const Tensor>(memory), texts);
}

NamedArrays load_hdf5(const std::string& path) {
  NamedArrays arrays(path, "load_hdf5");
  for (auto& [name, tensor] : load_hdf5_file("load_hdf5", path)) arrays.emplace(name, std::move(tensor));
  return arrays;
}

void save_hdf5(const std::string& path, const std::map<std::string, Tensor>& tensors) {
  write_hdf5("save_hdf5", path, tensors);
}

}  // namespace capstan::io
