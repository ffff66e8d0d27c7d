// What the tests know of an op: where its samples lie and what the right answer is.
//
// For an elementwise op this follows from the formula. A structured op has samples (shapes, values, attributes) and a
// slow reference in float64. The constants stand beside the op and are compiled into builds with tests only: wrap them
// in `#if CAPSTAN_TESTING` and name them with CAPSTAN_OP_TEST(name), which is null elsewhere.
#pragma once

#include <complex>
#include <string>
#include <vector>

#include "capstan/registry.h"
#include "capstan/shape.h"

namespace capstan {

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

// What the reference of a structured op, which knows real numbers only, says of complex ones.
enum class OverComplex : std::uint8_t {
  kLinear,   // real and imaginary parts do not mix: f(x + iy) = f(x) + i f(y), for all inputs together
  kProduct,  // linear in each input by itself, as a product is
};

struct OpTest {
  Domain domain;
  // Elementwise ops: one element in float64.
  double (*value)(const double* x, const double* parameters) = nullptr;
  // The same over complex numbers, if the op takes them.
  std::complex<double> (*complex_value)(const std::complex<double>* x, const double* parameters) = nullptr;
  // Attributes with which an elementwise op that has some is sampled.
  AttributeMap attributes = {};

  // Structured and composite ops.
  std::vector<OpSample> (*samples)() = nullptr;
  void (*reference)(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) = nullptr;

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

}  // namespace capstan

#if CAPSTAN_TESTING
#define CAPSTAN_OP_TEST(name) &name
#define CAPSTAN_FORMULA_TEST(Formula) &N_SCALAR::kFormulaTest<Formula>
#else
#define CAPSTAN_OP_TEST(name) nullptr
#define CAPSTAN_FORMULA_TEST(Formula) nullptr
#endif
