#pragma once

#include "capstan/tensor.h"

namespace capstan {

/// All steps of a long short-term memory.
struct LstmSequence {
  Tensor h;      ///< [batch, steps, units]
  Tensor cells;  ///< [batch, steps, units]
  Tensor gates;  ///< [batch, steps, 4 units]: input, forget, candidate and output gate
};

/// A long short-term memory over sequences: with i, f, o = sigmoid(...) and g = tanh(...) of z + h' recurrent_kernel,
/// where ' is the step before, cells = f cells' + i g and h = o tanh(cells). z [batch, steps, 4 units] is what the
/// inputs give for the gates, with the bias; recurrent_kernel is [units, 4 units], the first states are [batch, units].
/// A mask, bool [batch, steps], leaves steps out: their states are those of the step before, and their gates 0, 1, 1
/// and 0. There is at least one step. Dtypes: the floating ones. Source: Hochreiter and Schmidhuber, "Long short-term
/// memory"; Gers and others, "Learning to forget". Errors: ShapeError, DTypeError.
///
///     Tensor z = bias_add(matmul(x, kernel), bias);  // x [batch, steps, features]
///     Tensor last = lstm(z, recurrent_kernel, h, c).h(slice(0), -1);
CAPSTAN_EXPORT LstmSequence lstm(Operand z, Operand recurrent_kernel, Operand first_h, Operand first_cell);
CAPSTAN_EXPORT LstmSequence lstm(Operand z, Operand recurrent_kernel, Operand first_h, Operand first_cell,
                                 Operand mask);

/// The same for sequences of ids, int32 or int64 [batch, steps]: z of a step is the row of the table [rows, 4 units]
/// that its id names. As lstm of gather(table, ids), which it does not make. The gradient for the table is dense.
/// Errors: IndexError for an id that is negative or not below the number of rows; ShapeError, DTypeError.
///
///     Tensor z = bias_add(matmul(embeddings, kernel), bias);  // embeddings [rows, features]
///     Tensor last = lstm_of_rows(z, ids, recurrent_kernel, h, c).h(slice(0), -1);
CAPSTAN_EXPORT LstmSequence lstm_of_rows(Operand table, Operand ids, Operand recurrent_kernel, Operand first_h,
                                         Operand first_cell);
CAPSTAN_EXPORT LstmSequence lstm_of_rows(Operand table, Operand ids, Operand recurrent_kernel, Operand first_h,
                                         Operand first_cell, Operand mask);

/// Options of lstm_gradients and gru_gradients.
struct RecurrentGradientOptions {
  bool keep = false;  ///< whether the gradients for the states of all steps come as well
};
/// What lstm_gradients returns.
struct LstmGradients {
  Tensor z;
  Tensor first_h;
  Tensor first_cell;
  Tensor whole_cells;  ///< [batch, steps, units] if asked for, else [batch, 0, units]
  Tensor whole_h;      ///< the same
};
/// The gradients of lstm for z and the first states, given its gates and cells and the cotangent dh of h; what its rule
/// is made of. The recurrent kernel's is a product of z's with the states. `mask` is [0, 0] for none. dcells
/// [batch, steps, units] is the cotangent of cells, and `added` is added to the gradient for z. With `keep` the
/// gradients for h and cells themselves come as well, in which all later steps are.
///
///     Tensor gates = zeros({2, 5, 12}), cells = zeros({2, 5, 3}), state = zeros({2, 3}), none = zeros({0, 0}, bool_);
///     lstm_gradients(gates, cells, zeros({3, 12}), state, ones({2, 5, 3}), none).z;  // float32[2, 5, 12]
CAPSTAN_EXPORT LstmGradients lstm_gradients(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell,
                                            Operand dh, Operand mask, const RecurrentGradientOptions& options = {});
CAPSTAN_EXPORT LstmGradients lstm_gradients(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell,
                                            Operand dh, Operand mask, Operand dcells, Operand added,
                                            const RecurrentGradientOptions& options = {});

/// What lstm_tangents returns.
struct LstmTangents {
  Tensor sums;   ///< of z + h' recurrent_kernel, [batch, steps, 4 units]
  Tensor cells;  ///< [batch, steps, units]
  Tensor h;      ///< [batch, steps, units]
};
/// The tangents of lstm's results, given those of z and the first states: the transpose of lstm_gradients. What is
/// added goes to the tangents of cells and of h, [batch, steps, units]. `mask` is [0, 0] for none.
///
///     Tensor gates = zeros({2, 5, 12}), cells = zeros({2, 5, 3}), state = zeros({2, 3}), none = zeros({0, 0}, bool_);
///     lstm_tangents(gates, cells, zeros({3, 12}), state, gates, state, state, none).h;  // float32[2, 5, 3]
CAPSTAN_EXPORT LstmTangents lstm_tangents(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell,
                                          Operand tz, Operand tfirst_h, Operand tfirst_cell, Operand mask);
CAPSTAN_EXPORT LstmTangents lstm_tangents(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell,
                                          Operand tz, Operand tfirst_h, Operand tfirst_cell, Operand mask,
                                          Operand added_cells, Operand added_h);

/// All steps of a gated recurrent unit.
struct GruSequence {
  Tensor h;      ///< [batch, steps, units]
  Tensor gates;  ///< [batch, steps, 4 units]: update z, reset r, candidate n, and q, what the states give for n
};

/// A gated recurrent unit over sequences: with s = h' recurrent_kernel + recurrent_bias, where ' is the step before,
/// and z, r = sigmoid(x + s), q = s and n = tanh(x + r q), each of its own third, h = z h' + (1 - z) n. x [batch,
/// steps, 3 units] is what the inputs give, with their bias; recurrent_kernel is [units, 3 units], recurrent_bias [3
/// units], first_h [batch, units]. A mask, bool [batch, steps], leaves steps out: their h is that of the step before,
/// and their gates 1, 0, 0 and 0. There is at least one step. Dtypes: the floating ones. Source: Cho and others,
/// "Learning phrase representations using RNN encoder-decoder". Errors: ShapeError, DTypeError.
///
///     Tensor x = bias_add(matmul(inputs, kernel), bias);  // inputs [batch, steps, features]
///     Tensor last = gru(x, recurrent_kernel, recurrent_bias, h).h(slice(0), -1);
CAPSTAN_EXPORT GruSequence gru(Operand x, Operand recurrent_kernel, Operand recurrent_bias, Operand first_h);
CAPSTAN_EXPORT GruSequence gru(Operand x, Operand recurrent_kernel, Operand recurrent_bias, Operand first_h,
                               Operand mask);

/// What gru_gradients returns.
struct GruGradients {
  Tensor x;
  Tensor sums;  ///< of h' recurrent_kernel + recurrent_bias, [batch, steps, 3 units]
  Tensor first_h;
  Tensor whole_h;  ///< [batch, steps, units] if asked for, else [batch, 0, units]
};
/// The gradients of gru for x, the sums of its states and the first states, given its gates and h and the cotangent dh
/// of h; what its rule is made of. Those of the recurrent kernel and bias are a product and a sum of the sums'. dgates
/// [batch, steps, 4 units] is the cotangent of the gates. With `keep` the gradient for h itself comes as well, in which
/// all later steps are.
///
///     Tensor gates = zeros({2, 5, 12}), h = zeros({2, 5, 3});
///     gru_gradients(gates, h, zeros({3, 9}), zeros({2, 3}), ones({2, 5, 3})).x;  // float32[2, 5, 9]
CAPSTAN_EXPORT GruGradients gru_gradients(Operand gates, Operand h, Operand recurrent_kernel, Operand first_h,
                                          Operand dh, const RecurrentGradientOptions& options = {});
CAPSTAN_EXPORT GruGradients gru_gradients(Operand gates, Operand h, Operand recurrent_kernel, Operand first_h,
                                          Operand dh, Operand dgates, const RecurrentGradientOptions& options = {});

/// The tangents of gru's h, [batch, steps, units], given those of x, of the sums of the states beside
/// h' recurrent_kernel, both [batch, steps, 3 units], and of the first states: the transpose of gru_gradients. `added`
/// goes to the tangents of h.
///
///     Tensor gates = zeros({2, 5, 12}), h = zeros({2, 5, 3}), tangents = zeros({2, 5, 9});
///     gru_tangents(gates, h, zeros({3, 9}), zeros({2, 3}), tangents, tangents, zeros({2, 3}));  // float32[2, 5, 3]
CAPSTAN_EXPORT Tensor gru_tangents(Operand gates, Operand h, Operand recurrent_kernel, Operand first_h, Operand tx,
                                   Operand tsums, Operand tfirst_h);
CAPSTAN_EXPORT Tensor gru_tangents(Operand gates, Operand h, Operand recurrent_kernel, Operand first_h, Operand tx,
                                   Operand tsums, Operand tfirst_h, Operand added);

}  // namespace capstan
