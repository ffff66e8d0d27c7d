// bfloat16 in kernels of float32: inputs are widened into a copy, outputs are rounded at the end.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "src/core/allocator.h"

namespace capstan {

// The elements of a tensor of T, or of bfloat16 as T.
template <class T>
class WideInput {
 public:
  explicit WideInput(const TensorRef& tensor) {
    if (tensor.dtype() == DType::kBFloat16) {
      const BFloat16* narrow = tensor.data<BFloat16>();
      copy_.assign(narrow, narrow + tensor.size());
      data_ = copy_.data();
    } else {
      data_ = tensor.data<T>();
    }
  }
  operator const T*() const { return data_; }

 private:
  const T* data_ = nullptr;
  std::vector<T> copy_;
};

template <class T>
class WideOutput {
 public:
  explicit WideOutput(const Tensor& tensor) : tensor_(tensor) {
    if (tensor.dtype() == DType::kBFloat16) {
      copy_.resize(static_cast<std::size_t>(tensor.size()));
      data_ = copy_.data();
    } else {
      data_ = mutable_data<T>(tensor);
    }
  }
  ~WideOutput() {
    if (tensor_.dtype() != DType::kBFloat16) return;
    std::transform(copy_.begin(), copy_.end(), mutable_data<BFloat16>(tensor_),
                   [](T v) { return BFloat16(static_cast<float>(v)); });
  }
  WideOutput(const WideOutput&) = delete;
  WideOutput& operator=(const WideOutput&) = delete;
  operator T*() const { return data_; }

 private:
  const Tensor& tensor_;
  T* data_ = nullptr;
  std::vector<T> copy_;
};

// Calls run(double{}) for float64 and run(float{}) for the other floating dtypes.
template <class Run>
void with_wide_type(DType dtype, const Run& run) {
  if (dtype == DType::kFloat64) {
    run(double{});
  } else {
    run(float{});
  }
}

}  // namespace capstan
