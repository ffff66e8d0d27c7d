// Tables of options that recurrent layers and their cells share.
#pragma once

#include <array>

#include "capstan/layers/recurrent.h"

namespace capstan::detail {

template <std::size_t A, std::size_t B>
constexpr std::array<OptionField, A + B> joined(const std::array<OptionField, A>& a,
                                                const std::array<OptionField, B>& b) {
  std::array<OptionField, A + B> all = {};
  for (std::size_t i = 0; i < A; ++i) all[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

// Those of what a cell computes, and these after them.
template <class O, class... Own>
constexpr auto cell_options(const Own&... own) {
  return std::array{option<&O::units, O>("units", true).at_least(1),
                    option<&O::activation, O>("activation"),
                    option<&O::use_bias, O>("use_bias"),
                    option<&O::kernel_initializer, O>("kernel_initializer"),
                    option<&O::recurrent_initializer, O>("recurrent_initializer"),
                    option<&O::bias_initializer, O>("bias_initializer"),
                    option<&O::kernel_regularizer, O>("kernel_regularizer"),
                    option<&O::recurrent_regularizer, O>("recurrent_regularizer"),
                    option<&O::bias_regularizer, O>("bias_regularizer"),
                    option<&O::kernel_constraint, O>("kernel_constraint"),
                    option<&O::recurrent_constraint, O>("recurrent_constraint"),
                    option<&O::bias_constraint, O>("bias_constraint"),
                    option<&O::dropout, O>("dropout").at_least(0).at_most(1),
                    option<&O::recurrent_dropout, O>("recurrent_dropout").at_least(0).at_most(1),
                    option<&O::seed, O>("seed"),
                    own...};
}

// Those of a run over time.
template <class O>
constexpr auto run_options() {
  return with_layer_options<O>(
      {option<&O::return_sequences, O>("return_sequences"), option<&O::return_state, O>("return_state"),
       option<&O::go_backwards, O>("go_backwards"), option<&O::stateful, O>("stateful"),
       option<&O::unroll, O>("unroll"), option<&O::zero_output_for_mask, O>("zero_output_for_mask")});
}

template <class O, class... Own>
constexpr auto with_cell_options(const Own&... own) {
  return joined(
      std::array{option<&O::name, O>("name"), option<&O::trainable, O>("trainable"), option<&O::dtype, O>("dtype")},
      cell_options<O>(own...));
}

// Of a layer that runs such a cell.
template <class O, class... Own>
constexpr auto with_run_options(const Own&... own) {
  return joined(run_options<O>(), cell_options<O>(own..., option<&O::activity_regularizer, O>("activity_regularizer")));
}

}  // namespace capstan::detail
