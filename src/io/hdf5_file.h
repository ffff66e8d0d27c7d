// HDF5 files, as far as weights are kept in them: groups, and datasets of numbers.
//
// Keras writes weights with the HDF Group's library, which is made for files that one trusts: given damaged ones it
// follows trees into themselves until the stack ends, and links into other files. So this is a reader of its own. It
// knows superblocks 0 to 3, both forms of object headers, groups as symbol tables, as links and as heaps of links, and
// datasets that are contiguous, compact or in chunks of any index, deflated, shuffled or with checksums. Every
// structure of a file is read at most once, so nothing goes round in circles and time is linear; no link leads anywhere
// but to an object of the file.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capstan/tensor.h"
#include "src/io/byte_source.h"

namespace capstan::io {

/// Lists of texts that groups have as attributes: "model_weights/dense@weight_names".
using Hdf5Texts = std::map<std::string, std::vector<std::string>>;

/// The datasets of a file by path: "layers/dense/vars/0". Types that tensors lack become the next wider one that has
/// all their values, as in tensor_list.h; an enumeration of FALSE and TRUE is bool, and two bytes of no type that an
/// attribute `dtype` describes are bfloat16, as Keras writes it.
///
/// Throws IoError, in the name of `source`, for what is damaged and for what weights do not need: texts, records that
/// are no complex numbers, other filters, links that lead to another file or nowhere, data in another file, and more
/// memory than the file has stored. With an owner, which keeps the bytes, tensors lie in them where they can. `texts`,
/// if given, get what there are of them.
std::map<std::string, Tensor> read_hdf5(const ByteSource& source, std::span<const std::byte> bytes,
                                        std::shared_ptr<const void> owner = nullptr, Hdf5Texts* texts = nullptr);

/// The same of a source that can read at any place, through memory as long as it. Tensors have memory of their own, to
/// which they are read.
std::map<std::string, Tensor> read_hdf5(ByteSource& source, std::span<std::byte> memory, Hdf5Texts* texts);

/// The same of a file on the disk, or of the weights in a `.keras` archive, in the name of `reader`. Those of an
/// archive share the memory that it was read to.
std::map<std::string, Tensor> load_hdf5_file(const std::string& reader, const std::string& path,
                                             Hdf5Texts* texts = nullptr);
/// The same of what a source has from here on.
std::map<std::string, Tensor> load_hdf5_from(ByteSource& source, Hdf5Texts* texts = nullptr);

}  // namespace capstan::io
