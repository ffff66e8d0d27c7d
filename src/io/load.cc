#include "capstan/io.h"

#include "src/io/idx.h"
#include "src/io/npy.h"
#include "src/io/npz.h"
#include "src/io/to_tensor.h"

namespace capstan::io {

Tensor load_npy(const std::string& path) { return to_tensor(read_npy(path), path); }

Tensor load_idx(const std::string& path) { return to_tensor(read_idx(path), path); }

std::map<std::string, Tensor> load_npz(const std::string& path) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, array] : read_npz(path)) {
    tensors.emplace(name, to_tensor(array, path + ", member " + quoted(name)));
  }
  return tensors;
}

}  // namespace capstan::io
