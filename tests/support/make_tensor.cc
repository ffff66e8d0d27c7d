#include "tests/support/make_tensor.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/backend.h"

namespace capstan::testing {

namespace {

template <class T>
T convert(double number) {
  if constexpr (std::is_same_v<T, bool>) {
    return number != 0;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(static_cast<float>(number));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(number));
  } else {
    return static_cast<T>(number);
  }
}

// Pairs of a real and an imaginary part, or real parts only.
template <class T>
void fill_complex(const Tensor& tensor, const std::vector<double>& numbers) {
  auto* out = mutable_data<std::complex<T>>(tensor);
  const auto count = static_cast<std::size_t>(tensor.size());
  const bool pairs = numbers.size() == 2 * count;
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = pairs ? std::complex<T>(static_cast<T>(numbers[2 * i]), static_cast<T>(numbers[2 * i + 1]))
                   : std::complex<T>(static_cast<T>(numbers[i]));
  }
}

template <class T>
void fill(const Tensor& tensor, const std::vector<double>& numbers) {
  T* out = mutable_data<T>(tensor);
  for (std::size_t i = 0; i < numbers.size(); ++i) out[i] = convert<T>(numbers[i]);
}

std::size_t bytes_of(const Tensor& tensor) { return static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype()); }

}  // namespace

Tensor make_tensor(DType dtype, const Shape& shape, const std::vector<double>& numbers) {
  Tensor tensor = new_tensor(dtype, shape);
  const auto count = static_cast<std::size_t>(tensor.size());
  if (numbers.size() != count && !(is_complex(dtype) && numbers.size() == 2 * count))
    throw std::logic_error("make_tensor: wrong number of elements");
  switch (dtype) {
    case DType::kFloat32:
      fill<float>(tensor, numbers);
      break;
    case DType::kFloat64:
      fill<double>(tensor, numbers);
      break;
    case DType::kBFloat16:
      fill<BFloat16>(tensor, numbers);
      break;
    case DType::kInt32:
      fill<std::int32_t>(tensor, numbers);
      break;
    case DType::kInt64:
      fill<std::int64_t>(tensor, numbers);
      break;
    case DType::kUInt8:
      fill<std::uint8_t>(tensor, numbers);
      break;
    case DType::kBool:
      fill<bool>(tensor, numbers);
      break;
    case DType::kComplex64:
      fill_complex<float>(tensor, numbers);
      break;
    case DType::kComplex128:
      fill_complex<double>(tensor, numbers);
      break;
  }
  return placed(std::move(tensor));
}

Tensor as_view(const Tensor& tensor) {
  constexpr std::int64_t kOffset = 3;
  Backend* const backend = backend_of(tensor.block());
  const Tensor larger = new_tensor_on(backend, tensor.dtype(), Shape{tensor.size() + kOffset + 2});
  poison(larger);
  Tensor view = make_view(larger, tensor.shape(), kOffset);
  copy_bytes(backend, view.block()->data, tensor.block()->data, bytes_of(tensor));
  return view;
}

Tensor copy(const Tensor& tensor) {
  Backend* const backend = backend_of(tensor.block());
  Tensor result = new_tensor_on(backend, tensor.dtype(), tensor.shape());
  copy_bytes(backend, result.block()->data, tensor.block()->data, bytes_of(tensor));
  return result;
}

void poison(const Tensor& tensor) {
  if (tensor.size() == 0) return;
  const int byte = is_differentiable(tensor.dtype()) ? 0xff : tensor.dtype() == DType::kBool ? 1 : 0x7f;
  if (Backend* const backend = backend_of(tensor.block())) {
    backend->write(tensor.block()->data,
                   std::vector<std::uint8_t>(bytes_of(tensor), static_cast<std::uint8_t>(byte)).data(),
                   bytes_of(tensor));
    return;
  }
  std::memset(mutable_raw_data(tensor), byte, bytes_of(tensor));
}

}  // namespace capstan::testing
