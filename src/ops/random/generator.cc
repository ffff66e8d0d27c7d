// Generators with a state that draws move on.
#include <limits>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "src/core/check.h"

namespace capstan::random {

namespace {

// The counter of a state moved on by `count` numbers, which may need 256 blocks each: 128 bits, the lower half first.
Tensor moved_on(const Tensor& state, std::int64_t count) {
  CAPSTAN_CHECK(count >= 0 && count <= std::numeric_limits<std::int64_t>::max() / 256, ValueError,
                "Generator: it cannot skip ", count, " numbers");
  const Tensor low = gather(state, 0), moved = low + 256 * count;
  // Whether the sum of two unsigned numbers has wrapped around: with the sign turned, order is that of unsigned ones.
  const std::int64_t turn = std::numeric_limits<std::int64_t>::min();
  const Tensor carry = cast(less(moved + turn, low + turn), int64);
  return stack({moved, gather(state, 1) + carry, gather(state, 2)});
}

}  // namespace

Generator Generator::from_seed(std::uint64_t seed) {
  return Generator(constant({static_cast<std::int64_t>(seed), std::int64_t{0}, std::int64_t{0}}, int64));
}

Generator::Generator(const Tensor& state) {
  CAPSTAN_CHECK(state.shape() == Shape{3} && state.dtype() == int64, ShapeError,
                "Generator: the state must be int64[3], not ", name_of(state.dtype()), state.shape());
  state_ = std::make_shared<const Variable>(state, VariableOptions{.trainable = false, .name = "rng_state"});
}

// The state moves on after the draw, so that one that fails changes nothing.
template <class Draw>
Tensor Generator::draw(const Draw& draw) const {
  const Tensor state = state_->value();
  Tensor numbers = draw(state);
  state_->assign(moved_on(state, numbers.size()));
  return numbers;
}

Tensor Generator::uniform(const Shape& shape, double minval, double maxval, DType dtype) const {
  return draw([&](const Tensor& state) { return stateless_uniform(shape, state, minval, maxval, dtype); });
}
Tensor Generator::normal(const Shape& shape, double mean, double stddev, DType dtype) const {
  return draw([&](const Tensor& state) { return stateless_normal(shape, state, mean, stddev, dtype); });
}
Tensor Generator::truncated_normal(const Shape& shape, double mean, double stddev, DType dtype) const {
  return draw([&](const Tensor& state) { return stateless_truncated_normal(shape, state, mean, stddev, dtype); });
}
Tensor Generator::integers(const Shape& shape, std::int64_t minval, std::int64_t maxval, DType dtype) const {
  return draw([&](const Tensor& state) { return stateless_integers(shape, state, minval, maxval, dtype); });
}
Tensor Generator::integers(const Shape& shape, DType dtype) const {
  return draw([&](const Tensor& state) { return stateless_integers(shape, state, dtype); });
}

Tensor Generator::make_seeds(std::int64_t count) const {
  const Tensor first = integers({count});
  return stack({first, zeros_like(first)});
}

void Generator::skip(std::int64_t count) const { state_->assign(moved_on(state_->value(), count)); }

}  // namespace capstan::random
