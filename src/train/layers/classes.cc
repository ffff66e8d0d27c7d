#include "src/train/layers/classes.h"

#include "src/train/classes.h"

namespace capstan::detail {

std::vector<const ClassInfo*> layer_classes() {
  return {
      // core.h
      &dense_class(),
      &einsum_dense_class(),
      &embedding_class(),
      &masking_class(),
      &activation_class(),
      &identity_class(),
      // activation.h
      &re_lu_class(),
      &leaky_re_lu_class(),
      &elu_class(),
      &p_re_lu_class(),
      &softmax_class(),
      // normalization.h
      &batch_normalization_class(),
      &layer_normalization_class(),
      &group_normalization_class(),
      &rms_normalization_class(),
      &unit_normalization_class(),
      &spectral_normalization_class(),
      // regularization.h
      &dropout_class(),
      &spatial_dropout1d_class(),
      &spatial_dropout2d_class(),
      &spatial_dropout3d_class(),
      &gaussian_noise_class(),
      &gaussian_dropout_class(),
      &alpha_dropout_class(),
      &activity_regularization_class(),
      // reshaping.h
      &flatten_class(),
      &reshape_class(),
      &permute_class(),
      &repeat_vector_class(),
      // merging.h
      &add_class(),
      &subtract_class(),
      &multiply_class(),
      &average_class(),
      &maximum_class(),
      &minimum_class(),
      &concatenate_class(),
      &dot_class(),
      // convolution.h
      &conv1d_class(),
      &conv2d_class(),
      &conv3d_class(),
      &conv1d_transpose_class(),
      &conv2d_transpose_class(),
      &conv3d_transpose_class(),
      &depthwise_conv1d_class(),
      &depthwise_conv2d_class(),
      &separable_conv1d_class(),
      &separable_conv2d_class(),
      // pooling.h
      &max_pooling1d_class(),
      &max_pooling2d_class(),
      &max_pooling3d_class(),
      &average_pooling1d_class(),
      &average_pooling2d_class(),
      &average_pooling3d_class(),
      &global_max_pooling1d_class(),
      &global_max_pooling2d_class(),
      &global_max_pooling3d_class(),
      &global_average_pooling1d_class(),
      &global_average_pooling2d_class(),
      &global_average_pooling3d_class(),
      &adaptive_max_pooling1d_class(),
      &adaptive_max_pooling2d_class(),
      &adaptive_max_pooling3d_class(),
      &adaptive_average_pooling1d_class(),
      &adaptive_average_pooling2d_class(),
      &adaptive_average_pooling3d_class(),
      // resizing.h
      &zero_padding1d_class(),
      &zero_padding2d_class(),
      &zero_padding3d_class(),
      &cropping1d_class(),
      &cropping2d_class(),
      &cropping3d_class(),
      &up_sampling1d_class(),
      &up_sampling2d_class(),
      &up_sampling3d_class(),
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
      // attention.h
      &attention_class(),
      &additive_attention_class(),
      &multi_head_attention_class(),
      &group_query_attention_class(),
      // preprocessing.h
      &normalization_class(),
      &rescaling_class(),
      &discretization_class(),
      &category_encoding_class(),
      &hashing_class(),
      &hashed_crossing_class(),
      &integer_lookup_class(),
      &string_lookup_class(),
      &text_vectorization_class(),
  };
}

}  // namespace capstan::detail
