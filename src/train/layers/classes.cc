#include "src/train/layers/classes.h"

#include "src/train/classes.h"

namespace capstan::detail {

std::vector<const ClassInfo*> layer_classes() {
  return {
      // core.h
      &dense_class(),
      // recurrent.h
      &simple_rnn_cell_class(),
      &lstm_cell_class(),
      &gru_cell_class(),
      &stacked_rnn_cells_class(),
      &rnn_class(),
      &simple_rnn_class(),
      &lstm_class(),
      &gru_class(),
      &conv_lstm1d_class(),
      &conv_lstm2d_class(),
      &conv_lstm3d_class(),
      &bidirectional_class(),
      &time_distributed_class(),
  };
}

}  // namespace capstan::detail
