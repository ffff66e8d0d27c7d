// Printing tensors as NumPy prints arrays.
//
// All shown elements share one format, so that columns line up: floating-point numbers have the
// fewest digits that tell them apart, at most eight after the point, and turn to exponents when
// they are large, small, or more than a factor of 1000 apart. Above 1,000 elements only three at
// either end of an axis are shown. Lines break at 75 columns.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "capstan/tensor.h"
#include "capstan/variable.h"
#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/core/variable_state.h"

namespace capstan {

// Debuggers read them there (tools/debuggers/capstan-gdb.py).
static_assert(offsetof(detail::Block, data) == 16 && offsetof(detail::Block, dims) == 24 &&
              offsetof(detail::Block, count) == 56 && offsetof(detail::Block, sparse) == 64);

namespace {

constexpr std::int64_t kThreshold = 1000;
constexpr std::int64_t kEdgeItems = 3;
constexpr std::size_t kLineWidth = 75;
constexpr int kPrecision = 8;

// --- Numbers ---

template <class T>
std::string digits(T value, std::chars_format format, int precision = -1) {
  char buffer[512];
  const auto result = precision < 0 ? std::to_chars(buffer, buffer + sizeof(buffer), value, format)
                                    : std::to_chars(buffer, buffer + sizeof(buffer), value, format, precision);
  return std::string(buffer, result.ptr);
}

// A number taken apart: sign and digits before the point, digits after it, and the exponent with
// its sign.
struct Parts {
  std::string whole;
  std::string fraction;
  std::string exponent;
};

Parts take_apart(const std::string& text) {
  const std::size_t end = std::min(text.find('e'), text.size());
  const std::size_t point = std::min(text.find('.'), end);
  Parts parts{text.substr(0, point), point < end ? text.substr(point + 1, end - point - 1) : "",
              end < text.size() ? text.substr(end + 1) : ""};
  while (!parts.fraction.empty() && parts.fraction.back() == '0') parts.fraction.pop_back();
  return parts;
}

// The shortest digits that give the value back, rounded to kPrecision after the point.
template <class T>
Parts shortest(T value, std::chars_format format) {
  const Parts parts = take_apart(digits(value, format));
  if (parts.fraction.size() <= kPrecision) return parts;
  return take_apart(digits(value, format, kPrecision));
}

// One number by itself: "3.0", "1e-05".
template <class T>
std::string print_scalar(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const T size = std::abs(value);
  if (size != 0 && (size < T(1e-4) || size >= T(1e16))) {
    const Parts parts = take_apart(digits(value, std::chars_format::scientific));
    return parts.whole + (parts.fraction.empty() ? "" : "." + parts.fraction) + "e" + parts.exponent;
  }
  const Parts parts = take_apart(digits(value, std::chars_format::fixed));
  return parts.whole + "." + (parts.fraction.empty() ? "0" : parts.fraction);
}

// The texts of numbers that are together, all of one width.
template <class T>
std::vector<std::string> print_together(const std::vector<T>& values) {
  T largest = 0;
  T smallest = 0;
  bool any = false;
  bool any_infinite = false;
  std::size_t special = 0;
  for (T value : values) {
    if (!std::isfinite(value)) {
      any_infinite = true;
      special = std::max<std::size_t>(special, std::isinf(value) && value < 0 ? 4 : 3);
    } else if (value != 0) {
      const T size = std::abs(value);
      largest = any ? std::max(largest, size) : size;
      smallest = any ? std::min(smallest, size) : size;
      any = true;
    }
  }
  const bool exponents = any && (largest >= T(1e8) || smallest < T(1e-4) || largest / smallest > T(1000));
  const auto format = exponents ? std::chars_format::scientific : std::chars_format::fixed;
  std::size_t left = 0;
  std::size_t fraction = 0;
  std::size_t exponent = 0;
  std::vector<Parts> parts(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    parts[i] = shortest(values[i], format);
    left = std::max(left, parts[i].whole.size());
    fraction = std::max(fraction, parts[i].fraction.size());
    exponent = std::max(exponent, parts[i].exponent.size());
  }
  const std::size_t right = fraction + (exponents ? exponent + 1 : 0);  // what follows the point
  if (any_infinite && special > right + 1) left = std::max(left, special - right - 1);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Parts& p = parts[i];
    std::string text;
    if (!std::isfinite(values[i])) {
      text = std::isnan(values[i]) ? "nan" : values[i] > 0 ? "inf" : "-inf";
      text.insert(0, left + right + 1 - text.size(), ' ');
    } else if (exponents) {
      text = std::string(left - p.whole.size(), ' ') + p.whole + "." + p.fraction +
             std::string(fraction - p.fraction.size(), '0') + "e" + p.exponent[0] +
             std::string(exponent - p.exponent.size(), '0') + p.exponent.substr(1);
    } else {
      text = std::string(left - p.whole.size(), ' ') + p.whole + "." + p.fraction +
             std::string(fraction - p.fraction.size(), ' ');
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

// The same with a sign before each, also a plus.
template <class T>
std::vector<std::string> print_signed(std::vector<T> values) {
  std::vector<bool> negative;
  for (T& value : values) {
    negative.push_back(std::signbit(value) && !std::isnan(value));
    if (!std::isnan(value)) value = std::abs(value);
  }
  std::vector<std::string> texts = print_together(values);
  std::size_t blanks = texts.empty() ? 0 : texts[0].size();
  for (const std::string& text : texts) blanks = std::min(blanks, text.find_first_not_of(' '));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t first = texts[i].find_first_not_of(' ');
    texts[i] = texts[i].substr(blanks, first - blanks) + (negative[i] ? "-" : "+") + texts[i].substr(first);
  }
  return texts;
}

// --- Elements ---

// The positions that are shown along an axis.
std::vector<std::int64_t> shown(std::int64_t length, bool elide) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < length; ++i) {
    if (elide && length > 2 * kEdgeItems && i == kEdgeItems) i = length - kEdgeItems;
    positions.push_back(i);
  }
  return positions;
}

// The row-major numbers of the elements that are shown.
std::vector<std::int64_t> shown_elements(const Shape& shape, bool elide) {
  std::vector<std::int64_t> elements = {0};
  for (std::int64_t length : shape) {
    std::vector<std::int64_t> next;
    for (std::int64_t element : elements) {
      for (std::int64_t i : shown(length, elide)) next.push_back(element * length + i);
    }
    elements = std::move(next);
  }
  return elements;
}

template <class T, class U = T>
std::vector<U> pick(const Tensor& x, const std::vector<std::int64_t>& elements) {
  std::vector<U> values;
  for (std::int64_t i : elements) values.push_back(static_cast<U>(x.data<T>()[i]));
  return values;
}

std::vector<std::string> align_right(std::vector<std::string> texts) {
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
  return texts;
}

template <class T>
std::vector<std::string> print_integers(const std::vector<T>& values) {
  std::vector<std::string> texts;
  for (T value : values) texts.push_back(std::to_string(value));
  return align_right(std::move(texts));
}

template <class T>
std::vector<std::string> print_numbers(const std::vector<T>& values, bool alone) {
  return alone ? std::vector<std::string>{print_scalar(values[0])} : print_together(values);
}

// One complex number by itself: "(1+2j)", "2j".
std::string print_complex_scalar(std::complex<double> value, bool single) {
  const auto part = [&](double number) {
    std::string text = single ? print_scalar(static_cast<float>(number)) : print_scalar(number);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  };
  std::string imaginary = part(value.imag()) + "j";
  if (value.real() == 0 && !std::signbit(value.real())) return imaginary;
  if (imaginary[0] != '-') imaginary = "+" + imaginary;
  return "(" + part(value.real()) + imaginary + ")";
}

// Real and imaginary parts have a common width each; the j is right after the digits.
template <class T>
std::vector<std::string> print_complex(const std::vector<std::complex<T>>& values, bool alone) {
  if (alone) return {print_complex_scalar(values[0], sizeof(T) == 4)};
  std::vector<T> real;
  std::vector<T> imaginary;
  for (const std::complex<T>& value : values) {
    real.push_back(value.real());
    imaginary.push_back(value.imag());
  }
  std::vector<std::string> texts = print_together(real);
  const std::vector<std::string> parts = print_signed(imaginary);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t digits = parts[i].find_last_not_of(' ') + 1;
    texts[i] += parts[i].substr(0, digits) + "j" + parts[i].substr(digits);
  }
  return texts;
}

std::vector<std::string> print_elements(const Tensor& x, const std::vector<std::int64_t>& elements) {
  const bool alone = x.rank() == 0;
  switch (x.dtype()) {
    case DType::kFloat32:
      return print_numbers(pick<float>(x, elements), alone);
    case DType::kFloat64:
      return print_numbers(pick<double>(x, elements), alone);
    case DType::kBFloat16:
      return print_numbers(pick<BFloat16, float>(x, elements), alone);
    case DType::kInt32:
      return print_integers(pick<std::int32_t>(x, elements));
    case DType::kInt64:
      return print_integers(pick<std::int64_t>(x, elements));
    case DType::kUInt8:
      return print_integers(pick<std::uint8_t, int>(x, elements));
    case DType::kComplex64:
      return print_complex(pick<std::complex<float>>(x, elements), alone);
    case DType::kComplex128:
      return print_complex(pick<std::complex<double>>(x, elements), alone);
    default: {
      std::vector<std::string> texts;
      for (std::int64_t i : elements) texts.emplace_back(x.data<bool>()[i] ? "True" : "False");
      return align_right(std::move(texts));
    }
  }
}

// --- Brackets and lines ---

// Prints one axis; takes the texts of its elements from `next` on. `indent` is what is before
// its lines, `width` the room for them.
std::string print_axis(const Shape& shape, int axis, bool elide, const std::string*& next, const std::string& indent,
                       std::size_t width) {
  if (axis == shape.rank()) return *next++;
  const std::int64_t length = shape[axis];
  const bool summary = elide && length > 2 * kEdgeItems;
  const std::int64_t count = summary ? 2 * kEdgeItems : length;
  const bool innermost = axis == shape.rank() - 1;
  const std::string separator = innermost ? " " : std::string(static_cast<std::size_t>(shape.rank() - axis - 1), '\n');
  std::string text;
  std::string line = indent;
  const auto append = [&](const std::string& word, bool last) {
    if (!innermost) {
      text += indent + word + (last ? "" : separator);
      return;
    }
    if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
      line = indent;
    }
    line += word;
    if (!last) line += separator;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    if (summary && i == kEdgeItems) append("...", false);
    append(print_axis(shape, axis + 1, elide, next, indent + " ", width - 1), i + 1 == count);
  }
  if (innermost) text += line;
  return "[" + text.substr(indent.size()) + "]";
}

}  // namespace

std::string Tensor::to_string() const {
  if (!has_value()) return "nothing";
  if (is_row_sparse()) {
    return detail::join("rows of ", describe(*this), "\nindices: ", indices().to_string(),
                        "\nvalues: ", values().to_string());
  }
  if (is_on_device(block())) return copy_to_host(*this).to_string();
  if (raw_data() == nullptr) return describe(*this) + " without a value";
  if (size() == 0) return "[]";
  const bool elide = size() > kThreshold;
  const std::vector<std::string> texts = print_elements(*this, shown_elements(shape(), elide));
  const std::string* next = texts.data();
  return print_axis(shape(), 0, elide, next, " ", kLineWidth);
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }
std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }
std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.to_string(); }
// Not a read: tapes and traces do not see it.
std::ostream& operator<<(std::ostream& out, const Variable& variable) {
  return out << (variable.has_value() ? variable.state()->value : Tensor());
}

}  // namespace capstan
