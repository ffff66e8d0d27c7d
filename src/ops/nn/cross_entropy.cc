// The cross entropies of a softmax, over the last axis of its logits.
//
// The cross entropy of a softmax is one op with two results: the loss, and softmax - labels, which
// is the gradient for the logits up to the cotangent. So the gradient of a training step is one
// product, and the second result, which an outer tape knows as well, leads on to second
// derivatives. The gradient for the logits is softmax - labels even where labels do not sum to one,
// as everybody computes it; everything of higher order is exact.
#include <algorithm>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/kernels/nn/softmax.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/indices.h"

namespace capstan {

namespace {

Shape without_last(const Shape& shape) { return Shape(shape.dims().first(static_cast<std::size_t>(shape.rank() - 1))); }

// Errors name the public functions, not the ops with two outputs that they call.
constexpr std::string_view kCrossEntropyName = "softmax_cross_entropy_with_logits";
constexpr std::string_view kSparseCrossEntropyName = "sparse_softmax_cross_entropy_with_logits";

void infer_cross_entropy(const Call& call, OutputSpecs& outputs) {
  const TensorRef& labels = call.input(0);
  const TensorRef& logits = call.input(1);
  const auto shown = [&] { return arguments({{"labels", labels}, {"logits", logits}}); };
  CAPSTAN_CHECK(is_floating(logits.dtype()), DTypeError, kCrossEntropyName, ": dtype ", logits.dtype(),
                " is not supported", shown());
  CAPSTAN_CHECK(logits.rank() > 0, ShapeError, kCrossEntropyName, ": logits need rank 1 or more", shown());
  CAPSTAN_CHECK(labels.shape() == logits.shape(), ShapeError, kCrossEntropyName, ": shapes differ, ", labels.shape(),
                " and ", logits.shape(), shown());
  outputs.add(logits.dtype(), without_last(logits.shape()));
  outputs.add(logits.dtype(), logits.shape());
}

void infer_sparse_cross_entropy(const Call& call, OutputSpecs& outputs) {
  const TensorRef& labels = call.input(0);
  const TensorRef& logits = call.input(1);
  const auto shown = [&] { return arguments({{"labels", labels}, {"logits", logits}}); };
  CAPSTAN_CHECK(is_floating(logits.dtype()), DTypeError, kSparseCrossEntropyName, ": dtype ", logits.dtype(),
                " is not supported", shown());
  CAPSTAN_CHECK(labels.dtype() == DType::kInt32 || labels.dtype() == DType::kInt64, DTypeError, kSparseCrossEntropyName,
                ": labels must be int32 or int64, not ", labels.dtype(), shown());
  CAPSTAN_CHECK(logits.rank() > 0, ShapeError, kSparseCrossEntropyName, ": logits need rank 1 or more", shown());
  const Shape rows = without_last(logits.shape());
  CAPSTAN_CHECK(labels.shape() == rows, ShapeError, kSparseCrossEntropyName, ": labels have shape ", labels.shape(),
                ", the rows of logits ", rows, shown());
  outputs.add(logits.dtype(), rows);
  outputs.add(logits.dtype(), logits.shape());
}

// Calls run(logits, loss, difference) with floats or doubles; bfloat16 is computed in float32.
template <class Run>
void with_wide_logits(const Call& call, std::span<Tensor> outputs, const Run& run) {
  const TensorRef& logits = call.input(1);
  if (logits.dtype() == DType::kFloat32) {
    run(logits.data<float>(), mutable_data<float>(outputs[0]), mutable_data<float>(outputs[1]));
  } else if (logits.dtype() == DType::kFloat64) {
    run(logits.data<double>(), mutable_data<double>(outputs[0]), mutable_data<double>(outputs[1]));
  } else {
    const std::vector<float> wide(logits.data<BFloat16>(), logits.data<BFloat16>() + logits.size());
    std::vector<float> loss(static_cast<std::size_t>(outputs[0].size()));
    std::vector<float> difference(wide.size());
    run(wide.data(), loss.data(), difference.data());
    const auto narrow = [](float v) { return BFloat16(v); };
    std::transform(loss.begin(), loss.end(), mutable_data<BFloat16>(outputs[0]), narrow);
    std::transform(difference.begin(), difference.end(), mutable_data<BFloat16>(outputs[1]), narrow);
  }
}

void run_cross_entropy(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& labels = call.input(0);
  const std::int64_t rows = outputs[0].size();
  const std::int64_t classes = outputs[1].dim(-1);
  with_wide_logits(call, outputs, [&]<class T>(const T* x, T* loss, T* difference) {
    if (labels.dtype() == DType::kBFloat16) {
      const std::vector<T> wide(labels.data<BFloat16>(), labels.data<BFloat16>() + labels.size());
      softmax_cross_entropy_rows(rows, classes, x, wide.data(), loss, difference);
    } else {
      softmax_cross_entropy_rows(rows, classes, x, labels.data<T>(), loss, difference);
    }
  });
}

void run_sparse_cross_entropy(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& labels = call.input(0);
  const std::int64_t rows = outputs[0].size();
  const std::int64_t classes = outputs[1].dim(-1);
  with_indices(labels, [&](const auto* label) {
    for (std::int64_t i = 0; i < rows; ++i) {
      CAPSTAN_CHECK(label[i] >= 0 && label[i] < classes, IndexError, kSparseCrossEntropyName, ": label ", label[i],
                    " at position ", i, " is not one of ", classes, " classes",
                    arguments({{"labels", labels}, {"logits", call.input(1)}}));
    }
  });
  with_wide_logits(call, outputs, [&]<class T>(const T* x, T* loss, T* difference) {
    if (labels.dtype() == DType::kInt32) {
      sparse_softmax_cross_entropy_rows(rows, classes, x, labels.data<std::int32_t>(), loss, difference);
    } else {
      sparse_softmax_cross_entropy_rows(rows, classes, x, labels.data<std::int64_t>(), loss, difference);
    }
  });
}

// What reaches the logits: from the loss, and from the difference if somebody differentiated that.
Tensor logits_cotangent(const VjpCall& call) {
  Tensor sum;
  if (call.has_cotangent(0)) sum = expand_dims(call.cotangent(0), -1) * call.output(1);
  if (call.has_cotangent(1)) {
    const Tensor& g = call.cotangent(1);
    const Tensor p = softmax(call.input(1));
    Tensor part = (g - reduce_sum(g * p, -1, {.keepdims = true})) * p;
    sum = sum.has_value() ? sum + part : part;
  }
  return sum;
}

// The derivative of softmax * sum(labels) - labels, which is what the difference is where labels
// sum to one.
Tensor labels_cotangent(const VjpCall& call) {
  Tensor sum;
  if (call.has_cotangent(0)) sum = -(expand_dims(call.cotangent(0), -1) * log_softmax(call.input(1)));
  if (call.has_cotangent(1)) {
    const Tensor& g = call.cotangent(1);
    Tensor part = reduce_sum(g * softmax(call.input(1)), -1, {.keepdims = true}) - g;
    sum = sum.has_value() ? sum + part : part;
  }
  return sum;
}

}  // namespace

constinit const OpDef kSoftmaxCrossEntropy = {
    .name = "softmax_cross_entropy",
    .text = "The cross entropy of labels and the softmax of logits, and softmax - labels.",
    .outputs = 2,
    .inputs = "labels, logits",
    .infer = infer_cross_entropy,
    .kernel = run_cross_entropy,
    .saves = {.inputs = 2, .outputs = 2},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          if (call.needs(0)) cotangents[0] = labels_cotangent(call);
          if (call.needs(1)) cotangents[1] = logits_cotangent(call);
        },
    .batch = batch_leading,
};

constinit const OpDef kSparseSoftmaxCrossEntropy = {
    .name = "sparse_softmax_cross_entropy",
    .text =
        "The cross entropy of class numbers and the softmax of logits, and its gradient for the "
        "logits.",
    .flags = kTakesAnyDTypes,
    .outputs = 2,
    .inputs = "labels, logits",
    .infer = infer_sparse_cross_entropy,
    .kernel = run_sparse_cross_entropy,
    .saves = {.inputs = 2, .outputs = 2},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          if (call.needs(1)) cotangents[1] = logits_cotangent(call);
        },
    .batch = batch_leading,
};

constinit const OpDef kSoftmaxCrossEntropyWithLogits =
    composite<&softmax_cross_entropy_with_logits, "labels, logits, axis", -1>(
        "softmax_cross_entropy_with_logits", "The cross entropy of labels and the softmax of logits along an axis.");

constinit const OpDef kSparseSoftmaxCrossEntropyWithLogits =
    composite<&sparse_softmax_cross_entropy_with_logits, "labels, logits">(
        "sparse_softmax_cross_entropy_with_logits", "The cross entropy of class numbers and the softmax of logits.",
        kTakesAnyDTypes);

CrossEntropy softmax_cross_entropy(Operand labels, Operand logits) try {
  Operand inputs[] = {labels, logits};
  std::vector<Tensor> outputs = apply_all(kSoftmaxCrossEntropy, inputs);
  return {std::move(outputs[0]), std::move(outputs[1])};
} catch (const Error&) {
  rethrow_as("softmax_cross_entropy");
}
CrossEntropy sparse_softmax_cross_entropy(Operand labels, Operand logits) try {
  Operand inputs[] = {labels, logits};
  std::vector<Tensor> outputs = apply_all(kSparseSoftmaxCrossEntropy, inputs);
  return {std::move(outputs[0]), std::move(outputs[1])};
} catch (const Error&) {
  rethrow_as("sparse_softmax_cross_entropy");
}

Tensor softmax_cross_entropy_with_logits(Operand labels, Operand logits, int axis) try {
  const Tensor x = to_tensor(logits);
  const Tensor y = to_tensor(labels, x.dtype());
  const char* const name = "softmax_cross_entropy_with_logits";
  CAPSTAN_CHECK(x.rank() > 0 && y.rank() > 0, ShapeError, name, ": logits need rank 1 or more",
                arguments({{"labels", y}, {"logits", x}}));
  const int normal = normalize_axis(name, axis, x.rank());
  if (normal == x.rank() - 1 && x.shape() == y.shape()) [[likely]]
    return softmax_cross_entropy(y, x).loss;
  CAPSTAN_CHECK(x.rank() == y.rank(), ShapeError, name, ": ranks differ, ", y.rank(), " and ", x.rank(),
                arguments({{"labels", y}, {"logits", x}}));
  CAPSTAN_CHECK(x.dim(normal) == y.dim(normal), ShapeError, name, ": ", y.dim(normal), " and ", x.dim(normal),
                " classes", arguments({{"labels", y}, {"logits", x}}));
  const Shape shape = broadcast_shapes(name, x.shape(), y.shape());
  Tensor wide_x = x.shape() == shape ? x : broadcast_to(x, shape);
  Tensor wide_y = y.shape() == shape ? y : broadcast_to(y, shape);
  if (normal != x.rank() - 1) {
    std::vector<int> order;
    for (int i = 0; i < x.rank(); ++i) {
      if (i != normal) order.push_back(i);
    }
    order.push_back(normal);
    wide_x = transpose(wide_x, Axes(std::span<const int>(order)));
    wide_y = transpose(wide_y, Axes(std::span<const int>(order)));
  }
  return softmax_cross_entropy(wide_y, wide_x).loss;
} catch (const Error&) {
  rethrow_as("softmax_cross_entropy_with_logits");
}

Tensor sparse_softmax_cross_entropy_with_logits(Operand labels, Operand logits) try {
  return sparse_softmax_cross_entropy(labels, logits).loss;
} catch (const Error&) {
  rethrow_as("sparse_softmax_cross_entropy_with_logits");
}

CAPSTAN_OPS(cross_entropy, &kSoftmaxCrossEntropy, &kSparseSoftmaxCrossEntropy, &kSoftmaxCrossEntropyWithLogits,
            &kSparseSoftmaxCrossEntropyWithLogits);

}  // namespace capstan
