#include "src/train/layers/augmentation.h"

#include <algorithm>
#include <cmath>

#include "capstan/ops/host.h"
#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"

namespace capstan {

namespace {

// One number or two.
std::array<double, 2> numbers_of(const AttributeValue& value, bool may_be_one, std::string_view owner,
                                 std::string_view name) {
  if (may_be_one && value.is_number()) return {value.number, value.number};
  const bool is_pair = value.kind == AttributeValue::Kind::kList && value.list.size() == 2 &&
                       value.list[0].is_number() && value.list[1].is_number();
  CAPSTAN_CHECK(is_pair, ValueError, owner, ": option \"", name, "\" must be ",
                may_be_one ? "a number or a list of two" : "a list of two numbers", ", not ", value.to_string());
  return {value.list[0].number, value.list[1].number};
}

AttributeValue list_of(double a, double b) { return std::vector<AttributeValue>{a, b}; }

}  // namespace

namespace layers {

FactorRange::FactorRange(double both) : lower(-std::abs(both)), upper(std::abs(both)) {}
// Neither drops a NaN, which the checks of options find.
FactorRange::FactorRange(double a, double b) : lower(a <= b ? a : b), upper(a <= b ? b : a) {}
ValueRange::ValueRange(double a, double b) : lowest(a <= b ? a : b), highest(a <= b ? b : a) {}

void set_field(FactorRange& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  const auto [a, b] = numbers_of(value, true, owner, name);
  field = value.is_number() ? FactorRange(a) : FactorRange(a, b);
}

// A range around 0 is one number: Keras does not read every one of these as a list.
AttributeValue get_field(const FactorRange& field) {
  return field.lower == -field.upper ? AttributeValue(field.upper) : list_of(field.lower, field.upper);
}

void set_field(FactorAroundOne& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  const auto [below, above] = numbers_of(value, true, owner, name);
  field = {below, above};
}

AttributeValue get_field(const FactorAroundOne& field) { return list_of(field.below, field.above); }

void set_field(ValueRange& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  const auto [a, b] = numbers_of(value, false, owner, name);
  field = {a, b};
}

AttributeValue get_field(const ValueRange& field) { return list_of(field.lowest, field.highest); }

}  // namespace layers

namespace detail {

void check_images(const std::string& layer, const Tensor& x, const std::string& data_format) {
  const int rank = x.rank();
  const bool is_first = data_format == "channels_first";
  CAPSTAN_CHECK(rank == 3 || rank == 4, ShapeError, layer, ": images are ",
                is_first ? "[batch, channels, height, width]" : "[batch, height, width, channels]",
                ", or one without the batch, not of rank ", rank, arguments({{"images", x}}));
  const int height = is_first ? -2 : -3;
  CAPSTAN_CHECK(x.dim(height) > 0 && x.dim(height + 1) > 0, ShapeError, layer, ": the images have no pixels",
                arguments({{"images", x}}));
  CAPSTAN_CHECK(!is_complex(x.dtype()), DTypeError, layer, ": dtype ", x.dtype(), " is not supported",
                arguments({{"images", x}}));
}

Tensor drawn_for_each(const Tensor& images, double lower, double upper, const NoiseKeys& keys, DType dtype) {
  // Only the shape of `like` is read. It is a part of the images, since a number from their shape would be the same for
  // ever in a function whose batches have open lengths.
  const Tensor like = images.dim(-1) > 0 ? images(Slice{}, 0, 0, 0) : zeros({images.dim(0)}, dtype);
  const Tensor drawn = host_uniform(in_dtype(like, dtype), keys.pairs(), {.stateless = keys.has_seed()});
  return drawn * (upper - lower) + lower;
}

namespace {

// A part of images: `height` rows and `width` columns of their middle.
Tensor cut(const Tensor& images, std::int64_t height, std::int64_t width) {
  const std::int64_t top = (images.dim(1) - height) / 2, left = (images.dim(2) - width) / 2;
  if (height == images.dim(1) && width == images.dim(2)) return images;
  return images(slice(), slice(top, top + height), slice(left, left + width));
}

}  // namespace

Tensor middle(const Tensor& images, std::int64_t height, std::int64_t width) { return cut(images, height, width); }

Tensor middle_like(const Tensor& images, std::int64_t height, std::int64_t width) {
  // In double, since products of lengths may be beyond 64 bits.
  const auto part = [](std::int64_t own, std::int64_t other, std::int64_t wanted, std::int64_t per) {
    const double fits = std::floor(static_cast<double>(other) * static_cast<double>(wanted) / static_cast<double>(per));
    return fits >= static_cast<double>(own) ? own : std::max<std::int64_t>(static_cast<std::int64_t>(fits), 1);
  };
  return cut(images, part(images.dim(1), images.dim(2), height, width),
             part(images.dim(2), images.dim(1), width, height));
}

Tensor resized_middle(const Tensor& images, std::int64_t height, std::int64_t width) {
  return in_dtype(image::resize(middle_like(images, height, width), {height, width}), images.dtype());
}

}  // namespace detail

}  // namespace capstan
