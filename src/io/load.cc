#include "capstan/io.h"

#include "capstan/error.h"

#include "src/io/idx.h"
#include "src/io/npy.h"
#include "src/io/npz.h"
#include "src/io/to_tensor.h"

namespace capstan::io {

Tensor load_npy(const std::string& path) { return npy_tensor(*open_file("load_npy", path)); }

Tensor load_idx(const std::string& path) { return to_tensor("load_idx", read_idx(path), path); }

NamedArrays load_npz(const std::string& path) {
  NamedArrays tensors(path);
  for (auto& [name, array] : npz_tensors(path)) tensors.emplace(name, std::move(array));
  return tensors;
}

const Tensor& NamedArrays::at(const std::string& name) const {
  const auto found = find(name);
  if (found != end()) return found->second;
  std::string known;
  for (const auto& [other, array] : *this) known += (known.empty() ? "" : ", ") + in_quotes(other);
  throw IndexError(reader_ + ": " + path_ + " has no array " + in_quotes(name) + "; it has " +
                   (known.empty() ? "none" : known));
}

}  // namespace capstan::io
