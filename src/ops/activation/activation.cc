// Activations: the elementwise nonlinearities of neural networks.
//
// Gradients at kinks are TensorFlow's: relu and relu6 pass nothing at their bounds, leaky_relu
// passes alpha at 0, elu passes the whole cotangent.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/activation/activation.cc"
#include "src/ops/elementwise-inl.h"

#include "capstan/ops/activation.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

// Attributes and tables are the same for every target; guarded, because this file includes itself.
#ifndef CAPSTAN_OPS_ACTIVATION_ATTRIBUTES
#define CAPSTAN_OPS_ACTIVATION_ATTRIBUTES
namespace capstan {
namespace {

struct LeakyReluAttributes {
  double alpha = 0.2;
};

struct EluAttributes {
  double alpha = 1.0;
};

void compose_elu(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
  outputs.push_back(elu(inputs[0], static_cast<const EluAttributes*>(attributes)->alpha));
}

struct SiluAttributes {
  double beta = 1.0;
};

}  // namespace
}  // namespace capstan
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

struct Sigmoid : UnaryOp {
  using Complex = Sigmoid;
  static constexpr OpText text{"sigmoid", "1 / (1 + exp(-x))."};
  FORMULA f(X x) { return sigmoid(x); }
  FORMULA df(X g, X, X y) { return g * y * (1.0 - y); }
};

struct LogSigmoid : UnaryOp {
  static constexpr OpText text{"log_sigmoid", "The logarithm of sigmoid."};
  FORMULA f(X x) { return -softplus(-x); }
  FORMULA df(X g, X x, X) { return g * sigmoid(-x); }
};

struct Softplus : UnaryOp {
  static constexpr OpText text{"softplus", "log(1 + exp(x))."};
  FORMULA f(X x) { return softplus(x); }
  FORMULA df(X g, X x, X) { return g * sigmoid(x); }
};

struct Softsign : UnaryOp {
  static constexpr OpText text{"softsign", "x / (1 + |x|)."};
  FORMULA f(X x) { return x / (1.0 + abs(x)); }
  FORMULA df(X g, X x, X) {
    X denominator = 1.0 + abs(x);
    return g / (denominator * denominator);
  }
};

struct Relu : UnaryOp {
  static constexpr OpText text{"relu", "The larger of x and 0."};
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x) { return select(x < 0.0, 0.0, x); }
  FORMULA df(X g, X, X y) { return select(y > 0.0, g, 0.0); }
};

struct Relu6 : UnaryOp {
  static constexpr OpText text{"relu6", "x limited to the range from 0 to 6."};
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x) { return select(x < 0.0, 0.0, select(x > 6.0, 6.0, x)); }
  FORMULA df(X g, X, X y) { return select(y > 0.0 && y < 6.0, g, 0.0); }
};

struct LeakyRelu : UnaryOp {
  static constexpr OpText text{"leaky_relu", "x where it is positive, alpha times x elsewhere."};
  static constexpr int parameters = 1;
  static constexpr const AttributeType* attributes = &attribute_table<LeakyReluAttributes, "alpha">;
  FORMULA_WITH_PARAMETERS f(X x, P alpha) { return select(x > 0.0, x, alpha * x); }
  FORMULA_WITH_PARAMETERS df(X g, X x, X, P alpha) { return select(x > 0.0, g, alpha * g); }
};

struct Elu : UnaryOp {
  static constexpr OpText text{"elu", "x where it is positive, alpha * (exp(x) - 1) elsewhere."};
  static constexpr int parameters = 1;
  static constexpr const AttributeType* attributes = &attribute_table<EluAttributes, "alpha">;
  static constexpr Compose compose = &compose_elu;
  FORMULA_WITH_PARAMETERS f(X x, P alpha) { return select(x < 0.0, alpha * expm1(x), x); }
  // alpha is positive, so y has the sign of x and x need not be kept. At 0 the slope is that of the left side.
  FORMULA_WITH_PARAMETERS df(X g, X, X y, P alpha) {
    return select(y < 0.0, g * (y + alpha), select(y > 0.0, g, alpha * g));
  }
};

struct Selu : UnaryOp {
  static constexpr OpText text{"selu", "elu with a slope and scale that keep mean and variance."};
  FORMULA f(X x) { return select(x < 0.0, 1.7580993408473768 * expm1(x), 1.0507009873554805 * x); }
  FORMULA df(X g, X, X y) { return select(y < 0.0, g * (y + 1.7580993408473768), 1.0507009873554805 * g); }
};

// x times the probability that a normal variable is below x.
struct GeluErf : UnaryOp {
  static constexpr OpText text{"gelu_erf", "x times the normal distribution function of x."};
  FORMULA f(X x) { return 0.5 * x * (1.0 + erf(0.7071067811865476 * x)); }
  FORMULA df(X g, X x, X) {
    X probability = 0.5 * (1.0 + erf(0.7071067811865476 * x));
    X density = 0.3989422804014327 * exp(-0.5 * x * x);
    return g * (probability + x * density);
  }
};

struct GeluTanh : UnaryOp {
  static constexpr OpText text{"gelu_tanh", "gelu_erf with the distribution approximated by tanh."};
  FORMULA f(X x) { return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
  FORMULA df(X g, X x, X) {
    X t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    X slope = 0.7978845608028654 * (1.0 + 0.134145 * x * x);
    return g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope);
  }
};

struct Silu : UnaryOp {
  static constexpr OpText text{"silu", "x * sigmoid(beta * x), also called swish."};
  static constexpr int parameters = 1;
  static constexpr const AttributeType* attributes = &attribute_table<SiluAttributes, "beta">;
  FORMULA_WITH_PARAMETERS f(X x, P beta) { return x * sigmoid(beta * x); }
  FORMULA_WITH_PARAMETERS df(X g, X x, X, P beta) {
    X s = sigmoid(beta * x);
    return g * (s + beta * x * s * (1.0 - s));
  }
};

struct Mish : UnaryOp {
  static constexpr OpText text{"mish", "x * tanh(softplus(x))."};
  FORMULA f(X x) { return x * tanh(softplus(x)); }
  FORMULA df(X g, X x, X) {
    X t = tanh(softplus(x));
    return g * (t + x * (1.0 - t * t) * sigmoid(x));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_ELEMENTWISE(kSigmoid, Sigmoid);
CAPSTAN_ELEMENTWISE(kLogSigmoid, LogSigmoid);
CAPSTAN_ELEMENTWISE(kSoftplus, Softplus);
CAPSTAN_ELEMENTWISE(kSoftsign, Softsign);
CAPSTAN_ELEMENTWISE(kRelu, Relu);
CAPSTAN_ELEMENTWISE(kRelu6, Relu6);
CAPSTAN_ELEMENTWISE(kLeakyRelu, LeakyRelu);
CAPSTAN_ELEMENTWISE(kElu, Elu);
CAPSTAN_ELEMENTWISE(kSelu, Selu);
CAPSTAN_ELEMENTWISE(kGeluErf, GeluErf);
CAPSTAN_ELEMENTWISE(kGeluTanh, GeluTanh);
CAPSTAN_ELEMENTWISE(kSilu, Silu);
CAPSTAN_ELEMENTWISE(kMish, Mish);

constinit const OpDef kGelu =
    composite<&gelu, "x, approximate">("gelu", "x times the probability that a normal variable is below x.");

Tensor sigmoid(Operand x) { return apply(kSigmoid, x); }
Tensor log_sigmoid(Operand x) { return apply(kLogSigmoid, x); }
Tensor softplus(Operand x) { return apply(kSoftplus, x); }
Tensor softsign(Operand x) { return apply(kSoftsign, x); }
Tensor relu(Operand x) { return apply(kRelu, x); }
Tensor relu6(Operand x) { return apply(kRelu6, x); }
Tensor leaky_relu(Operand x, double alpha) {
  const LeakyReluAttributes attributes{alpha};
  return apply(kLeakyRelu, x, &attributes);
}
Tensor elu(Operand x, double alpha) {
  CAPSTAN_CHECK(alpha > 0, ValueError, "elu: alpha must be positive, not ", alpha);
  const EluAttributes attributes{alpha};
  return apply(kElu, x, &attributes);
}
Tensor selu(Operand x) { return apply(kSelu, x); }
Tensor gelu(Operand x, const GeluOptions& options) {
  return with_errors_of("gelu", [&] { return options.approximate ? gelu_tanh(x) : gelu_erf(x); });
}
Tensor gelu_erf(Operand x) { return apply(kGeluErf, x); }
Tensor gelu_tanh(Operand x) { return apply(kGeluTanh, x); }
Tensor silu(Operand x, double beta) {
  const SiluAttributes attributes{beta};
  return apply(kSilu, x, &attributes);
}
Tensor mish(Operand x) { return apply(kMish, x); }

CAPSTAN_OPS(activation, &kSigmoid, &kLogSigmoid, &kSoftplus, &kSoftsign, &kRelu, &kRelu6, &kLeakyRelu, &kElu, &kSelu,
            &kGeluErf, &kGeluTanh, &kGelu, &kSilu, &kMish);

}  // namespace capstan
#endif  // HWY_ONCE
