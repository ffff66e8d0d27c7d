// The file of a checkpoint.
//
// 32 bytes (below), a list of tensors as in tensor_list.h with the CRC-32C of each, and the elements. Every tensor
// begins at a multiple of 64 bytes, so that a program that maps the file can use them where they lie; the bytes between
// are zero. The sum of the list is in the 32 bytes, and that of these is at their end: so every byte of the file is
// covered, and the sum of the list stands for all. Numbers are little-endian.
//
//     0  "CAPSTANC"   8  version, 1   12  zero   16  length of the list   24  its sum   28  the sum of bytes 0 to 27
#pragma once

#include <map>
#include <string>

#include "capstan/tensor.h"

namespace capstan::io {

struct CheckpointContent {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Writes a checkpoint whole or not at all, and so that it is on the disk when this returns.
void write_checkpoint(const std::string& writer, const std::string& path, const CheckpointContent& content);

/// Reads one and verifies all sums. Throws IoError for anything else than what write_checkpoint wrote.
CheckpointContent read_checkpoint(const std::string& reader, const std::string& path);

}  // namespace capstan::io
