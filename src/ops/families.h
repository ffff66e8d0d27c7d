// The families of ops: each file of ops ends with the list of its own.
#pragma once

#include <span>

#include "src/core/op_def.h"

namespace capstan {

using OpFamily = std::span<const OpDef* const>;

OpFamily arithmetic_ops();        // arithmetic.cc: two operands, and the operators
OpFamily math_ops();              // math.cc: powers, exponential, rounding, the error function
OpFamily guarded_math_ops();      // guarded_math.cc: hypot, logaddexp, sinc, ndtr
OpFamily special_ops();           // special.cc: the gamma family, Bessel functions, inverses of erf
OpFamily trigonometry_ops();      // trigonometry.cc: trigonometric and hyperbolic
OpFamily compare_ops();           // compare.cc: comparison, logic, selection
OpFamily activation_ops();        // activation.cc
OpFamily hard_activation_ops();   // hard_activation.cc: piecewise activations and shrinkages
OpFamily gated_activation_ops();  // gated_activation.cc: those of more than one element
OpFamily cast_ops();              // cast.cc
OpFamily complex_ops();           // complex.cc: complex numbers and their parts
OpFamily reduce_ops();            // reduce.cc: sums, extrema, truth values, positions of extrema
OpFamily reduce_composite_ops();  // reduce_composites.cc: variance, logsumexp, counts
OpFamily scan_ops();              // scan.cc: cumulative sums and products
OpFamily segment_ops();           // segment.cc: reductions of rows with the same id, rows by parts
OpFamily sort_ops();              // sort.cc: order along an axis, places in it, counting
OpFamily shape_ops();             // shape.cc: views, transposes, broadcasts, and "like" another tensor
OpFamily shape_query_ops();       // shape_queries.cc: shape, size, rank as tensors
OpFamily array_ops();             // array.cc: joining, cutting, padding, repeating
OpFamily block_ops();             // block.cc: space and depth, space and batch
OpFamily place_ops();             // place.cc: bands, sequences, permutations, checks of shapes
OpFamily bitwise_ops();           // bitwise.cc
OpFamily image_ops();             // image_layout.cc: with the other image_*.cc
OpFamily creation_ops();          // creation.cc
OpFamily index_ops();             // index.cc: gather, scatter, one_hot
OpFamily slice_ops();             // slice.cc: NumPy's indexing
OpFamily matmul_ops();            // matmul.cc: products of matrices
OpFamily linalg_ops();            // linalg.cc: contractions, norms, sums of tensors
OpFamily fft_ops();               // fft.cc: Fourier transforms
OpFamily signal_ops();            // signal.cc: frames, windows, short-time Fourier transforms
OpFamily conv_ops();              // conv.cc: of images with two axes
OpFamily conv3d_ops();            // conv3d.cc: of images with three axes
OpFamily conv_composite_ops();    // conv_composites.cc: one axis, transposed, depthwise, separable
OpFamily pool_ops();              // pool.cc: of images with two axes
OpFamily pool_nd_ops();           // pool_nd.cc: other numbers of axes, dilations, places
OpFamily pool_region_ops();       // pool_regions.cc: fractional, adaptive
OpFamily batch_norm_ops();        // batch_norm.cc: with the moments of the batch
OpFamily normalize_ops();         // normalize.cc: moments, and normalisation by them
OpFamily layer_norm_ops();        // layer_norm.cc
OpFamily group_norm_ops();        // group_norm.cc: by groups, instances, roots of squares, neighbours
OpFamily attention_ops();         // attention.cc
OpFamily lstm_ops();              // lstm.cc: recurrent layers over all steps
OpFamily gru_ops();               // gru.cc
OpFamily dropout_ops();           // dropout.cc
OpFamily softmax_ops();           // softmax.cc: softmax, its gradient and logarithm
OpFamily cross_entropy_ops();     // cross_entropy.cc: cross entropies of a softmax
OpFamily loss_ops();              // loss.cc: cross entropies of sigmoids, sums of squares
OpFamily loss_function_ops();     // loss_functions.cc: Keras's losses as functions
OpFamily ctc_ops();               // ctc.cc: connectionist temporal classification
OpFamily random_ops();            // random.cc: uniform and normal draws
OpFamily distribution_ops();      // random_distributions.cc: draws with tensors for parameters
OpFamily random_choice_ops();     // random_choice.cc: classes and orders
OpFamily random_stateless_ops();  // random_stateless.cc: draws from two seeds
OpFamily state_ops();             // state.cc: variables and optimizer updates

}  // namespace capstan
