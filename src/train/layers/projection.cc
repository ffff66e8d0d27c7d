#include "src/train/layers/projection.h"

#include <memory>
#include <utility>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/nn.h"
#include "src/core/check.h"

namespace capstan::detail {

namespace {

// The same initializer with a seed of its own, unless one was given or it is a function of the program.
Initializer again(const Initializer& initializer) {
  if (initializer.body()->class_info().make == nullptr) return initializer;
  return initializers::get(serialize(*initializer.body()));
}

class ProjectionBody final : public LayerBody {
 public:
  ProjectionBody(const std::string& name, int summed, std::vector<std::int64_t> made, const ProjectionOptions& options)
      : LayerBody("EinsumDense", {.name = name, .trainable = options.trainable, .dtype = options.dtype}),
        summed_(summed),
        made_(std::move(made)),
        options_(options) {
    set_activity_regularizer(options.activity_regularizer);
    converts_integers();
  }

 protected:
  void build(const Shape& input_shape) override;
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  int summed_;
  std::vector<std::int64_t> made_;
  const ProjectionOptions options_;
  Variable kernel_;
  Variable bias_;
};

void ProjectionBody::build(const Shape& input_shape) {
  Shape kernel;
  Shape bias;
  std::vector<int> input_axes;
  std::vector<int> output_axes;
  for (int i = 0; i < summed_; ++i) {
    input_axes.push_back(kernel.rank());
    kernel.push_back(input_shape[i - summed_]);
  }
  for (const std::int64_t length : made_) {
    output_axes.push_back(kernel.rank());
    kernel.push_back(length);
    bias.push_back(length);
  }
  kernel_ = add_weight({.name = "kernel",
                        .shape = kernel,
                        .initializer = again(options_.kernel_initializer).with_axes(input_axes, output_axes),
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  if (!options_.use_bias) return;
  bias_ = add_weight({.name = "bias",
                      .shape = bias,
                      .initializer = again(options_.bias_initializer),
                      .regularizer = options_.bias_regularizer,
                      .constraint = options_.bias_constraint});
}

Tensor ProjectionBody::call(const Tensor& x, const CallOptions&) {
  const Tensor kernel = value_of(kernel_);
  std::int64_t in = 1;
  std::int64_t out = 1;
  for (int i = 0; i < summed_; ++i) {
    const int axis = i - summed_;
    CAPSTAN_CHECK(x.dim(axis) == kernel.dim(i), ShapeError, name(), ": axis ", axis, " of the input must have length ",
                  kernel.dim(i), ", not ", x.dim(axis), arguments({{"x", x}}));
    in *= kernel.dim(i);
  }
  Shape shape;
  for (int axis = 0; axis < x.rank() - summed_; ++axis) shape.push_back(x.dim(axis));
  for (const std::int64_t length : made_) {
    shape.push_back(length);
    out *= length;
  }
  // Left open, for functions that serve batches of several lengths.
  if (shape.size() > 0) shape.set(0, -1);
  Tensor y = matmul(reshape(x, {x.size() > 0 ? -1 : 0, in}), reshape(kernel, {in, out}));
  if (options_.use_bias) y = bias_add(std::move(y), reshape(value_of(bias_), {out}));
  return reshape(std::move(y), shape);
}

}  // namespace

Layer make_projection(const std::string& name, int summed_axes, std::vector<std::int64_t> made_axes,
                      const ProjectionOptions& options) {
  struct Handle : Layer {
    explicit Handle(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}
  };
  return Handle(make_configurable<ProjectionBody>(name, summed_axes, std::move(made_axes), options));
}

}  // namespace capstan::detail
