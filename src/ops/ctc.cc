// Connectionist temporal classification.
//
// As with softmax cross-entropy, one op gives the loss and its gradient, so that the backward pass of a training step
// is one product. The gradient leads on to second derivatives by an op that is its derivative along a direction; there
// the road ends.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/loss.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/core/thread_pool.h"
#include "src/kernels/ctc.h"
#include "src/ops/batching.h"
#include "src/ops/families.h"
#include "src/ops/reference.h"

namespace capstan {

namespace {

// Errors name the public function, not the ops behind it.
constexpr std::string_view kName = "ctc_loss";

struct BlankAttributes {
  std::int64_t blank_index = 0;
};
constexpr AttributeType kBlankAttributes =
    attribute_type<BlankAttributes>({field<&BlankAttributes::blank_index>("blank_index")});

struct CtcAttributes {
  bool logits_time_major = true;
  std::int64_t blank_index = 0;
};
constexpr AttributeType kCtcAttributes = attribute_type<CtcAttributes>(
    {field<&CtcAttributes::logits_time_major>("logits_time_major"), field<&CtcAttributes::blank_index>("blank_index")});

std::int64_t integer_at(const TensorRef& x, std::int64_t i) {
  return x.dtype() == DType::kInt32 ? x.data<std::int32_t>()[i] : x.data<std::int64_t>()[i];
}

void check_integers(std::string_view what, const TensorRef& x) {
  CAPSTAN_CHECK(x.dtype() == DType::kInt32 || x.dtype() == DType::kInt64, DTypeError, kName, ": ", what,
                " must be int32 or int64, not ", x.dtype(), arguments({{what, x}}));
}

void check_lengths(std::string_view what, const TensorRef& x, std::int64_t batch) {
  check_integers(what, x);
  CAPSTAN_CHECK(x.shape() == Shape({batch}), ShapeError, kName, ": ", what, " has shape ", x.shape(), ", the batch is ",
                batch);
}

void check_length_values(std::string_view what, const TensorRef& x, std::int64_t limit) {
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t length = integer_at(x, i);
    CAPSTAN_CHECK(length >= 0 && length <= limit, ValueError, kName, ": ", what, " ", length, " of sequence ", i,
                  " is outside the range from 0 to ", limit);
  }
}

void check_arguments(const Call& call) {
  const TensorRef& labels = call.input(0);
  const TensorRef& logits = call.input(1);
  const auto shown = [&] { return arguments({{"labels", labels}, {"logits", logits}}); };
  CAPSTAN_CHECK(is_floating(logits.dtype()), DTypeError, kName, ": dtype ", logits.dtype(), " is not supported",
                shown());
  check_integers("labels", labels);
  CAPSTAN_CHECK(logits.rank() == 3, ShapeError, kName, ": logits must have rank 3, not ", logits.rank(), shown());
  CAPSTAN_CHECK(labels.rank() == 2, ShapeError, kName, ": labels must have rank 2, not ", labels.rank(), shown());
  const std::int64_t batch = logits.dim(0);
  const std::int64_t frames = logits.dim(1);
  const std::int64_t classes = logits.dim(2);
  CAPSTAN_CHECK(labels.dim(0) == batch, ShapeError, kName, ": batches differ, ", labels.dim(0), " and ", batch,
                shown());
  const std::int64_t blank = call.attributes<BlankAttributes>().blank_index;
  CAPSTAN_CHECK(blank >= 0 && blank < classes, IndexError, kName, ": blank ", blank, " is not one of ", classes,
                " classes", shown());
  const std::int64_t length = labels.dim(1);
  // The sums over all paths of one sequence must fit into memory.
  std::int64_t states = 0;
  CAPSTAN_CHECK(!__builtin_mul_overflow(frames + 2, 2 * length + 1, &states) && states < (std::int64_t{1} << 40),
                ShapeError, kName, ": ", frames, " frames of ", length, " labels are too many", shown());
  check_lengths("label_length", call.input(2), batch);
  check_lengths("logit_length", call.input(3), batch);
}

// The same of the elements.
void check_elements(const Call& call) {
  const TensorRef& labels = call.input(0);
  const TensorRef& logits = call.input(1);
  const std::int64_t classes = logits.dim(2);
  const std::int64_t length = labels.dim(1);
  const std::int64_t blank = call.attributes<BlankAttributes>().blank_index;
  check_length_values("label_length", call.input(2), length);
  check_length_values("logit_length", call.input(3), logits.dim(1));
  for (std::int64_t i = 0; i < logits.dim(0); ++i) {
    for (std::int64_t k = 0; k < integer_at(call.input(2), i); ++k) {
      const std::int64_t label = integer_at(labels, i * length + k);
      CAPSTAN_CHECK(label >= 0 && label < classes && label != blank, IndexError, kName, ": label ", label,
                    " of sequence ", i, " is not one of ", classes, " classes without the blank ", blank,
                    arguments({{"labels", labels}, {"logits", logits}}));
    }
  }
}

// Calls write(i, loss, gradient) for each sequence of the batch; `read(i)` gives element i of the logits. Every task
// has a block of memory and takes every 16th sequence.
template <class Number, class Read, class Write>
void for_each_sequence(const Call& call, const Read& read, const Write& write) {
  const TensorRef& labels = call.input(0);
  const TensorRef& logits = call.input(1);
  const std::int64_t batch = logits.dim(0);
  const std::int64_t frames = logits.dim(1);
  const std::int64_t classes = logits.dim(2);
  const std::int64_t length = labels.dim(1);
  constexpr std::int64_t kTasks = 16;
  check_elements(call);
  const std::int64_t tasks = std::min(batch, kTasks);
  const std::int64_t each = 2 * frames * classes + ctc_memory(frames, classes, length);
  std::vector<Number> memory(static_cast<std::size_t>(tasks * each));
  std::vector<std::int64_t> classes_of(static_cast<std::size_t>(tasks * length));
  parallel_for(tasks, [&](std::int64_t task) {
    Number* const x = memory.data() + task * each;
    Number* const gradient = x + frames * classes;
    std::int64_t* const own = classes_of.data() + task * length;
    for (std::int64_t i = task; i < batch; i += tasks) {
      const std::int64_t count = integer_at(call.input(3), i);
      const std::int64_t label_count = integer_at(call.input(2), i);
      for (std::int64_t k = 0; k < label_count; ++k) own[k] = integer_at(labels, i * length + k);
      for (std::int64_t k = 0; k < count * classes; ++k) x[k] = read(i * frames * classes + k);
      const CtcSequence<Number> sequence{x,   count,       classes,
                                         own, label_count, call.attributes<BlankAttributes>().blank_index};
      const Number loss = ctc_sequence(sequence, gradient + frames * classes, gradient);
      for (std::int64_t k = count * classes; k < frames * classes; ++k) gradient[k] = Number{0};
      write(i, loss, gradient);
    }
  });
}

// Calls run(T{}) for the dtype of the logits.
template <class Run>
void with_logits_type(const Call& call, const Run& run) {
  const DType dtype = call.input(1).dtype();
  if (dtype == DType::kFloat32) return run(float{});
  if (dtype == DType::kFloat64) return run(double{});
  run(BFloat16{});
}
template <class T>
T narrow(double x) {
  return T(static_cast<std::conditional_t<std::is_same_v<T, BFloat16>, float, T>>(x));
}

void run_loss(const Call& call, std::span<Tensor> outputs) {
  with_logits_type(call, [&]<class T>(T) {
    const T* x = call.input(1).data<T>();
    T* loss = mutable_data<T>(outputs[0]);
    T* gradient = mutable_data<T>(outputs[1]);
    const std::int64_t size = call.input(1).dim(1) * call.input(1).dim(2);
    for_each_sequence<double>(
        call, [&](std::int64_t i) { return static_cast<double>(x[i]); },
        [&](std::int64_t i, double value, const double* slopes) {
          loss[i] = narrow<T>(value);
          for (std::int64_t k = 0; k < size; ++k) gradient[i * size + k] = narrow<T>(slopes[k]);
        });
  });
}

void run_curvature(const Call& call, std::span<Tensor> outputs) {
  with_logits_type(call, [&]<class T>(T) {
    const T* x = call.input(1).data<T>();
    const T* direction = call.input(4).data<T>();
    T* out = mutable_data<T>(outputs[0]);
    const std::int64_t size = call.input(1).dim(1) * call.input(1).dim(2);
    for_each_sequence<CtcDual>(
        call,
        [&](std::int64_t i) {
          return CtcDual{static_cast<double>(x[i]), static_cast<double>(direction[i])};
        },
        [&](std::int64_t i, CtcDual, const CtcDual* slopes) {
          for (std::int64_t k = 0; k < size; ++k) out[i * size + k] = narrow<T>(slopes[k].slope);
        });
  });
}

#if CAPSTAN_TESTING

SampleInput integers(Shape shape, std::vector<double> values, DType dtype = int32) {
  return {.shape = std::move(shape), .values = std::move(values), .dtype = dtype, .differentiable = false};
}

std::vector<OpSample> loss_samples() {
  return {
      {.inputs = {integers({2, 2}, {1, 2, 2, 0}), {.shape = {2, 4, 3}}, integers({2}, {2, 1}), integers({2}, {4, 3})}},
      // Equal neighbours, which need a blank between them; a blank that is not the first class; no labels.
      {.inputs = {integers({3, 2}, {1, 1, 0, 3, 0, 0}, int64),
                  {.shape = {3, 5, 4}},
                  integers({3}, {2, 2, 0}, int64),
                  integers({3}, {5, 4, 2}, int64)},
       .attributes = {{"blank_index", 2}}},
      {.inputs = {integers({0, 1}, {}), {.shape = {0, 2, 2}}, integers({0}, {}), integers({0}, {})}},
      {.inputs = {integers({1, 2}, {1, 3}), {.shape = {1, 4, 3}}, integers({1}, {2}), integers({1}, {4})},
       .error = "label 3 of sequence 0 is not one of 3 classes"},
      {.inputs = {integers({1, 2}, {1, 0}), {.shape = {1, 4, 3}}, integers({1}, {2}), integers({1}, {4})},
       .error = "label 0 of sequence 0 is not one of 3 classes without the blank 0"},
      {.inputs = {integers({1, 2}, {1, 2}), {.shape = {1, 4, 3}}, integers({1}, {3}), integers({1}, {4})},
       .error = "label_length 3 of sequence 0 is outside the range from 0 to 2"},
      {.inputs = {integers({1, 2}, {1, 2}), {.shape = {1, 4, 3}}, integers({1}, {2}), integers({1}, {5})},
       .error = "logit_length 5 of sequence 0 is outside the range from 0 to 4"},
      {.inputs = {integers({1, 2}, {1, 2}), {.shape = {4, 3}}, integers({1}, {2}), integers({1}, {4})},
       .error = "logits must have rank 3, not 2"},
      {.inputs = {integers({2, 2}, {1, 2, 1, 2}), {.shape = {1, 4, 3}}, integers({1}, {2}), integers({1}, {4})},
       .error = "batches differ, 2 and 1"},
      {.inputs = {integers({1, 1}, {1}), {.shape = {1, 4, 3}}, integers({1}, {1}), integers({1}, {4})},
       .attributes = {{"blank_index", 3}},
       .error = "blank 3 is not one of 3 classes"},
  };
}

// What one sequence gives by enumerating all paths.
struct Enumerated {
  double loss = 0;
  std::vector<double> gradient;
  std::vector<double> curvature;  // along the direction
};

Enumerated enumerate(const std::vector<double>& x, const std::vector<double>& direction, std::int64_t frames,
                     std::int64_t classes, const std::vector<std::int64_t>& labels, std::int64_t blank) {
  const std::size_t size = x.size();
  const auto at = [&](std::int64_t t, std::int64_t c) { return static_cast<std::size_t>(t * classes + c); };
  Enumerated result{.loss = 0, .gradient = std::vector<double>(size), .curvature = std::vector<double>(size)};
  std::vector<double> p(size);
  for (std::int64_t t = 0; t < frames; ++t) {
    double sum = 0;
    double along = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(x[at(t, c)]);
    for (std::int64_t c = 0; c < classes; ++c) {
      p[at(t, c)] = std::exp(x[at(t, c)]) / sum;
      along += p[at(t, c)] * direction[at(t, c)];
    }
    for (std::int64_t c = 0; c < classes; ++c) {
      result.gradient[at(t, c)] = p[at(t, c)];
      result.curvature[at(t, c)] = p[at(t, c)] * (direction[at(t, c)] - along);
    }
  }
  // The mean number of visits, of the direction along the path, and of their product.
  std::vector<double> visits(size);
  std::vector<double> products(size);
  double total = 0;
  double mean = 0;
  std::int64_t paths = 1;
  for (std::int64_t t = 0; t < frames; ++t) paths *= classes;
  for (std::int64_t path = 0; path < paths; ++path) {
    std::vector<std::int64_t> spelled;
    std::vector<std::size_t> places;
    std::int64_t before = blank;
    std::int64_t rest = path;
    double probability = 1;
    double along = 0;
    for (std::int64_t t = 0; t < frames; ++t, rest /= classes) {
      const std::int64_t c = rest % classes;
      places.push_back(at(t, c));
      probability *= p[places.back()];
      along += direction[places.back()];
      if (c != before && c != blank) spelled.push_back(c);
      before = c;
    }
    if (spelled != labels) continue;
    total += probability;
    mean += probability * along;
    for (const std::size_t place : places) {
      visits[place] += probability;
      products[place] += probability * along;
    }
  }
  result.loss = -std::log(total);
  for (std::size_t i = 0; i < size; ++i) {
    result.gradient[i] -= visits[i] / total;
    result.curvature[i] -= products[i] / total - visits[i] / total * (mean / total);
  }
  return result;
}

// Of batch-major logits: the losses, the gradients, the curvatures.
std::vector<ReferenceTensor> enumerate_batch(const std::vector<ReferenceTensor>& inputs, std::int64_t blank) {
  const Shape& shape = inputs[1].shape;
  std::vector<ReferenceTensor> results = {
      {DType::kFloat64, {shape[0]}, {}}, {DType::kFloat64, shape, {}}, {DType::kFloat64, shape, {}}};
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const auto frames = static_cast<std::int64_t>(inputs[3].values[static_cast<std::size_t>(i)]);
    const auto begin = static_cast<std::ptrdiff_t>(i * shape[1] * shape[2]);
    const auto part = [&](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + begin, all.begin() + begin + shape[1] * shape[2]);
    };
    std::vector<std::int64_t> labels;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(inputs[2].values[static_cast<std::size_t>(i)]); ++k) {
      labels.push_back(
          static_cast<std::int64_t>(inputs[0].values[static_cast<std::size_t>(i * inputs[0].shape[1] + k)]));
    }
    const std::vector<double> x = part(inputs[1].values);
    const Enumerated one =
        enumerate(x, inputs.size() > 4 ? part(inputs[4].values) : x, frames, shape[2], labels, blank);
    results[0].values.push_back(one.loss);
    results[1].values.insert(results[1].values.end(), one.gradient.begin(), one.gradient.end());
    results[2].values.insert(results[2].values.end(), one.curvature.begin(), one.curvature.end());
  }
  return results;
}

const OpTest kLossAndGradientTest = [] {
  OpTest test;
  test.samples = loss_samples;
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    outputs = enumerate_batch(inputs, reference::integer(attributes, "blank_index", 0));
    outputs.pop_back();
  };
  return test;
}();

const OpTest kCurvatureTest = [] {
  OpTest test;
  test.samples = [] {
    std::vector<OpSample> samples = loss_samples();
    for (OpSample& sample : samples) sample.inputs.push_back({.shape = sample.inputs[1].shape});
    return samples;
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    outputs = {enumerate_batch(inputs, reference::integer(attributes, "blank_index", 0))[2]};
  };
  return test;
}();

// The samples of batch-major logits, and one that is time-major.
std::vector<OpSample> ctc_samples() {
  std::vector<OpSample> samples = loss_samples();
  for (OpSample& sample : samples) sample.attributes["logits_time_major"] = AttributeValue(false);
  samples.push_back(
      {.inputs = {integers({2, 2}, {1, 2, 2, 0}), {.shape = {4, 2, 3}}, integers({2}, {2, 1}), integers({2}, {4, 3})},
       .attributes = {{"blank_index", -3}}});
  return samples;
}
void ctc_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                   std::vector<ReferenceTensor>& outputs) {
  std::vector<ReferenceTensor> own = inputs;
  std::int64_t blank = reference::integer(attributes, "blank_index", 0);
  if (!attributes.contains("logits_time_major")) {
    const Shape& shape = inputs[1].shape;
    own[1] = reference::build(DType::kFloat64, {shape[1], shape[0], shape[2]}, [&](const reference::Position& p) {
      return reference::at(inputs[1], {p[1], p[0], p[2]});
    });
  }
  if (blank < 0) blank += inputs[1].shape[2];
  outputs = {enumerate_batch(own, blank)[0]};
}
const OpTest kCtcTest = {.samples = ctc_samples, .reference = ctc_reference};

#endif

}  // namespace

constinit const OpDef kCtcLossAndGradient = {
    .name = "ctc_loss_and_gradient",
    .text = "The loss of connectionist temporal classification with its gradient for the logits.",
    .flags = kTakesAnyDTypes,
    .arity = 4,
    .outputs = 2,
    .input_names = "labels, logits, label_length, logit_length",
    .attributes = &kBlankAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          check_arguments(call);
          const TensorRef& logits = call.input(1);
          outputs.add(logits.dtype(), {logits.dim(0)});
          outputs.add(logits.dtype(), logits.shape());
        },
    .kernel = run_loss,
    .saves = {.inputs = 15, .outputs = 2},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          if (!call.needs(1)) return;
          Tensor sum;
          if (call.has_cotangent(0)) sum = expand_dims(expand_dims(call.cotangent(0), -1), -1) * call.output(1);
          if (call.has_cotangent(1)) {
            // The matrix of second derivatives is symmetric.
            const Tensor part = ctc_loss_curvature(call.input(0), call.input(1), call.input(2), call.input(3),
                                                   call.cotangent(1), call.attributes<BlankAttributes>().blank_index);
            sum = sum.has_value() ? sum + part : part;
          }
          cotangents[1] = sum;
        },
    .batch = batch_examples,
    .test = CAPSTAN_OP_TEST(kLossAndGradientTest),
};

constinit const OpDef kCtcLossCurvature = {
    .name = "ctc_loss_curvature",
    .text = "The derivative of the gradient of ctc_loss along a direction.",
    .flags = kTakesAnyDTypes,
    .arity = 5,
    .input_names = "labels, logits, label_length, logit_length, direction",
    .attributes = &kBlankAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          check_arguments(call);
          const TensorRef& logits = call.input(1);
          const TensorRef& direction = call.input(4);
          CAPSTAN_CHECK(direction.dtype() == logits.dtype() && direction.shape() == logits.shape(), ShapeError, kName,
                        ": the direction is no tensor like the logits",
                        arguments({{"logits", logits}, {"direction", direction}}));
          outputs.add(logits.dtype(), logits.shape());
        },
    .kernel = run_curvature,
    .saves = {.inputs = 15},
    // By the direction alone: third derivatives do not exist. The matrix is symmetric.
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          if (!call.needs(4)) return;
          cotangents[4] = ctc_loss_curvature(call.input(0), call.input(1), call.input(2), call.input(3),
                                             call.cotangent(), call.attributes<BlankAttributes>().blank_index);
        },
    .batch = batch_examples,
    .test = CAPSTAN_OP_TEST(kCurvatureTest),
};

constinit const OpDef kCtcLoss = {
    .name = "ctc_loss",
    .text = "Minus the logarithm of the probability that logits spell the labels.",
    .kind = OpKind::kComposite,
    .arity = 4,
    .input_names = "labels, logits, label_length, logit_length",
    .attributes = &kCtcAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const CtcAttributes*>(attributes);
          outputs.push_back(ctc_loss(inputs[0], inputs[1], inputs[2], inputs[3], {a.logits_time_major, a.blank_index}));
        },
    .test = CAPSTAN_OP_TEST(kCtcTest),
};

CtcLoss ctc_loss_and_gradient(Operand labels, Operand logits, Operand label_length, Operand logit_length,
                              std::int64_t blank_index) try {
  const BlankAttributes attributes{blank_index};
  Operand operands[] = {labels, logits, label_length, logit_length};
  std::vector<Tensor> outputs = apply_all(kCtcLossAndGradient, operands, &attributes);
  return {std::move(outputs[0]), std::move(outputs[1])};
} catch (const Error&) {
  rethrow_as("ctc_loss_and_gradient");
}

Tensor ctc_loss_curvature(Operand labels, Operand logits, Operand label_length, Operand logit_length, Operand direction,
                          std::int64_t blank_index) try {
  const BlankAttributes attributes{blank_index};
  Operand operands[] = {labels, logits, label_length, logit_length, direction};
  return apply(kCtcLossCurvature, std::span<Operand>(operands), &attributes);
} catch (const Error&) {
  rethrow_as("ctc_loss_curvature");
}

Tensor ctc_loss(Operand labels, Operand logits, Operand label_length, Operand logit_length,
                const CtcOptions& options) try {
  Tensor x = to_tensor(logits);
  CAPSTAN_CHECK(x.rank() == 3, ShapeError, kName, ": logits must have rank 3, not ", x.rank(),
                arguments({{"logits", x}}));
  if (options.logits_time_major) x = transpose(x, {1, 0, 2});
  const std::int64_t blank = options.blank_index < 0 ? options.blank_index + x.dim(2) : options.blank_index;
  return ctc_loss_and_gradient(labels, x, label_length, logit_length, blank).loss;
} catch (const Error&) {
  rethrow_as("ctc_loss");
}

OpFamily ctc_ops() {
  static constexpr const OpDef* ops[] = {&kCtcLossAndGradient, &kCtcLossCurvature, &kCtcLoss};
  return ops;
}

}  // namespace capstan
