// Several cells as one.
#include <memory>
#include <vector>

#include "src/train/common.h"
#include "src/train/layer_state.h"
#include "src/train/layers/cell.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

using detail::CellRun;
using detail::CellStep;

struct StackedRNNCellsConfig : LayerOptions {
  std::vector<Layer> cells;
  static std::span<const OptionField> fields() {
    using O = StackedRNNCellsConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::cells>("cells", true)});
    return all;
  }
};

class StackedRun final : public CellRun {
 public:
  StackedRun(std::vector<std::unique_ptr<CellRun>> runs, std::vector<std::size_t> counts)
      : runs_(std::move(runs)), counts_(std::move(counts)) {}
  Tensor project(const Tensor& x) const override { return runs_[0]->project(x); }
  bool projects_rows() const override { return runs_[0]->projects_rows(); }
  CellStep step(const Tensor& projected, std::span<const Tensor> states) const override {
    CellStep all;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      CellStep one = runs_[i]->step(i == 0 ? projected : runs_[i]->project(all.output), states.first(counts_[i]));
      states = states.subspan(counts_[i]);
      all.output = std::move(one.output);
      for (Tensor& state : one.states) all.states.push_back(std::move(state));
    }
    return all;
  }
  int output_state() const override {
    const int last = runs_.back()->output_state();
    if (last < 0) return -1;
    std::size_t before = 0;
    for (std::size_t i = 0; i + 1 < counts_.size(); ++i) before += counts_[i];
    return static_cast<int>(before) + last;
  }

 private:
  std::vector<std::unique_ptr<CellRun>> runs_;
  std::vector<std::size_t> counts_;  // of the states
};

class StackedRNNCellsBody final
    : public ConfiguredLayer<StackedRNNCellsBody, StackedRNNCellsConfig, detail::RunnableCell> {
 public:
  static constexpr char kName[] = "StackedRNNCells", kText[] = "Cells one after the other.";
  explicit StackedRNNCellsBody(const StackedRNNCellsConfig& o) : ConfiguredLayer(o) {
    CAPSTAN_CHECK(!o.cells.empty(), ValueError, kName, ": there must be at least one cell");
    for (const Layer& cell : o.cells) {
      detail::cell_of(cell, kName);
      track({cell});
    }
  }

  std::vector<Shape> state_shapes(const Shape& input_shape) const override {
    std::vector<Shape> all;
    visit(input_shape, [&](const Layer&, const Shape&, const std::vector<Shape>& states) {
      all.insert(all.end(), states.begin(), states.end());
    });
    return all;
  }
  Shape output_shape(const Shape& input_shape) const override {
    Shape output = visit(input_shape, [](const Layer&, const Shape&, const std::vector<Shape>&) {});
    Shape result;
    for (int i = 1; i < output.rank(); ++i) result.push_back(output[i]);
    return result;
  }

  std::unique_ptr<CellRun> begin(const Tensor& x, std::span<const Tensor> states, bool training) override {
    std::vector<std::unique_ptr<CellRun>> runs;
    std::vector<std::size_t> counts;
    visit(x.shape(), [&](const Layer& cell, const Shape& shape, const std::vector<Shape>& state_shapes) {
      const std::size_t count = state_shapes.size();
      Shape of_input;
      for (int i = 1; i < shape.rank(); ++i) of_input.push_back(shape[i]);
      const Tensor input = counts.empty() ? x : detail::zero_state(x, of_input);
      const std::vector<Tensor> of_cell(states.begin(), states.begin() + static_cast<std::ptrdiff_t>(count));
      if (!cell.is_built()) cell({input, Nest(of_cell)}, {.training = false});
      runs.push_back(detail::begin_cell(cell, input, of_cell, training));
      states = states.subspan(count);
      counts.push_back(count);
    });
    return std::make_unique<StackedRun>(std::move(runs), std::move(counts));
  }

 protected:
  void build(const std::vector<Shape>& shapes) override {
    visit(shapes[0], [](const Layer& cell, const Shape& shape, const std::vector<Shape>& states) {
      if (dynamic_cast<detail::RunnableCell*>(&detail::LayerState::body_of(cell)) == nullptr) return;
      std::vector<Shape> all = {shape};
      for (const Shape& state : states) {
        all.push_back({shape[0]});
        for (const std::int64_t length : state) all.back().push_back(length);
      }
      cell.build_all(all);
    });
  }

 private:
  // Calls f(cell, shape of its input, shapes of its states) for each cell, and gives the shape of the last output.
  template <class F>
  Shape visit(Shape shape, const F& f) const {
    for (const Layer& cell : options.cells) {
      const CellBody& body = detail::cell_of(cell, name());
      f(cell, shape, body.state_shapes(shape));
      Shape next = {shape[0]};
      for (const std::int64_t length : body.output_shape(shape)) next.push_back(length);
      shape = next;
    }
    return shape;
  }
};

}  // namespace

StackedRNNCells::StackedRNNCells(const std::vector<Layer>& cells, const LayerOptions& options)
    : Layer(make_configurable<StackedRNNCellsBody>(StackedRNNCellsConfig{options, cells})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::stacked_rnn_cells_class() { return layers::StackedRNNCellsBody::info(); }
