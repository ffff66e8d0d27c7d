// The layers of the library, one row each.
#pragma once

#include <vector>

#include "capstan/config.h"

namespace capstan::detail {

// core.h
const ClassInfo& dense_class();

// recurrent.h
const ClassInfo& simple_rnn_cell_class();
const ClassInfo& lstm_cell_class();
const ClassInfo& gru_cell_class();
const ClassInfo& stacked_rnn_cells_class();
const ClassInfo& rnn_class();
const ClassInfo& simple_rnn_class();
const ClassInfo& lstm_class();
const ClassInfo& gru_class();
const ClassInfo& conv_lstm1d_class();
const ClassInfo& conv_lstm2d_class();
const ClassInfo& conv_lstm3d_class();
const ClassInfo& bidirectional_class();
const ClassInfo& time_distributed_class();

}  // namespace capstan::detail
