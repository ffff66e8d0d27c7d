#include "src/core/numbers.h"

#include <cmath>
#include <complex>
#include <string>

#include "capstan/variable.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"

namespace capstan {

namespace {

// With all digits of an integer.
[[noreturn, gnu::cold, gnu::noinline]] void throw_does_not_fit(double number, DType dtype) {
  const bool fits_int64 = number == std::floor(number) && std::abs(number) < 0x1p63;
  const std::string digits = fits_int64 ? std::to_string(static_cast<std::int64_t>(number)) : detail::join("", number);
  throw ValueError(
      detail::join("constant: the number ", digits, " does not fit ", dtype,
                   fits_int64 && dtype == DType::kInt32 ? help("write constant(" + digits + ", int64)") : ""));
}

}  // namespace

void write_scalar(double number, DType dtype, void* data) {
  const auto integer_in_range = [&](double low, double high) {
    if (!(number >= low && number <= high && number == std::floor(number))) [[unlikely]]
      throw_does_not_fit(number, dtype);
  };
  switch (dtype) {
    case DType::kFloat32:
      *static_cast<float*>(data) = static_cast<float>(number);
      break;
    case DType::kFloat64:
      *static_cast<double*>(data) = number;
      break;
    case DType::kBFloat16:
      *static_cast<BFloat16*>(data) = BFloat16(static_cast<float>(number));
      break;
    case DType::kInt32:
      integer_in_range(-2147483648.0, 2147483647.0);
      *static_cast<std::int32_t*>(data) = static_cast<std::int32_t>(number);
      break;
    case DType::kInt64:
      integer_in_range(-9223372036854775808.0, 9223372036854774784.0);
      *static_cast<std::int64_t*>(data) = static_cast<std::int64_t>(number);
      break;
    case DType::kUInt8:
      integer_in_range(0, 255);
      *static_cast<std::uint8_t*>(data) = static_cast<std::uint8_t>(number);
      break;
    case DType::kBool:
      integer_in_range(0, 1);
      *static_cast<bool*>(data) = number != 0;
      break;
    case DType::kComplex64:
      *static_cast<std::complex<float>*>(data) = static_cast<float>(number);
      break;
    case DType::kComplex128:
      *static_cast<std::complex<double>*>(data) = number;
      break;
  }
}

void write_number(const Operand& operand, DType dtype, void* data) {
  if (dtype == DType::kFloat32 && operand.kind() <= Operand::Kind::kInt) [[likely]] {
    *static_cast<float*>(data) = static_cast<float>(operand.number());
    return;
  }
  if (operand.is_complex_literal()) {
    const std::complex<double> number(operand.real(), operand.imaginary());
    CAPSTAN_CHECK(is_complex(dtype), DTypeError, "a complex number, ", number, ", meets a tensor of dtype ", dtype,
                  help("convert the tensor with cast(x, complex64)"));
    if (dtype == DType::kComplex64) {
      *static_cast<std::complex<float>*>(data) = std::complex<float>(number);
    } else {
      *static_cast<std::complex<double>*>(data) = number;
    }
    return;
  }
  CAPSTAN_CHECK(operand.kind() != Operand::Kind::kFloat || is_differentiable(dtype), DTypeError, "a floating number, ",
                operand.number(), ", meets a tensor of dtype ", dtype,
                help("convert the tensor with cast(x, float32)"));
  CAPSTAN_CHECK((operand.kind() == Operand::Kind::kBool) == (dtype == DType::kBool), DTypeError,
                operand.kind() == Operand::Kind::kBool ? "a truth value" : "a number", " meets a tensor of dtype ",
                dtype);
  if (dtype == DType::kInt64) {
    *static_cast<std::int64_t*>(data) = operand.integer();
  } else {
    write_scalar(operand.number(), dtype, data);
  }
}

Tensor scalar(double number, DType dtype) {
  static constexpr std::uint32_t no_dims[kMaxRank] = {};
  Tensor tensor = Tensor::adopt(new_tensor_block(dtype, 0, no_dims, 1));
  write_scalar(number, dtype, mutable_raw_data(tensor));
  return tensor;
}

Tensor to_tensor(Operand operand) {
  switch (operand.kind()) {
    case Operand::Kind::kFloat:
      return scalar(operand.number(), floatx());
    case Operand::Kind::kInt:
      return to_tensor(operand, dtype_of_integer(operand.integer()));
    case Operand::Kind::kBool:
      return scalar(operand.number(), DType::kBool);
    case Operand::Kind::kComplex64:
      return to_tensor(operand, DType::kComplex64);
    case Operand::Kind::kComplex128:
      return to_tensor(operand, DType::kComplex128);
    case Operand::Kind::kGiven:
      return *operand.given();
    case Operand::Kind::kVariable:
      CAPSTAN_CHECK(operand.variable() != nullptr, ValueError, "variable: this handle is empty");
      return Variable::share(operand.variable()).value();
    default: {
      if (operand.lent() == nullptr) detail::throw_no_value("value");
      detail::retain(operand.lent());
      return Tensor::adopt(operand.lent());
    }
  }
}

Tensor take(Operand operand) {
  return operand.kind() == Operand::Kind::kGiven ? std::move(*operand.given()) : to_tensor(operand);
}

Tensor to_tensor(Operand operand, DType dtype) {
  if (!operand.is_literal()) return to_tensor(operand);
  static constexpr std::uint32_t no_dims[kMaxRank] = {};
  Tensor tensor = Tensor::adopt(new_tensor_block(dtype, 0, no_dims, 1));
  write_number(operand, dtype, mutable_raw_data(tensor));
  return tensor;
}

}  // namespace capstan
