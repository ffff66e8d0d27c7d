// Activations of the deep learning libraries beyond those of activation.cc: piecewise ones, shrinkages, and smooth
// stand-ins of relu.
//
// Gradients at kinks are Keras's: hard_sigmoid and hard_silu pass nothing from the flat side, hard_tanh passes the
// cotangent at both bounds.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/activation/hard_activation.cc"
#include "src/ops/elementwise-inl.h"

#include "capstan/ops/activation.h"
#include "src/core/check.h"
#include "src/ops/family.h"

// Attributes are the same for every target; guarded, because this file includes itself.
#ifndef CAPSTAN_OPS_HARD_ACTIVATION_ATTRIBUTES
#define CAPSTAN_OPS_HARD_ACTIVATION_ATTRIBUTES
namespace capstan {
namespace {

struct CeluAttributes {
  double alpha = 1.0;
};

void compose_celu(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
  outputs.push_back(celu(inputs[0], static_cast<const CeluAttributes*>(attributes)->alpha));
}

struct ShrinkAttributes {
  double threshold = 0.5;
};
constexpr const AttributeType& kShrinkAttributes = attribute_table<ShrinkAttributes, "threshold">;

struct ThresholdAttributes {
  double threshold = 0;
  double default_value = 0;
};

struct SquareplusAttributes {
  double b = 4;
};

}  // namespace
}  // namespace capstan
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

struct HardSigmoid : UnaryOp {
  static constexpr OpText text{"hard_sigmoid", "x / 6 + 1 / 2, limited to the range from 0 to 1."};
  FORMULA f(X x) { return select(x <= -3.0, 0.0, select(x >= 3.0, 1.0, (x + 3.0) * 0.16666666666666666)); }
  FORMULA df(X g, X x, X) { return select(x > -3.0 && x < 3.0, g * 0.16666666666666666, 0.0); }
};

struct HardSilu : UnaryOp {
  static constexpr OpText text{"hard_silu", "x * hard_sigmoid(x), also called hard swish."};
  FORMULA f(X x) { return select(x <= -3.0, 0.0, select(x >= 3.0, x, x * (x + 3.0) * 0.16666666666666666)); }
  FORMULA df(X g, X x, X) {
    return select(x <= -3.0, 0.0, select(x >= 3.0, g, g * (2.0 * x + 3.0) * 0.16666666666666666));
  }
};

struct HardTanh : UnaryOp {
  static constexpr OpText text{"hard_tanh", "x limited to the range from -1 to 1."};
  FORMULA f(X x) { return select(x < -1.0, -1.0, select(x > 1.0, 1.0, x)); }
  FORMULA df(X g, X x, X) { return select(x >= -1.0 && x <= 1.0, g, 0.0); }
};

struct HardShrink : UnaryOp {
  static constexpr OpText text{"hard_shrink", "x where its size is above the threshold, 0 elsewhere."};
  static constexpr int parameters = 1;
  static constexpr const AttributeType* attributes = &kShrinkAttributes;
  FORMULA_WITH_PARAMETERS f(X x, P threshold) { return select(abs(x) > threshold, x, 0.0); }
  FORMULA_WITH_PARAMETERS df(X g, X x, X, P threshold) { return select(abs(x) > threshold, g, 0.0); }
};

struct SoftShrink : UnaryOp {
  static constexpr OpText text{"soft_shrink", "x moved towards 0 by the threshold, and 0 where it would pass it."};
  static constexpr int parameters = 1;
  static constexpr const AttributeType* attributes = &kShrinkAttributes;
  FORMULA_WITH_PARAMETERS f(X x, P threshold) {
    return select(x > threshold, x - threshold, select(x < -threshold, x + threshold, 0.0));
  }
  FORMULA_WITH_PARAMETERS df(X g, X x, X, P threshold) { return select(x > threshold || x < -threshold, g, 0.0); }
};

struct TanhShrink : UnaryOp {
  static constexpr OpText text{"tanh_shrink", "x - tanh(x)."};
  FORMULA f(X x) { return x - tanh(x); }
  FORMULA df(X g, X x, X) {
    X t = tanh(x);
    return g * t * t;
  }
};

struct Threshold : UnaryOp {
  static constexpr OpText text{"threshold", "x where it is above the threshold, the default value elsewhere."};
  static constexpr int parameters = 2;
  static constexpr const AttributeType* attributes = &attribute_table<ThresholdAttributes, "threshold, default_value">;
  FORMULA_WITH_PARAMETERS f(X x, P threshold, P default_value) {
    return select(x > threshold, x, zero_of(x) + default_value);
  }
  FORMULA_WITH_PARAMETERS df(X g, X x, X, P threshold, P) { return select(x > threshold, g, 0.0); }
};

struct Celu : UnaryOp {
  static constexpr OpText text{"celu", "x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere."};
  static constexpr int parameters = 1;
  static constexpr const AttributeType* attributes = &attribute_table<CeluAttributes, "alpha">;
  static constexpr Compose compose = &compose_celu;
  FORMULA_WITH_PARAMETERS f(X x, P alpha) { return select(x < 0.0, alpha * expm1(x / alpha), x); }
  FORMULA_WITH_PARAMETERS df(X g, X x, X, P alpha) { return select(x < 0.0, g * exp(x / alpha), g); }
};

struct Squareplus : UnaryOp {
  static constexpr OpText text{"squareplus", "(x + sqrt(x^2 + b)) / 2."};
  static constexpr int parameters = 1;
  static constexpr const AttributeType* attributes = &attribute_table<SquareplusAttributes, "b">;
  FORMULA_WITH_PARAMETERS f(X x, P b) {
    // For negative x the difference would cancel; the product with its conjugate is b / 4.
    X larger = 0.5 * (abs(x) + sqrt(x * x + b));
    return select(x < 0.0, 0.25 * b / larger, larger);
  }
  FORMULA_WITH_PARAMETERS df(X g, X x, X y, P b) { return g * y / sqrt(x * x + b); }
};

struct SparsePlus : UnaryOp {
  static constexpr OpText text{"sparse_plus", "0 up to -1, x from 1 on, (x + 1)^2 / 4 between."};
  FORMULA f(X x) { return select(x <= -1.0, 0.0, select(x >= 1.0, x, 0.25 * (x + 1.0) * (x + 1.0))); }
  FORMULA df(X g, X x, X) { return select(x <= -1.0, 0.0, select(x >= 1.0, g, 0.5 * g * (x + 1.0))); }
};

struct SparseSigmoid : UnaryOp {
  static constexpr OpText text{"sparse_sigmoid", "(x + 1) / 2, limited to the range from 0 to 1."};
  FORMULA f(X x) { return select(x <= -1.0, 0.0, select(x >= 1.0, 1.0, 0.5 * (x + 1.0))); }
  FORMULA df(X g, X x, X) { return select(x > -1.0 && x < 1.0, 0.5 * g, 0.0); }
};

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_ELEMENTWISE(kHardSigmoid, HardSigmoid);
CAPSTAN_ELEMENTWISE(kHardSilu, HardSilu);
CAPSTAN_ELEMENTWISE(kHardTanh, HardTanh);
CAPSTAN_ELEMENTWISE(kHardShrink, HardShrink);
CAPSTAN_ELEMENTWISE(kSoftShrink, SoftShrink);
CAPSTAN_ELEMENTWISE(kTanhShrink, TanhShrink);
CAPSTAN_ELEMENTWISE(kThreshold, Threshold);
CAPSTAN_ELEMENTWISE(kCelu, Celu);
CAPSTAN_ELEMENTWISE(kSquareplus, Squareplus);
CAPSTAN_ELEMENTWISE(kSparsePlus, SparsePlus);
CAPSTAN_ELEMENTWISE(kSparseSigmoid, SparseSigmoid);

Tensor hard_sigmoid(Operand x) { return apply(kHardSigmoid, x); }
Tensor hard_silu(Operand x) { return apply(kHardSilu, x); }
Tensor hard_tanh(Operand x) { return apply(kHardTanh, x); }
Tensor hard_shrink(Operand x, double threshold) {
  const ShrinkAttributes attributes{threshold};
  return apply(kHardShrink, x, &attributes);
}
Tensor soft_shrink(Operand x, double threshold) {
  const ShrinkAttributes attributes{threshold};
  return apply(kSoftShrink, x, &attributes);
}
Tensor tanh_shrink(Operand x) { return apply(kTanhShrink, x); }
Tensor threshold(Operand x, double threshold, double default_value) {
  const ThresholdAttributes attributes{threshold, default_value};
  return apply(kThreshold, x, &attributes);
}
Tensor celu(Operand x, double alpha) {
  CAPSTAN_CHECK(alpha > 0, ValueError, "celu: alpha must be positive, not ", alpha);
  const CeluAttributes attributes{alpha};
  return apply(kCelu, x, &attributes);
}
Tensor squareplus(Operand x, double b) {
  const SquareplusAttributes attributes{b};
  return apply(kSquareplus, x, &attributes);
}
Tensor sparse_plus(Operand x) { return apply(kSparsePlus, x); }
Tensor sparse_sigmoid(Operand x) { return apply(kSparseSigmoid, x); }

CAPSTAN_OPS(hard_activation, &kHardSigmoid, &kHardSilu, &kHardTanh, &kHardShrink, &kSoftShrink, &kTanhShrink,
            &kThreshold, &kCelu, &kSquareplus, &kSparsePlus, &kSparseSigmoid);

}  // namespace capstan
#endif  // HWY_ONCE
