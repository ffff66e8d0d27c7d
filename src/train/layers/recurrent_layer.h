// What runs a cell over time: the body of RNN and of all layers that are RNNs.
#pragma once

#include <vector>

#include "src/train/layers/cell.h"

namespace capstan::detail {

class RecurrentBody : public LayerBodyOf<Nest(Nest)> {
 public:
  // What all recurrent layers have among their options.
  struct Run {
    bool return_sequences = false;
    bool return_state = false;
    bool go_backwards = false;
    bool stateful = false;
    bool unroll = false;
    bool zero_output_for_mask = false;
  };

  const Run& run() const { return run_; }
  const Layer& cell() const { return cell_; }
  // What a stateful layer keeps.
  const std::vector<Variable>& kept() const { return kept_; }
  std::size_t state_count(const Shape& input_shape) const;
  void reset_state();
  // Of all steps, those that a mask leaves out give zeros.
  void zero_masked_outputs() { run_.zero_output_for_mask |= run_.return_sequences; }

 protected:
  using LayerBodyOf::LayerBodyOf;
  // To be called by the constructor.
  template <class Options>
  void set_up(const Layer& cell, const Options& o) {
    set_up_run(cell,
               {o.return_sequences, o.return_state, o.go_backwards, o.stateful, o.unroll, o.zero_output_for_mask});
  }

  void build(const std::vector<Shape>& shapes) override;
  Nest call(const Nest& inputs, const CallOptions& options) override;
  Nest compute_mask(const Nest& inputs, const Nest& mask) override;
  // The rank of an input: that of a step has one axis less.
  virtual void check_input(const Shape& shape) const;

 private:
  void set_up_run(const Layer& cell, const Run& run);
  std::vector<Tensor> first_states(const Tensor& x, const Nest& given);
  void keep(const std::vector<Tensor>& states);

  Layer cell_;
  Run run_;
  std::vector<Variable> kept_;
};

// The body of a recurrent layer, or null.
RecurrentBody* recurrent_body(const Layer& layer);

}  // namespace capstan::detail
