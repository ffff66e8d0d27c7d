#include "tests/ops/op_samples.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/registry.h"
#include "capstan/tape.h"
#include "src/ops/registry.h"
#include "tests/ops/formula_value.h"
#include "tests/support/make_tensor.h"
#include "tests/support/random.h"

namespace capstan::testing {

namespace {

// Shapes of the inputs of elementwise ops: scalars, empty tensors, lengths around those of vectors,
// and broadcasting.
std::vector<std::vector<Shape>> shapes_for_arity(int arity) {
  switch (arity) {
    case 1:
      return {{{}}, {{0}}, {{1}}, {{7}}, {{3, 5}}, {{2, 0, 3}}, {{67}}, {{2, 1, 3, 2}}};
    case 2:
      return {{{}, {}},      {{3, 4}, {3, 4}}, {{3, 4}, {4}},       {{3, 1}, {1, 4}},
              {{}, {5}},     {{5}, {}},        {{2, 1, 3}, {4, 1}}, {{0}, {1}},
              {{0, 3}, {3}}, {{67}, {67}},     {{1}, {33}},         {{2, 17}, {2, 1}}};
    default:
      return {{{}, {}, {}},  {{3, 4}, {3, 4}, {3, 4}}, {{3, 1}, {4}, {}},  {{4}, {3, 1}, {3, 4}}, {{}, {5}, {5}},
              {{5}, {}, {}}, {{0}, {1}, {}},           {{67}, {67}, {67}}, {{2, 1}, {1, 3}, {}}};
  }
}

// Whether samples and values of the op follow from what it computes for one element.
bool follows_from_formula(const OpDef& op) {
  return op.kind == OpKind::kElementwise && test_of(op)->samples == nullptr;
}

OpSample elementwise_sample(const OpDef& op, const std::vector<Shape>& shapes) {
  OpSample sample;
  sample.attributes = test_of(op)->attributes;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    SampleInput input{.shape = shapes[i], .domain = test_of(op)->domain};
    if (i == 0 && has_flag(op, kConditionFirst)) {
      input.dtype = DType::kBool;
      input.differentiable = false;
    }
    sample.inputs.push_back(input);
  }
  return sample;
}

std::vector<OpSample> all_samples(const OpDef& op) {
  if (!follows_from_formula(op)) {
    return test_of(op)->samples == nullptr ? std::vector<OpSample>() : test_of(op)->samples();
  }
  std::vector<OpSample> samples;
  for (const std::vector<Shape>& shapes : shapes_for_arity(op.inputs.count))
    samples.push_back(elementwise_sample(op, shapes));
  return samples;
}

bool takes_attributes(const OpDef& op, const AttributeMap& attributes) {
  try {
    const AttributeStorage storage(op, attributes);
    return true;
  } catch (const ValueError&) {
    return false;
  }
}

double draw(const Domain& domain, DType dtype, Random& random) {
  if (dtype == DType::kBool) return static_cast<double>(random.integer(0, 1));
  if (is_floating(dtype)) return random.uniform(domain.low, domain.high);
  double low = std::ceil(domain.low);
  double high = std::floor(domain.high);
  if (low > high) low = high = std::round(domain.low);
  if (dtype == DType::kUInt8) low = std::max(low, 0.0);
  if (low > high) high = low;
  return static_cast<double>(random.integer(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)));
}

Sample make_sample(const OpDef& op, const OpSample& source, DType dtype, std::size_t number) {
  Random random(std::string(op.name) + "/" + std::to_string(number));
  Sample sample;
  sample.attributes = source.attributes;
  sample.text = std::string(op.name) + "(";
  for (const SampleInput& input : source.inputs) {
    const DType own = input.differentiable ? dtype : input.dtype;
    std::vector<double> values = input.values;
    if (values.empty() && is_complex(own)) {
      // Near the real domain, where the function is as smooth as there.
      for (std::int64_t i = 0; i < input.shape.size(); ++i) {
        values.push_back(random.uniform(input.domain.low, input.domain.high));
        values.push_back(random.uniform(-0.75, 0.75));
      }
    } else if (values.empty()) {
      for (std::int64_t i = 0; i < input.shape.size(); ++i) values.push_back(draw(input.domain, own, random));
    }
    sample.inputs.push_back(make_tensor(own, input.shape, values));
    sample.differentiable.push_back(input.differentiable && is_differentiable(own));
    sample.text += (sample.inputs.size() == 1 ? "" : ", ") + std::string(name_of(own)) + input.shape.to_string();
  }
  for (const auto& [name, value] : sample.attributes) sample.text += ", " + name + "=" + value.to_string();
  sample.text += ")";
  return sample;
}

// NumPy's rule.
Shape broadcast(const std::vector<Tensor>& inputs) {
  std::vector<std::int64_t> lengths;
  for (const Tensor& input : inputs) {
    lengths.insert(lengths.begin(),
                   static_cast<std::size_t>(std::max<int>(0, input.rank() - static_cast<int>(lengths.size()))), 1);
    for (int axis = 1; axis <= input.rank(); ++axis) {
      std::int64_t& length = lengths[lengths.size() - static_cast<std::size_t>(axis)];
      if (length == 1) length = input.dim(-axis);
    }
  }
  return Shape(std::span<const std::int64_t>(lengths));
}

// The number of the element of a broadcast input that stands at element i of the result.
std::size_t source_element(const Shape& result, const Shape& input, std::int64_t i) {
  std::int64_t index = 0;
  std::int64_t stride = 1;
  for (int axis = 1; axis <= input.rank(); ++axis) {
    const std::int64_t position = i % result[-axis];
    i /= result[-axis];
    if (input[-axis] != 1) index += position * stride;
    stride *= input[-axis];
  }
  return static_cast<std::size_t>(index);
}

Tensor complex_elementwise_reference(const OpDef& op, const Sample& sample, DType dtype) {
  const AttributeStorage attributes(op, sample.attributes);
  const Shape shape = broadcast(sample.inputs);
  std::vector<std::vector<std::complex<double>>> inputs;
  for (const Tensor& input : sample.inputs) inputs.push_back(input.to_vector<std::complex<double>>());
  std::vector<double> values;
  const auto value_of = [&](const std::complex<double>* x, const double* parameters) {
    const OpTest& test = *test_of(op);
    return test.complex_value != nullptr ? test.complex_value(x, parameters) : complex_formula_value(op, x, parameters);
  };
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    std::complex<double> x[3] = {};
    for (std::size_t k = 0; k < inputs.size(); ++k)
      x[k] = inputs[k][source_element(shape, sample.inputs[k].shape(), i)];
    const std::complex<double> value = value_of(x, static_cast<const double*>(attributes.get()));
    values.push_back(value.real());
    if (!has_flag(op, kBooleanResult)) values.push_back(value.imag());
  }
  return make_tensor(has_flag(op, kBooleanResult) ? DType::kBool : dtype, shape, values);
}

Tensor elementwise_reference(const OpDef& op, const Sample& sample, DType dtype) {
  if (is_complex(dtype)) return complex_elementwise_reference(op, sample, dtype);
  const AttributeStorage attributes(op, sample.attributes);
  const Shape shape = broadcast(sample.inputs);
  std::vector<std::vector<double>> inputs;
  for (const Tensor& input : sample.inputs) inputs.push_back(input.to_vector<double>());
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  const auto value_of = [&](const double* x, const double* parameters) {
    const OpTest& test = *test_of(op);
    return test.value != nullptr ? test.value(x, parameters) : formula_value(op, x, parameters);
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    double x[3] = {};
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      x[k] = inputs[k][source_element(shape, sample.inputs[k].shape(), static_cast<std::int64_t>(i))];
    }
    values[i] = value_of(x, static_cast<const double*>(attributes.get()));
  }
  return make_tensor(has_flag(op, kBooleanResult) ? DType::kBool : dtype, shape, values);
}

}  // namespace

std::vector<DType> dtypes_of(const OpDef& op) {
  std::vector<DType> dtypes;
  if (op.kind == OpKind::kElementwise) {
    for (int i = 0; i < kDTypes; ++i) {
      if (op.loops[0]->forward[i] != nullptr) dtypes.push_back(static_cast<DType>(i));
    }
    return dtypes;
  }
  if (!test_of(op)->dtypes.empty()) return test_of(op)->dtypes;
  return {DType::kFloat32, DType::kFloat64, DType::kBFloat16};
}

std::vector<Sample> samples_of(const OpDef& op, DType dtype) {
  std::vector<Sample> samples;
  const std::vector<OpSample> sources = all_samples(op);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].error.empty()) samples.push_back(make_sample(op, sources[i], dtype, i));
  }
  return samples;
}

std::vector<Sample> large_samples_of(const OpDef& op, DType dtype) {
  const Shape large{260, 510};
  std::vector<OpSample> sources;
  if (follows_from_formula(op)) {
    std::vector<Shape> shapes(static_cast<std::size_t>(op.inputs.count), large);
    sources.push_back(elementwise_sample(op, shapes));
    if (op.inputs.count > 1) {
      shapes[1] = Shape{510};
      sources.push_back(elementwise_sample(op, shapes));
      shapes[1] = Shape{260, 1};
      sources.push_back(elementwise_sample(op, shapes));
    }
  } else {
    // Reductions and the like, known by their attribute and their single input. A view moves no
    // elements.
    const std::vector<OpSample> given = all_samples(op);
    if (op.inputs.count != 1 || given.empty() || has_flag(op, kReturnsViews)) return {};
    for (const AttributeValue& axis : {AttributeValue(), AttributeValue(0), AttributeValue(1)}) {
      OpSample sample = given.front();
      sample.attributes = {{"axis", axis}};
      if (!takes_attributes(op, sample.attributes)) continue;
      sample.inputs[0].shape = large;
      sample.inputs[0].values.clear();
      sources.push_back(sample);
    }
  }
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < sources.size(); ++i) samples.push_back(make_sample(op, sources[i], dtype, 1000 + i));
  return samples;
}

std::vector<ErrorSample> error_samples_of(const OpDef& op) {
  std::vector<ErrorSample> samples;
  const std::vector<OpSample> sources = all_samples(op);
  const DType dtype = dtypes_of(op).front();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].error.empty()) samples.push_back({make_sample(op, sources[i], dtype, i), sources[i].error});
  }
  return samples;
}

namespace {

// The reference over real numbers, on the imaginary parts of the inputs with a bit in `imaginary` and the real parts of
// all others.
std::vector<ReferenceTensor> reference_of_parts(const OpDef& op, const Sample& sample, unsigned imaginary, bool zero) {
  std::vector<ReferenceTensor> inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    ReferenceTensor input{sample.inputs[i].dtype(), sample.inputs[i].shape(), {}};
    for (const std::complex<double>& value : sample.inputs[i].to_vector<std::complex<double>>()) {
      const bool constant = !is_complex(input.dtype);
      input.values.push_back(zero && !constant                        ? 0.0
                             : (imaginary >> i & 1) != 0 && !constant ? value.imag()
                                                                      : value.real());
    }
    inputs.push_back(std::move(input));
  }
  std::vector<ReferenceTensor> outputs;
  test_of(op)->reference(inputs, sample.attributes, outputs);
  return outputs;
}

// What the reference over real numbers says of complex ones, see OverComplex.
std::vector<Tensor> complex_outputs(const OpDef& op, const Sample& sample, DType dtype) {
  std::vector<ComplexTensor> sums;
  const auto add = [&](const std::vector<ReferenceTensor>& terms, std::complex<double> factor) {
    if (sums.empty()) {
      for (const ReferenceTensor& term : terms) {
        const bool takes_dtype =
            is_complex(term.dtype) || (term.dtype == DType::kFloat64 && !sample.attributes.contains("dtype"));
        sums.push_back({takes_dtype ? dtype : term.dtype, term.shape, {}});
        sums.back().values.resize(term.values.size());
      }
    }
    for (std::size_t k = 0; k < terms.size(); ++k) {
      if (!is_complex(sums[k].dtype) && factor != 1.0) continue;
      for (std::size_t i = 0; i < terms[k].values.size(); ++i) sums[k].values[i] += factor * terms[k].values[i];
    }
  };
  constexpr std::complex<double> kI(0, 1);
  if (test_of(op)->complex_reference != nullptr) {
    std::vector<ComplexTensor> inputs;
    for (const Tensor& input : sample.inputs) {
      inputs.push_back({input.dtype(), input.shape(), input.to_vector<std::complex<double>>()});
    }
    test_of(op)->complex_reference(inputs, sample.attributes, sums);
    for (ComplexTensor& sum : sums) {
      sum.dtype = sum.dtype == DType::kComplex128 ? dtype
                  : sum.dtype == DType::kFloat64  ? real_dtype(dtype)
                                                  : sum.dtype;
    }
  } else if (test_of(op)->over_complex == OverComplex::kLinear) {
    add(reference_of_parts(op, sample, 0, false), 1);
    add(reference_of_parts(op, sample, ~0u, false), kI);
    add(reference_of_parts(op, sample, 0, true), -kI);  // what a constant such as that of padding adds
  } else {
    unsigned complex = 0;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      if (is_complex(sample.inputs[i].dtype())) complex |= 1u << i;
    }
    for (unsigned imaginary = 0; imaginary <= complex; ++imaginary) {
      if ((imaginary & ~complex) != 0) continue;
      std::complex<double> factor = 1;
      for (int i = 0; i < std::popcount(imaginary); ++i) factor *= kI;
      add(reference_of_parts(op, sample, imaginary, false), factor);
    }
  }
  std::vector<Tensor> outputs;
  for (const ComplexTensor& sum : sums) {
    std::vector<double> values;
    for (const std::complex<double>& value : sum.values) {
      values.push_back(value.real());
      if (is_complex(sum.dtype)) values.push_back(value.imag());
    }
    outputs.push_back(make_tensor(sum.dtype, sum.shape, values));
  }
  return outputs;
}

}  // namespace

std::vector<Tensor> reference_outputs(const OpDef& op, const Sample& sample, DType dtype) {
  if (op.kind == OpKind::kElementwise && test_of(op)->reference == nullptr)
    return {elementwise_reference(op, sample, dtype)};
  if (is_complex(dtype)) return complex_outputs(op, sample, dtype);
  std::vector<ReferenceTensor> inputs;
  bool any_differentiable = false;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Tensor& input = sample.inputs[i];
    inputs.push_back({input.dtype(), input.shape(), input.to_vector<double>()});
    any_differentiable |= sample.differentiable[i];
  }
  std::vector<ReferenceTensor> outputs;
  test_of(op)->reference(inputs, sample.attributes, outputs);
  std::vector<Tensor> tensors;
  for (const ReferenceTensor& output : outputs) {
    // A reference that computes in float64 need not know the dtype of its inputs.
    const bool unspecified =
        output.dtype == DType::kFloat64 && any_differentiable && !sample.attributes.contains("dtype");
    const DType own = unspecified ? dtype : output.dtype;
    tensors.push_back(make_tensor(own, output.shape, output.values));
  }
  return tensors;
}

Tolerance reference_tolerance(const OpDef& op, DType dtype) {
  const bool elementwise = op.kind == OpKind::kElementwise;
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128:
      return {1e-12, elementwise ? 1e-14 : 1e-13};
    case DType::kFloat32:
    case DType::kComplex64:
      return elementwise ? Tolerance{2e-6, 5e-7} : Tolerance{1e-5, 2e-6};
    case DType::kBFloat16:
      return elementwise ? Tolerance{1.0 / 128, 1.0 / 1024} : Tolerance{1.0 / 64, 1.0 / 64};
    default:
      return {};
  }
}

std::vector<Tensor> run(const OpDef& op, const Sample& sample) {
  return call(op.name, sample.inputs, sample.attributes);
}

bool is_close(const Tensor& a, const Tensor& b) {
  if (a.has_value() != b.has_value()) return false;
  if (!a.has_value() || same_bits(a, b)) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const double tolerance = a.dtype() == DType::kBFloat16                                    ? 0.05
                           : a.dtype() == DType::kFloat32 || a.dtype() == DType::kComplex64 ? 1e-4
                                                                                            : 1e-11;
  const Tensor x = cast(is_complex(a.dtype()) ? stack({real(a), imag(a)}) : a, DType::kFloat64);
  const Tensor y = cast(is_complex(b.dtype()) ? stack({real(b), imag(b)}) : b, DType::kFloat64);
  const std::vector<double> p = x.to_vector<double>();
  const std::vector<double> q = y.to_vector<double>();
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (std::isnan(p[i]) && std::isnan(q[i])) continue;
    if (p[i] != q[i] && !(std::abs(p[i] - q[i]) <= tolerance * (1 + std::abs(q[i])))) return false;
  }
  return true;
}

Results run_and_differentiate(const OpDef& op, Sample sample, const std::vector<Tensor>& inputs) {
  sample.inputs = inputs;
  std::vector<Tensor> sources;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (sample.differentiable[i]) sources.push_back(inputs[i]);
  }
  GradientTape tape;
  tape.watch(sources);
  Results results{run(op, sample), {}};
  std::vector<Tensor> targets;
  for (const Tensor& output : results.outputs) {
    if (is_differentiable(output.dtype())) targets.push_back(output);
  }
  if (targets.empty() || sources.empty()) return results;
  for (const Tensor& gradient : tape.gradient(targets, sources)) {
    results.gradients.push_back(gradient.has_value() ? gradient.to_dense() : Tensor());
  }
  return results;
}

}  // namespace capstan::testing
