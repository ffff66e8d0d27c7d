// Random choices: classes with given weights, and orders of rows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/random.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/thread_pool.h"
#include "src/kernels/random/random.h"
#include "src/kernels/random/random_draws.h"
#include "src/kernels/with_type.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/seed.h"

namespace capstan {

namespace {

struct CategoricalAttributes {
  std::int64_t num_samples = 0;
  DType dtype = DType::kInt64;
  OptionalSeed seed;
};

struct OrderAttributes {
  OptionalSeed seed;
};

// Calls run(pointer) with the logits as their C++ type.
template <class Run>
void with_logits(const TensorRef& logits, const Run& run) {
  with_floating_type(logits.dtype(), [&]<class T>(T) { run(logits.data<T>()); });
}

void infer_categorical(const Call& call, OutputSpecs& outputs) {
  const TensorRef& logits = call.input(0);
  const auto& a = call.attributes<CategoricalAttributes>();
  const auto shown = [&] { return arguments({{"logits", logits}}); };
  CAPSTAN_CHECK(is_floating(logits.dtype()), DTypeError, call.op.name, ": dtype ", logits.dtype(), " is not supported",
                shown());
  CAPSTAN_CHECK(a.dtype == DType::kInt32 || a.dtype == DType::kInt64, DTypeError, call.op.name,
                ": the result must be int32 or int64, not ", a.dtype);
  CAPSTAN_CHECK(logits.rank() == 2, ShapeError, call.op.name, ": logits must have rank 2, not ", logits.rank(),
                shown());
  CAPSTAN_CHECK(a.num_samples >= 0, ValueError, call.op.name, ": num_samples ", a.num_samples, " is negative");
  const std::int64_t classes = logits.dim(1);
  CAPSTAN_CHECK(classes > 0 && classes <= std::numeric_limits<std::int32_t>::max(), ShapeError, call.op.name, ": ",
                classes, " classes to choose from", shown());
  outputs.add(a.dtype, {logits.dim(0), a.num_samples});
}

void check_logits(const Call& call) {
  const TensorRef& logits = call.input(0);
  const std::int64_t classes = logits.dim(1);
  with_logits(logits, [&](const auto* x) {
    for (std::int64_t row = 0; row < logits.dim(0); ++row) {
      bool any = false;
      bool strange = false;
      for (std::int64_t c = 0; c < classes; ++c) {
        const auto value = static_cast<float>(x[row * classes + c]);
        strange |= std::isnan(value) || static_cast<double>(x[row * classes + c]) == INFINITY;
        any |= static_cast<double>(x[row * classes + c]) > -INFINITY;
      }
      CAPSTAN_CHECK(any && !strange, ValueError, call.op.name, ": row ", row,
                    " of logits has no finite number, or a NaN or infinity", arguments({{"logits", logits}}));
    }
  });
}

void run_categorical(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& logits = call.input(0);
  const auto& a = call.attributes<CategoricalAttributes>();
  const std::uint64_t key = a.seed.key();
  const std::int64_t classes = logits.dim(1);
  const std::int64_t samples = a.num_samples;
  check_logits(call);
  std::vector<double> sums(static_cast<std::size_t>(classes));
  with_logits(logits, [&](const auto* x) {
    for (std::int64_t row = 0; row < logits.dim(0); ++row) {
      // The distribution function; a class without weight has the sum of the one before and never comes.
      const auto* of_row = x + row * classes;
      const auto largest = static_cast<double>(*std::max_element(of_row, of_row + classes));
      double sum = 0;
      std::int64_t last = 0;
      for (std::int64_t c = 0; c < classes; ++c) {
        const double weight = std::exp(static_cast<double>(of_row[c]) - largest);
        if (weight > 0) last = c;
        sum += weight;
        sums[static_cast<std::size_t>(c)] = sum;
      }
      constexpr std::int64_t kChunk = 4096;
      parallel_for((samples + kChunk - 1) / kChunk, [&](std::int64_t task) {
        for (std::int64_t i = task * kChunk; i < std::min(samples, (task + 1) * kChunk); ++i) {
          const auto position = static_cast<std::uint64_t>(row * samples + i);
          const double u = fraction53(philox(key, position).words) * sum;
          // Rounding may reach the sum itself.
          const std::int64_t found =
              std::min<std::int64_t>(last, std::upper_bound(sums.begin(), sums.end(), u) - sums.begin());
          if (a.dtype == DType::kInt32) {
            mutable_data<std::int32_t>(outputs[0])[row * samples + i] = static_cast<std::int32_t>(found);
          } else {
            mutable_data<std::int64_t>(outputs[0])[row * samples + i] = found;
          }
        }
      });
    }
  });
}

}  // namespace

constinit const OpDef kRandomCategorical = {
    .name = "random_categorical",
    .text = "Class numbers with the probabilities softmax(logits).",
    .flags = kStateful | kNotDifferentiable,
    .inputs = "logits",
    .attributes = &attribute_table<CategoricalAttributes, "num_samples, dtype, seed", 1>,
    .infer = infer_categorical,
    .kernel = run_categorical,
};

constinit const OpDef kRandomOrder = {
    .name = "random_order",
    .text = "A random order of the rows of x.",
    .flags = kStateful | kNotDifferentiable,
    .attributes = &attribute_table<OrderAttributes, "seed">,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const TensorRef& x = call.input(0);
          CAPSTAN_CHECK(x.rank() > 0, ShapeError, call.op.name, ": there are no rows in a scalar",
                        arguments({{"x", x}}));
          outputs.add(DType::kInt64, {x.dim(0)});
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const std::vector<std::int64_t> order =
              random_permutation(call.input(0).dim(0), call.attributes<OrderAttributes>().seed.key());
          std::copy(order.begin(), order.end(), mutable_data<std::int64_t>(outputs[0]));
        },
    .shape_inputs = 1,
};

constinit const OpDef kRandomShuffle =
    composite<&random::shuffle, "x, seed", NoValue{}>("random_shuffle", "The rows of x in random order.");

namespace random {

Tensor categorical(Operand logits, std::int64_t num_samples, DType dtype, Seed seed) try {
  const CategoricalAttributes attributes{num_samples, dtype, seed};
  return apply(kRandomCategorical, logits, &attributes);
} catch (const Error&) {
  rethrow_as("random::categorical");
}
Tensor order(Operand x, Seed seed) try {
  const OrderAttributes attributes{seed};
  return apply(kRandomOrder, x, &attributes);
} catch (const Error&) {
  rethrow_as("random::order");
}
Tensor shuffle(Operand x, Seed seed) try {
  const Tensor rows = to_tensor(x);
  return gather(rows, order(rows, seed), 0);
} catch (const Error&) {
  rethrow_as("random::shuffle");
}

}  // namespace random

CAPSTAN_OPS(random_choice, &kRandomCategorical, &kRandomOrder, &kRandomShuffle);

}  // namespace capstan
