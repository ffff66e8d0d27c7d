// Connectionist temporal classification.
//
// As with softmax cross-entropy, one op gives the loss and its gradient, so that the backward pass of a training step
// is one product. The gradient leads on to second derivatives through an op that is its derivative along a direction;
// there the road ends.
#include <algorithm>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/loss.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/thread_pool.h"
#include "src/kernels/loss/ctc.h"
#include "src/ops/batching.h"
#include "src/ops/examples.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

// Errors name the public function, not the ops that it calls.
constexpr std::string_view kName = "ctc_loss";

struct BlankAttributes {
  std::int64_t blank_index = 0;
};
constexpr const AttributeType& kBlankAttributes = attribute_table<BlankAttributes, "blank_index">;

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

}  // namespace

constinit const OpDef kCtcLossAndGradient = {
    .name = "ctc_loss_and_gradient",
    .text = "The loss of connectionist temporal classification with its gradient for the logits.",
    .flags = kTakesAnyDTypes,
    .outputs = 2,
    .inputs = "labels, logits, label_length, logit_length",
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
    .programs = &kByExample,
};

constinit const OpDef kCtcLossCurvature = {
    .name = "ctc_loss_curvature",
    .text = "The derivative of the gradient of ctc_loss along a direction.",
    .flags = kTakesAnyDTypes,
    .inputs = "labels, logits, label_length, logit_length, direction",
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
    .programs = &kByExample,
};

constinit const OpDef kCtcLoss =
    composite<&ctc_loss, "labels, logits, label_length, logit_length, logits_time_major, blank_index">(
        "ctc_loss", "Minus the logarithm of the probability that logits spell the labels.");

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

CAPSTAN_OPS(ctc, &kCtcLossAndGradient, &kCtcLossCurvature, &kCtcLoss);

}  // namespace capstan
