// Files of PyTorch: state dictionaries and other plain structures with tensors, as torch.save writes them.
//
// A `.pt` file holds a pickle, which in PyTorch is a program that may do anything. Here nothing of it is run: the
// reader knows tensors, numbers, texts, lists, tuples and dictionaries, and refuses every file that names anything
// else.
#pragma once

#include <map>
#include <string>

#include "capstan/io.h"
#include "capstan/registry.h"

namespace capstan::io {

/// What a file of torch.save holds, by where it is: "model.0.weight" is what the key "0.weight" of the dictionary
/// under "model" has, "history.2" the third value of a list. A single tensor is under "".
struct TorchFile {
  NamedArrays tensors;
  /// Numbers, truth values, texts and None, and lists and tuples that have nothing else, as one value.
  std::map<std::string, AttributeValue> values = {};
};

/// Reads a file of torch.save in the zip format of PyTorch 1.6 and later. Types that tensors lack become the next wider
/// one that has all their values: float16 float32, int8 and int16 int32. Views are copied.
///
///     io::TorchFile file = io::load_torch("model.pt");
///     Tensor kernel = transpose(file.tensors.at("fc1.weight"));   // PyTorch's Linear has [units, inputs]
///
/// Errors: IoError for a file that is damaged or in the older format, and for one that names anything but tensors and
/// plain containers: a module that was saved as a whole for example.
CAPSTAN_EXPORT TorchFile load_torch(const std::string& path);

}  // namespace capstan::io
