// The layers of the library, one row each.
#pragma once

#include <vector>

#include "capstan/config.h"

namespace capstan::detail {

// core.h
const ClassInfo& dense_class();
const ClassInfo& einsum_dense_class();
const ClassInfo& embedding_class();
const ClassInfo& masking_class();
const ClassInfo& activation_class();
const ClassInfo& identity_class();

// activation.h
const ClassInfo& re_lu_class();
const ClassInfo& leaky_re_lu_class();
const ClassInfo& elu_class();
const ClassInfo& p_re_lu_class();
const ClassInfo& softmax_class();

// normalization.h
const ClassInfo& batch_normalization_class();
const ClassInfo& layer_normalization_class();
const ClassInfo& group_normalization_class();
const ClassInfo& rms_normalization_class();
const ClassInfo& unit_normalization_class();
const ClassInfo& spectral_normalization_class();

// regularization.h
const ClassInfo& dropout_class();
const ClassInfo& spatial_dropout1d_class();
const ClassInfo& spatial_dropout2d_class();
const ClassInfo& spatial_dropout3d_class();
const ClassInfo& gaussian_noise_class();
const ClassInfo& gaussian_dropout_class();
const ClassInfo& alpha_dropout_class();
const ClassInfo& activity_regularization_class();

// reshaping.h
const ClassInfo& flatten_class();
const ClassInfo& reshape_class();
const ClassInfo& permute_class();
const ClassInfo& repeat_vector_class();

// merging.h
const ClassInfo& add_class();
const ClassInfo& subtract_class();
const ClassInfo& multiply_class();
const ClassInfo& average_class();
const ClassInfo& maximum_class();
const ClassInfo& minimum_class();
const ClassInfo& concatenate_class();
const ClassInfo& dot_class();
// convolution.h
const ClassInfo& conv1d_class();
const ClassInfo& conv2d_class();
const ClassInfo& conv3d_class();
const ClassInfo& conv1d_transpose_class();
const ClassInfo& conv2d_transpose_class();
const ClassInfo& conv3d_transpose_class();
const ClassInfo& depthwise_conv1d_class();
const ClassInfo& depthwise_conv2d_class();
const ClassInfo& separable_conv1d_class();
const ClassInfo& separable_conv2d_class();
// pooling.h
const ClassInfo& max_pooling1d_class();
const ClassInfo& max_pooling2d_class();
const ClassInfo& max_pooling3d_class();
const ClassInfo& average_pooling1d_class();
const ClassInfo& average_pooling2d_class();
const ClassInfo& average_pooling3d_class();
const ClassInfo& global_max_pooling1d_class();
const ClassInfo& global_max_pooling2d_class();
const ClassInfo& global_max_pooling3d_class();
const ClassInfo& global_average_pooling1d_class();
const ClassInfo& global_average_pooling2d_class();
const ClassInfo& global_average_pooling3d_class();
const ClassInfo& adaptive_max_pooling1d_class();
const ClassInfo& adaptive_max_pooling2d_class();
const ClassInfo& adaptive_max_pooling3d_class();
const ClassInfo& adaptive_average_pooling1d_class();
const ClassInfo& adaptive_average_pooling2d_class();
const ClassInfo& adaptive_average_pooling3d_class();
// resizing.h
const ClassInfo& zero_padding1d_class();
const ClassInfo& zero_padding2d_class();
const ClassInfo& zero_padding3d_class();
const ClassInfo& cropping1d_class();
const ClassInfo& cropping2d_class();
const ClassInfo& cropping3d_class();
const ClassInfo& up_sampling1d_class();
const ClassInfo& up_sampling2d_class();
const ClassInfo& up_sampling3d_class();

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

// attention.h
const ClassInfo& attention_class();
const ClassInfo& additive_attention_class();
const ClassInfo& multi_head_attention_class();
const ClassInfo& group_query_attention_class();

// preprocessing.h
const ClassInfo& normalization_class();
const ClassInfo& rescaling_class();
const ClassInfo& discretization_class();
const ClassInfo& category_encoding_class();
const ClassInfo& hashing_class();
const ClassInfo& hashed_crossing_class();
const ClassInfo& integer_lookup_class();
const ClassInfo& string_lookup_class();
const ClassInfo& text_vectorization_class();

}  // namespace capstan::detail
