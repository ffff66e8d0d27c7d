// What the tests know of an op: where its samples lie and what the right answer is.
//
// For an elementwise op this follows from the formula; it is in a table only if its samples need a domain or attributes
// of their own. A structured op or a composite has samples (shapes, values, attributes) and a slow reference in
// float64. The library knows nothing of these tables: what the tests compile is what is shipped.
#pragma once

#include <complex>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/registry.h"
#include "capstan/shape.h"

namespace capstan {
struct OpDef;
}

namespace capstan::testing {

// Where samples of an input are drawn. Integers use the same bounds, rounded.
struct Domain {
  double low = -2.0;
  double high = 2.0;
};

// A tensor of a reference computation.
struct ReferenceTensor {
  DType dtype = DType::kFloat64;
  Shape shape;
  std::vector<double> values;
};

// The same of complex numbers.
struct ComplexTensor {
  DType dtype = DType::kComplex128;  // of an output; float64 stands for the real dtype of the inputs
  Shape shape;
  std::vector<std::complex<double>> values;
};

// One input of a sample: its shape and either a domain to draw from or given values. Inputs that are not
// `differentiable` (indices, labels, masks) have a dtype of their own; the others are run in every dtype that the op
// takes.
struct SampleInput {
  Shape shape;
  Domain domain = {};
  std::vector<double> values = {};  // empty: drawn
  DType dtype = DType::kFloat64;    // of inputs with differentiable = false
  bool differentiable = true;
};

struct OpSample {
  std::vector<SampleInput> inputs;
  AttributeMap attributes = {};
  // If not empty the call must throw, and the text must contain this.
  std::string error = {};
};

// What references take and give.
using Inputs = std::vector<ReferenceTensor>;
using Outputs = std::vector<ReferenceTensor>;

// What the reference of a structured op, which knows real numbers only, says of complex ones.
enum class OverComplex : std::uint8_t {
  kLinear,   // real and imaginary parts do not mix: f(x + iy) = f(x) + i f(y), for all inputs together
  kProduct,  // linear in each input by itself, as a product is
};

struct OpTest {
  Domain domain;
  // Elementwise ops without a formula: one element in float64.
  double (*value)(const double* x, const double* parameters) = nullptr;
  std::complex<double> (*complex_value)(const std::complex<double>* x, const double* parameters) = nullptr;
  // Attributes with which an elementwise op that has some is sampled.
  AttributeMap attributes = {};

  // Structured and composite ops.
  std::vector<OpSample> (*samples)() = nullptr;
  void (*reference)(const Inputs& inputs, const AttributeMap& attributes, Outputs& outputs) = nullptr;

  // What the reference says of complex numbers, if they are among the dtypes.
  OverComplex over_complex = OverComplex::kLinear;
  // Or the reference itself.
  void (*complex_reference)(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                            std::vector<ComplexTensor>& outputs) = nullptr;

  // Relative tolerances; looser ones say why.
  double first_order = 1e-6;
  double second_order = 1e-4;
  const char* why_looser = nullptr;
  // The dtypes that a structured op takes; empty: float32, float64, bfloat16.
  std::vector<DType> dtypes = {};
  // The result has random elements: only shape, dtype and repeatability are checked.
  bool random = false;
};

// What is known of one op, by its name.
struct NamedOpTest {
  std::string_view op;
  OpTest test;
};

// A table of them, which is found from the start of the program until its end. A name in two tables, or twice in one,
// is an error at the start.
class OpTests {
 public:
  OpTests(std::initializer_list<NamedOpTest> tests);
};

// What the tables say of the op. An elementwise op that is in none has the defaults; null for others.
const OpTest* test_of(const OpDef& op);

// The names in all tables.
std::vector<std::string_view> tested_ops();

}  // namespace capstan::testing
