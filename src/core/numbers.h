// Plain numbers as elements of tensors.
#pragma once

#include "capstan/tensor.h"

namespace capstan {

// The dtype of an integer that meets no tensor: int32, or int64 if that cannot hold it.
inline DType dtype_of_integer(std::int64_t number) {
  return number == static_cast<std::int32_t>(number) ? DType::kInt32 : DType::kInt64;
}

// Writes a number as one element. Throws ValueError if the dtype cannot hold it.
void write_scalar(double number, DType dtype, void* data);

// Writes a number among an op's operands, which takes the dtype of the tensor that it meets. Throws DTypeError for a
// floating number that meets integers, for a complex one that meets real numbers, and for a truth value that meets
// anything but bool.
void write_number(const Operand& operand, DType dtype, void* data);

}  // namespace capstan
