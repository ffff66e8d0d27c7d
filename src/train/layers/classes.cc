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
  };
}

}  // namespace capstan::detail
