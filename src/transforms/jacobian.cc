// jacobian and batch_jacobian: a reverse pass, traced once with a symbolic cotangent and run for many of them.
//
// The cotangents of the rows are the rows of an identity matrix; the pass is linear in them. What it reads of the
// forward pass is outside of the trace, so it is computed once, and outer tapes see it.
#include <algorithm>
#include <array>
#include <complex>

#include "capstan/control_flow.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/row_shape.h"
#include "src/core/profiler.h"
#include "src/graph/tracer.h"
#include "src/tape/gradient_arguments.h"
#include "src/tape/tape_impl.h"
#include "src/transforms/batching.h"
#include "src/transforms/row_pullback.h"
#include "src/transforms/row_stack.h"

namespace capstan {

namespace {

// --- Rows of the identity ---

// What the rows of a jacobian are.
enum class SeedKind : std::int64_t {
  kElement,    // one for each element of the target
  kByExample,  // one for each element of an example, the same for all examples
  kOfExample,  // one for each element; its cotangent is that of its example alone, [1, ...]
};

struct SeedAttributes {
  std::int64_t rows = 0;
  std::int64_t kind = 0;
};

template <class T>
void write_seeds(const SeedAttributes& a, std::int64_t begin, std::int64_t size, std::int64_t examples,
                 const Tensor& out) {
  T* const to = mutable_data<T>(out);
  std::fill_n(to, out.size(), T(0));
  const std::int64_t per_example = size / std::max<std::int64_t>(1, examples);
  const auto kind = static_cast<SeedKind>(a.kind);
  const std::int64_t end = std::min(begin + a.rows, kind == SeedKind::kByExample ? per_example : size);
  for (std::int64_t row = begin; row < end; ++row) {
    if (kind == SeedKind::kElement) {
      to[(row - begin) * size + row] = T(1);
    } else if (kind == SeedKind::kOfExample) {
      to[(row - begin) * per_example + row % per_example] = T(1);
    } else {
      for (std::int64_t e = 0; e < examples; ++e) to[(row - begin) * size + e * per_example + row] = T(1);
    }
  }
}

// An op, so that in a trace the rows are made where they are used instead of standing there as a constant. After the
// last row come zeros.
constinit const OpDef kSeeds = {
    .name = "jacobian_rows",
    .text = "Cotangents that each pick one element of a tensor, of which the shape is read; made by jacobian().",
    .flags = kNotDifferentiable | kTakesAnyDTypes,
    .inputs = "target, begin",
    .attributes = &attribute_table<SeedAttributes, "rows, kind">,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const auto& a = call.attributes<SeedAttributes>();
          Shape shape = stacked_shape(a.rows, call.input(0).shape());
          if (static_cast<SeedKind>(a.kind) == SeedKind::kOfExample) shape.set(1, 1);
          outputs.add(call.input(0).dtype(), shape);
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& a = call.attributes<SeedAttributes>();
          const TensorRef& y = call.input(0);
          const std::int64_t begin = *call.input(1).data<std::int64_t>();
          const std::int64_t examples = static_cast<SeedKind>(a.kind) == SeedKind::kElement ? 1 : y.dim(0);
          switch (y.dtype()) {
            case DType::kFloat32:
              return write_seeds<float>(a, begin, y.size(), examples, outputs[0]);
            case DType::kFloat64:
              return write_seeds<double>(a, begin, y.size(), examples, outputs[0]);
            case DType::kBFloat16:
              return write_seeds<BFloat16>(a, begin, y.size(), examples, outputs[0]);
            case DType::kComplex64:
              return write_seeds<std::complex<float>>(a, begin, y.size(), examples, outputs[0]);
            default:
              return write_seeds<std::complex<double>>(a, begin, y.size(), examples, outputs[0]);
          }
        },
    .shape_inputs = 1,
};

Tensor seeds(const Tensor& y, const Tensor& begin, std::int64_t rows, SeedKind kind) {
  const SeedAttributes attributes{rows, static_cast<std::int64_t>(kind)};
  return apply(kSeeds, y, begin, &attributes);
}
// The example of each row, as [rows, 1].
Tensor examples_of(const Tensor& y, const Tensor& begin, std::int64_t rows) {
  const Tensor row = begin + cast(range(rows), DType::kInt64);
  return expand_dims(minimum(floordiv(row, y.size() / y.dim(0)), y.dim(0) - 1), 1);
}
Tensor position(std::int64_t row) { return scalar(static_cast<double>(row), DType::kInt64); }

// --- The traced pass ---

Tensor tensor_of(const Source& source) {
  return source.variable() != nullptr ? current_value(*source.variable()->state()) : *source.tensor();
}

Shape joined(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  Shape shape(a);
  for (const std::int64_t length : b) shape.push_back(length);
  return shape;
}

// The gradients of one target by the sources, as a graph of its cotangent.
Pullback trace_pullback(TapeImpl& tape, const Source& target, std::span<const Source> sources, std::string_view call) {
  const Tensor y = tensor_of(target);
  std::vector<Tensor> gradients(sources.size());
  GraphTracer tracer(std::string(call), GraphTracer::ForItems{});
  const Tensor cotangent = tracer.add_argument(y.dtype(), y.shape());
  try {
    tape.gradient(std::span(&target, 1), sources, gradients, {.output_gradients = {cotangent}});
  } catch (const TraceError& error) {
    throw TraceError(detail::join(error.what(), "\n  while all rows of a ", call, " were traced at once",
                                  help("set experimental_use_pfor = false, on a persistent tape")));
  }
  Pullback pullback{tracer.finish(gradients), {Tensor()}};
  for (const Tensor& capture : tracer.captures()) pullback.inputs.push_back(capture);
  return pullback;
}

void complete(Pullback& pullback) {
  for (const Graph::Captured& captured : pullback.graph.captured) {
    pullback.inputs.push_back(current_value(*captured.variable.state()));
  }
  tidy(pullback.graph);
}

struct Rows {
  std::int64_t count;  // how many cotangents there are
  SeedKind kind;
};

// How many rows are computed at once: a divisor of their number, if there is a large one.
std::int64_t block_of(std::int64_t rows, std::int64_t bytes_per_row, const JacobianOptions& options) {
  std::int64_t most = options.parallel_iterations.value_or(0);
  if (most == 0) most = options.memory_budget / std::max<std::int64_t>(1, bytes_per_row);
  most = std::clamp<std::int64_t>(most, 1, rows);
  std::int64_t block = most;
  while (rows % block != 0 && block > most / 8) --block;
  return rows % block == 0 ? block : most;
}

// All rows for each source: [rows, source...], or [rows, examples, ...]; nothing where the gradient is missing.
std::vector<Tensor> run_rows(const Pullback& pullback, const Tensor& y, const Rows& rows,
                             const JacobianOptions& options) {
  std::vector<bool> per_item(pullback.inputs.size());
  per_item[0] = true;
  const bool of_example = rows.kind == SeedKind::kOfExample;
  if (of_example) per_item[1] = true;
  const BatchedGraph batched(pullback.graph, pullback.inputs, per_item);
  const std::int64_t block = block_of(rows.count, batched.bytes_per_item(), options);
  // Which sources have a gradient at all.
  std::vector<std::size_t> present;
  for (std::size_t k = 0; k < pullback.graph.results.size(); ++k) {
    if (pullback.graph.results[k] != Graph::kNone) present.push_back(k);
  }
  std::vector<Tensor> all(pullback.graph.results.size());
  if (present.empty()) return all;
  const auto run_block = [&](const Tensor& begin) {
    std::vector<Tensor> items = {seeds(y, begin, block, rows.kind)};
    if (of_example) items.push_back(examples_of(y, begin, block));
    std::vector<Batched> results = batched.run(std::move(items), block);
    std::vector<Tensor> parts;
    for (const std::size_t k : present) parts.push_back(with_axis(results[k], block));
    return parts;
  };
  const std::int64_t blocks = (rows.count + block - 1) / block;
  std::vector<Tensor> found;
  if (blocks == 1) {
    found = run_block(position(0));
  } else if (context.tracer != nullptr) {
    std::vector<std::int64_t> begins;
    for (std::int64_t b = 0; b < blocks; ++b) begins.push_back(b * block);
    found = map_fn(run_block, constant(std::span<const std::int64_t>(begins)));
  } else {
    std::vector<RowStack> stacks(present.size(), RowStack(blocks));
    for (std::int64_t b = 0; b < blocks; ++b) {
      std::vector<Tensor> parts = run_block(position(b * block));
      for (std::size_t k = 0; k < parts.size(); ++k) stacks[k].put(b, std::move(parts[k]));
    }
    for (RowStack& stack : stacks) found.push_back(stack.finish());
  }
  for (std::size_t k = 0; k < present.size(); ++k) {
    Tensor& part = found[k];
    if (blocks > 1) {
      const Shape lengths = part.shape();
      part = reshape(part, joined(std::array{blocks * block}, lengths.dims().subspan(2)));
      if (blocks * block > rows.count) part = part(slice(0, rows.count));
    }
    all[present[k]] = std::move(part);
  }
  return all;
}

// One reverse pass for each row.
std::vector<Tensor> loop_over_rows(TapeImpl& tape, const Source& target, std::span<const Source> sources,
                                   const Rows& rows) {
  std::vector<std::vector<Tensor>> parts(sources.size());
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const Tensor y = tensor_of(target);
    std::vector<Tensor> gradients(sources.size());
    tape.gradient(std::span(&target, 1), sources, gradients,
                  {.output_gradients = {reshape(seeds(y, position(row), 1, rows.kind), y.shape())}});
    for (std::size_t k = 0; k < sources.size(); ++k) {
      if (gradients[k].has_value()) parts[k].push_back(gradients[k].to_dense());
    }
  }
  std::vector<Tensor> all(sources.size());
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (!parts[k].empty()) all[k] = stack(parts[k]);
  }
  return all;
}

std::vector<Tensor> rows_of(TapeImpl& tape, const Source& target, std::span<const Source> sources, const Rows& rows,
                            std::string_view call, const JacobianOptions& options) {
  // A variable that is the target is read by this call, and so watched as by any other read.
  if (target.variable() != nullptr) tape.read(*target.variable()->state());
  // A source that is the target and that the tape never saw is not differentiated by itself, unlike in gradient().
  const Tensor y = tensor_of(target);
  if (!tape.knows_target(target) || rows.count == 0 || !is_differentiable(y.dtype())) {
    return std::vector<Tensor>(sources.size());
  }
  if (!options.experimental_use_pfor && context.tracer == nullptr) {
    return loop_over_rows(tape, target, sources, rows);
  }
  Pullback pullback = trace_pullback(tape, target, sources, call);
  complete(pullback);
  if (rows.kind == SeedKind::kElement && y.rank() > 1 && y.dim(0) > 1) {
    if (const std::optional<Pullback> of_row = pullback_of_row(pullback)) {
      return run_rows(*of_row, y, {rows.count, SeedKind::kOfExample}, options);
    }
  }
  return run_rows(pullback, y, rows, options);
}

void check_options(const TapeImpl& tape, const JacobianOptions& options, std::string_view call) {
  CAPSTAN_CHECK(!options.parallel_iterations || *options.parallel_iterations > 1, ValueError, call,
                ": parallel_iterations is ", options.parallel_iterations.value_or(0), ", not at least 2",
                help("leave it out, or set experimental_use_pfor = false for one row at a time"));
  CAPSTAN_CHECK(options.experimental_use_pfor || tape.persistent || context.tracer != nullptr, GradientError, call,
                ": with experimental_use_pfor = false there is a reverse pass for each row, and this tape serves one",
                help("write GradientTape tape({.persistent = true})"));
  CAPSTAN_CHECK(options.memory_budget >= 0, ValueError, call, ": memory_budget is negative, ", options.memory_budget);
}

// For one call the tape serves any number of passes.
class Persistent {
 public:
  explicit Persistent(TapeImpl& tape) : tape_(tape), persistent_(tape.persistent) {
    if (!persistent_) tape_.stop();
    tape_.persistent = true;
  }
  ~Persistent() {
    tape_.persistent = persistent_;
    tape_.use_up();
  }
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;

 private:
  TapeImpl& tape_;
  bool persistent_;
};

}  // namespace

std::vector<Tensor> GradientTape::compute_jacobians(std::span<const Source> targets, std::span<const Source> sources,
                                                    const JacobianOptions& options) {
  const Span span(SpanKind::kGradient, "jacobian");
  TapeImpl& tape = checked(impl_);
  tape.check_usable("jacobian");
  check_options(tape, options, "jacobian");
  for (const Source& target : targets) {
    check_given("jacobian", "a target", target);
  }
  for (const Source& source : sources) {
    check_given("jacobian", "a source", source);
  }
  const Persistent persistent(tape);
  std::vector<Tensor> jacobians;
  for (const Source& target : targets) {
    const Shape shape = tensor_of(target).shape();
    std::vector<Tensor> rows = rows_of(tape, target, sources, {shape.size(), SeedKind::kElement}, "jacobian", options);
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const Tensor x = tensor_of(sources[k]);
      const Shape full = joined(shape, x.shape());
      const bool no_rows = shape.size() == 0 && tape.knows_target(target) && tape.knows_target(sources[k]);
      if (rows[k].has_value()) {
        rows[k] = reshape(rows[k], full);
      } else if (no_rows || options.unconnected_gradients == UnconnectedGradients::kZero) {
        rows[k] = zeros(full, x.dtype());
      }
      jacobians.push_back(std::move(rows[k]));
    }
  }
  return jacobians;
}

Tensor GradientTape::batch_jacobian(const Source& target, const Source& source, const JacobianOptions& options) {
  const Span span(SpanKind::kGradient, "batch_jacobian");
  constexpr std::string_view call = "batch_jacobian";
  TapeImpl& tape = checked(impl_);
  tape.check_usable(call);
  check_options(tape, options, call);
  check_given("batch_jacobian", "the target", target);
  check_given("batch_jacobian", "the source", source);
  const Tensor y = tensor_of(target);
  const Tensor x = tensor_of(source);
  CAPSTAN_CHECK(y.rank() >= 2 && x.rank() >= 2, ShapeError, call, ": target and source need rank 2 or more, not ",
                y.rank(), " and ", x.rank(), arguments({{"target", y}, {"source", x}}));
  CAPSTAN_CHECK(y.dim(0) == x.dim(0), ShapeError, call, ": the first lengths of target and source differ, ", y.dim(0),
                " and ", x.dim(0), arguments({{"target", y}, {"source", x}}));
  const Persistent persistent(tape);
  const std::int64_t examples = y.dim(0);
  const std::int64_t count = examples == 0 ? 0 : y.size() / examples;
  const Shape from = x.shape();
  Shape full = joined(y.shape(), from.dims().subspan(1));
  const Tensor rows = rows_of(tape, target, std::span(&source, 1), {count, SeedKind::kByExample}, call, options)[0];
  if (!rows.has_value()) return zeros(full, y.dtype());
  int order[kMaxRank] = {1, 0};
  for (int i = 2; i < rows.rank(); ++i) order[i] = i;
  return reshape(transpose(rows, Axes(std::span<const int>(order, static_cast<std::size_t>(rows.rank())))), full);
}

}  // namespace capstan
