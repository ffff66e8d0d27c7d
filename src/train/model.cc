// Models: compile, evaluate, predict.
#include "capstan/models.h"

#include <algorithm>

#include "capstan/ops/array.h"
#include "src/core/check.h"
#include "src/train/layer_state.h"

namespace capstan {

struct ModelPart::Compiled {
  std::optional<Loss> loss;
  std::vector<Metric> metrics;
};

ModelPart::ModelPart(LayerBase& layer) : compiled_(std::make_unique<Compiled>()) {
  detail::LayerState& state = detail::LayerState::of(layer);
  state.converts_input = false;
  state.model = this;
}

ModelPart::~ModelPart() = default;
ModelBody::~ModelBody() = default;

Model::Model(const Layer& layer) : Layer(layer) {
  CAPSTAN_CHECK(detail::LayerState::of(layer).model != nullptr, ValueError, "model: ", layer.name(), " is a layer of class ",
                layer.type_name(), ", not a model");
}

ModelPart& Model::part() const { return *detail::LayerState::of(*this).model; }

const Layer& Model::get_layer(const std::string& layer_name) const {
  for (const Layer& layer : layers()) {
    if (layer.name() == layer_name) return layer;
  }
  std::string known;
  for (const Layer& layer : layers()) known += (known.empty() ? "" : ", ") + layer.name();
  throw ValueError(detail::join("get_layer: ", name(), " has no layer \"", layer_name, "\"; it has ", known));
}

const Layer& Model::get_layer(int index) const {
  CAPSTAN_CHECK(index >= 0 && index < static_cast<int>(layers().size()), IndexError, "get_layer: number ", index,
                " of ", layers().size(), " layers");
  return layers()[static_cast<std::size_t>(index)];
}

void Model::compile(const CompileOptions& options) const {
  ModelPart::Compiled& compiled = *part().compiled_;
  if (options.loss) compiled.loss = options.loss;
  compiled.metrics = options.metrics;
}

namespace {

// Calls body(begin, count) for consecutive batches of n examples.
template <class Body>
void in_batches(std::int64_t n, std::int64_t batch_size, const Body& body) {
  CAPSTAN_CHECK(batch_size >= 1, ValueError, "evaluate: batch_size must be at least 1, not ", batch_size);
  for (std::int64_t begin = 0; begin < n; begin += batch_size) body(begin, std::min(batch_size, n - begin));
}

void check_rows(const char* what, const Tensor& x) {
  CAPSTAN_CHECK(x.has_value() && x.rank() >= 1, ShapeError, "evaluate: ", what, " must have a first axis of examples");
}

}  // namespace

Evaluation Model::evaluate(const Tensor& x, const Tensor& y, const EvaluateOptions& options) const {
  const ModelPart::Compiled& compiled = *part().compiled_;
  CAPSTAN_CHECK(compiled.loss.has_value(), ValueError, "evaluate: ", name(), " has no loss",
                help("call compile() first"));
  check_rows("x", x);
  check_rows("y", y);
  CAPSTAN_CHECK(x.dim(0) == y.dim(0), ShapeError, "evaluate: x and y have different numbers of examples, ", x.dim(0),
                " and ", y.dim(0));
  const metrics::Mean loss;
  for (const Metric& metric : compiled.metrics) metric.reset_state();
  in_batches(x.dim(0), options.batch_size, [&](std::int64_t begin, std::int64_t count) {
    const Tensor batch_y = y(slice(begin, begin + count));
    const Tensor predictions = (*this)(x(slice(begin, begin + count)), {.training = false});
    Tensor batch_loss = (*compiled.loss)(batch_y, predictions);
    for (const Tensor& extra : losses()) batch_loss = batch_loss + extra;
    // Weighted by the number of examples, so that a short last batch counts as it should.
    loss.update_state(batch_loss, constant(static_cast<double>(count)));
    for (const Metric& metric : compiled.metrics) metric.update_state(batch_y, predictions);
  });
  Evaluation result;
  result.loss = loss.result().item<double>();
  for (const Metric& metric : compiled.metrics)
    result.metrics.emplace_back(metric.name(), metric.result().item<double>());
  return result;
}

Tensor Model::predict(const Tensor& x, const EvaluateOptions& options) const {
  check_rows("x", x);
  std::vector<Tensor> parts;
  in_batches(x.dim(0), options.batch_size, [&](std::int64_t begin, std::int64_t count) {
    parts.push_back((*this)(x(slice(begin, begin + count)), {.training = false}));
  });
  return parts.size() == 1 ? parts[0] : concat(parts, 0);
}

double Evaluation::operator[](const std::string& name) const {
  if (name == "loss") return loss;
  for (const auto& [known, value] : metrics) {
    if (known == name) return value;
  }
  throw ValueError(detail::join("evaluation: there is no metric \"", name, "\""));
}

}  // namespace capstan
