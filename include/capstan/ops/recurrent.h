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
CAPSTAN_EXPORT LstmGradients lstm_gradients(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell,
                                            Operand dh, Operand mask, bool keep = false);
CAPSTAN_EXPORT LstmGradients lstm_gradients(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell,
                                            Operand dh, Operand mask, Operand dcells, Operand added, bool keep = false);

/// What lstm_tangents returns.
struct LstmTangents {
  Tensor sums;   ///< of z + h' recurrent_kernel, [batch, steps, 4 units]
  Tensor cells;  ///< [batch, steps, units]
  Tensor h;      ///< [batch, steps, units]
};
/// The tangents of lstm's results, given those of z and the first states: the transpose of lstm_gradients. What is
/// added goes to the tangents of cells and of h, [batch, steps, units]. `mask` is [0, 0] for none.
CAPSTAN_EXPORT LstmTangents lstm_tangents(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell,
                                          Operand tz, Operand tfirst_h, Operand tfirst_cell, Operand mask);
CAPSTAN_EXPORT LstmTangents lstm_tangents(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell,
                                          Operand tz, Operand tfirst_h, Operand tfirst_cell, Operand mask,
                                          Operand added_cells, Operand added_h);

}  // namespace capstan
