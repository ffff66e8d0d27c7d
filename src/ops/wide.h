// Narrow dtypes in kernels of float32 and float64: inputs are widened into a copy, outputs are
// rounded at the end.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "src/core/allocator.h"
#include "src/core/op_def.h"

namespace capstan {

// The elements of a tensor of T, or of bfloat16 or int32 as T.
template <class T>
class WideInput {
 public:
  explicit WideInput(const TensorRef& tensor) {
    if (tensor.dtype() == DType::kBFloat16) {
      const BFloat16* narrow = tensor.data<BFloat16>();
      copy_.assign(narrow, narrow + tensor.size());
      data_ = copy_.data();
    } else if (tensor.dtype() == DType::kInt32) {
      const std::int32_t* narrow = tensor.data<std::int32_t>();
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

// An input that is last and may not be there; then it is null.
template <class T>
class OptionalInput {
 public:
  OptionalInput(const Call& call, int i) {
    if (call.input_count() > i) wide_.emplace(call.input(i));
  }
  operator const T*() const { return wide_ ? static_cast<const T*>(*wide_) : nullptr; }

 private:
  std::optional<WideInput<T>> wide_;
};

template <class T>
class WideOutput {
 public:
  explicit WideOutput(const Tensor& tensor) : tensor_(tensor) {
    if (tensor.dtype() == DType::kBFloat16 || tensor.dtype() == DType::kInt32) {
      copy_.resize(static_cast<std::size_t>(tensor.size()));
      data_ = copy_.data();
    } else {
      data_ = mutable_data<T>(tensor);
    }
  }
  ~WideOutput() {
    if (tensor_.dtype() == DType::kBFloat16) {
      std::transform(copy_.begin(), copy_.end(), mutable_data<BFloat16>(tensor_),
                     [](T v) { return BFloat16(static_cast<float>(v)); });
    } else if (tensor_.dtype() == DType::kInt32) {
      // Sums of products may exceed int32; they wrap around, as integers do.
      std::transform(copy_.begin(), copy_.end(), mutable_data<std::int32_t>(tensor_), [](T v) {
        return v >= T(-9.2e18) && v <= T(9.2e18) ? static_cast<std::int32_t>(static_cast<std::int64_t>(v)) : 0;
      });
    }
  }
  WideOutput(const WideOutput&) = delete;
  WideOutput& operator=(const WideOutput&) = delete;
  operator T*() const { return data_; }

 private:
  const Tensor& tensor_;
  T* data_ = nullptr;
  std::vector<T> copy_;
};

// Calls run(double{}) for float64 and int32, and run(float{}) for the other dtypes.
template <class Run>
void with_wide_type(DType dtype, const Run& run) {
  if (dtype == DType::kFloat64 || dtype == DType::kInt32) {
    run(double{});
  } else {
    run(float{});
  }
}

}  // namespace capstan
