#include "src/train/layers/classes.h"

#include "src/train/classes.h"

namespace capstan::detail {

std::vector<const ClassInfo*> layer_classes() {
  return {
      // core.h
      &dense_class(),
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
  };
}

}  // namespace capstan::detail
