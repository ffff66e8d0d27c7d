#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "capstan/dtype.h"
#include "capstan/shape.h"

namespace capstan {

/// What is known of a tensor before there is one: dtype, rank, lengths of axes. A length may be left open, as -1 or
/// std::nullopt, and so may the whole shape. For FunctionOptions::input_signature and get_concrete().
///
///     TensorSpec images({-1, 28, 28}, float32, "images");  // any number of images
///     TensorSpec anything(std::nullopt);                    // float32 of any shape
///     images.to_string();                                   // "float32[?, 28, 28] images"
struct CAPSTAN_EXPORT TensorSpec {
  /// Errors: ShapeError for a length below -1.
  TensorSpec(std::initializer_list<std::optional<std::int64_t>> lengths, DType dtype = floatx(), std::string name = {});
  TensorSpec(const Shape& shape, DType dtype = floatx(), std::string name = {});
  TensorSpec(std::nullopt_t, DType dtype = floatx(), std::string name = {});

  /// True for a tensor of this dtype and shape.
  bool fits(DType dtype, const Shape& shape) const;

  /// "float32[?, 28, 28] images"; "float32[...]" if the rank is open.
  std::string to_string() const;

  /// Open lengths are -1; nothing if even the rank is open.
  std::optional<Shape> shape;
  DType dtype;
  /// For messages and signatures.
  std::string name;
};

}  // namespace capstan
