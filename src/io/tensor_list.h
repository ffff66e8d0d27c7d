// The list of tensors that heads a .safetensors file, and a checkpoint: JSON of one form.
//
//     {"__metadata__": {"format": "pt"}, "kernel": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//
// Offsets are relative to the first byte after the list. It is read by a grammar of its own, not as any JSON: nothing
// nests, so that no text makes it recurse, and memory is bounded by the length of the text. A name that is there
// twice is refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/tensor.h"
#include "src/io/byte_source.h"

namespace capstan::io {

struct ListedTensor {
  std::string name;
  std::string dtype;  // as it is there: "F32"
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;
  std::optional<std::uint32_t> checksum;  // of checkpoints
};

struct TensorList {
  std::map<std::string, std::string> metadata;
  std::vector<ListedTensor> tensors;
};

/// Reads a list; fails in the name of `source`.
TensorList parse_tensor_list(const ByteSource& source, std::string_view json);

/// The text of a list; on one line, without spaces.
std::string tensor_list_text(const TensorList& list);

/// The entry of a tensor whose elements begin there, without a checksum.
ListedTensor listed_at(const std::string& name, const Tensor& tensor, std::uint64_t begin);

/// Checks dtype, shape and length of a listed tensor against each other; fails in the name of `source`.
void check_listed(const ByteSource& source, const ListedTensor& listed);

/// Reads the elements, which come next in the source, and compares their checksum, if there is one. Types that tensors
/// lack become the next wider one that has all their values: F16 float32, I8, I16 and U16 int32, U32 and U64 int64.
/// Fails if a U64 does not fit.
Tensor read_listed(ByteSource& source, const ListedTensor& listed);

/// The bytes of a tensor that has its elements.
std::span<const std::byte> bytes_of(const Tensor& tensor);

/// Throws unless a tensor can be written: TraceError for one of a trace, ValueError for an empty one or a name that is
/// empty or no UTF-8. A row-sparse one becomes dense.
Tensor writable(const char* writer, const std::string& name, const Tensor& tensor);

}  // namespace capstan::io
