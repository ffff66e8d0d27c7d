// Every op and its gradient in a function whose lengths are open: one trace serves several lengths with the results
// that each has without it. A rule that puts a length into its trace as a number shows here.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capstan/error.h"
#include "capstan/function.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/tape.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"

namespace capstan::testing {
namespace {

// Ops whose trace depends on some length, in themselves or in their gradient, be it by nature (the number of results of
// unstack) or because a rule has a length for an attribute: such lengths have a trace for each shape.
const std::set<std::string> kDependOnLengths = {"adaptive_average_pool",
                                                "adaptive_max_pool",
                                                "attention_gradients",
                                                "avg_pool1d",
                                                "avg_pool3d",
                                                "batch_to_space",
                                                "bias_add",
                                                "clip_by_average_norm",
                                                "cofactors",
                                                "complex",
                                                "concat",
                                                "confusion_matrix",
                                                "conv1d",
                                                "conv2d",
                                                "conv2d_backprop_input",
                                                "conv2d_transpose",
                                                "conv3d",
                                                "crelu",
                                                "cummax",
                                                "cummin",
                                                "cumprod",
                                                "cumulative_logsumexp",
                                                "depth_to_space",
                                                "depthwise_conv2d",
                                                "einsum",
                                                "embedding_lookup",
                                                "expm",
                                                "fft",
                                                "fft2d",
                                                "fft3d",
                                                "fftshift",
                                                "fractional_avg_pool",
                                                "fractional_max_pool",
                                                "frame",
                                                "gather",
                                                "gather_nd",
                                                "group_normalization",
                                                "ifft",
                                                "ifft2d",
                                                "ifft3d",
                                                "ifftshift",
                                                "image_affine_transform",
                                                "image_affine_transform_adjoint",
                                                "image_central_crop",
                                                "image_extract_patches",
                                                "image_grayscale_to_rgb",
                                                "image_image_gradients",
                                                "image_per_image_standardization",
                                                "image_resize",
                                                "image_resize_adjoint",
                                                "image_resize_with_crop_or_pad",
                                                "image_rotate",
                                                "image_sobel_edges",
                                                "image_ssim",
                                                "image_total_variation",
                                                "instance_normalization",
                                                "inverse_stft",
                                                "irfft",
                                                "irfft2d",
                                                "irfft3d",
                                                "kron",
                                                "linear_recurrence",
                                                "local_response_normalization",
                                                "lstsq",
                                                "matmul",
                                                "matrix_rank",
                                                "max_pool1d",
                                                "max_pool3d",
                                                "meshgrid",
                                                "outer",
                                                "overlap_and_add",
                                                "pad",
                                                "pool",
                                                "qr",
                                                "quantiles",
                                                "random_beta",
                                                "random_exponential",
                                                "random_laplace",
                                                "reduce_prod",
                                                "repeat",
                                                "rfft",
                                                "rfft2d",
                                                "rfft3d",
                                                "scaled_dot_product_attention",
                                                "separable_conv2d",
                                                "slice",
                                                "sort",
                                                "space_to_batch",
                                                "space_to_depth",
                                                "sqrtm",
                                                "stft",
                                                "svd",
                                                "tensor_diag",
                                                "tensor_diag_part",
                                                "tensor_scatter_nd_max",
                                                "tensor_scatter_nd_min",
                                                "tensordot",
                                                "tile",
                                                "top_k",
                                                "unsorted_segment_mean",
                                                "unsorted_segment_prod",
                                                "unsorted_segment_sqrt_n",
                                                "unstack"};

// The inputs with `more` elements on each axis of this length, repeated from the begin.
std::vector<Tensor> longer(const std::vector<Tensor>& inputs, std::int64_t length, int more) {
  std::vector<Tensor> result;
  for (Tensor x : inputs) {
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (x.dim(axis) == length) x = gather(x, range(length + more) % static_cast<int>(length), axis);
    }
    result.push_back(x);
  }
  return result;
}

std::optional<Results> eager(const OpDef& op, const Sample& sample, const std::vector<Tensor>& inputs) {
  try {
    set_seed(5);
    return run_and_differentiate(op, sample, inputs);
  } catch (const Error&) {
    return std::nullopt;  // these shapes do not fit each other or the attributes
  }
}

bool close(const Tensor& a, const Tensor& b) {
  if (a.has_value() != b.has_value()) return false;
  if (!a.has_value()) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (is_complex(a.dtype()) || !is_floating(a.dtype())) return true;
  const std::vector<double> p = a.to_vector<double>();
  const std::vector<double> q = b.to_vector<double>();
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] != q[i] && !(std::isnan(p[i]) && std::isnan(q[i])) &&
        !(std::abs(p[i] - q[i]) <= 1e-4 * (1 + std::abs(q[i]))))
      return false;
  }
  return true;
}

std::vector<const OpDef*> tested_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    if (testing::test_of(*op) != nullptr) ops.push_back(op);
  }
  return ops;
}

class OpenLengths : public ::testing::TestWithParam<const OpDef*> {};

INSTANTIATE_TEST_SUITE_P(Ops, OpenLengths, ::testing::ValuesIn(tested_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(OpenLengths, OneTraceServesThem) {
  const OpDef& op = *GetParam();
  const bool may_depend = kDependOnLengths.contains(std::string(op.name));
  const DType dtype = dtypes_of(op)[0];
  for (const Sample& sample : samples_of(op, dtype)) {
    std::set<std::int64_t> lengths;
    for (const Tensor& input : sample.inputs) {
      for (const std::int64_t length : input.shape()) {
        if (length > 1) lengths.insert(length);
      }
    }
    for (const std::int64_t length : lengths) {
      SCOPED_TRACE(sample.text + ", axes of " + std::to_string(length));
      auto traced =
          function([&](const std::vector<Tensor>& inputs) { return run_and_differentiate(op, sample, inputs); },
                   {.reduce_retracing = true});
      int served = 0;
      for (const int more : {0, 1, 2, 5}) {
        const std::vector<Tensor> inputs = longer(sample.inputs, length, more);
        const std::optional<Results> expected = eager(op, sample, inputs);
        if (!expected) continue;
        Results actual;
        try {
          actual = traced(inputs);
        } catch (const TraceError&) {
          continue;  // it reads elements: see in_function_test
        }
        ++served;
        if (has_flag(op, kStateful)) continue;
        ASSERT_EQ(actual.outputs.size(), expected->outputs.size());
        for (std::size_t i = 0; i < actual.outputs.size(); ++i) {
          EXPECT_TRUE(close(actual.outputs[i], expected->outputs[i]))
              << more << " more: " << actual.outputs[i].to_string() << "\ninstead of "
              << expected->outputs[i].to_string();
        }
        for (std::size_t i = 0; i < actual.gradients.size(); ++i) {
          EXPECT_TRUE(close(actual.gradients[i], expected->gradients[i])) << more << " more";
        }
      }
      if (served > 2 && !may_depend) {
        EXPECT_EQ(tracing_count(traced), 2) << retrace_reason(traced);
      }
    }
  }
}

}  // namespace
}  // namespace capstan::testing
