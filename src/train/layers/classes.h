// The layers of the library, one row each.
#pragma once

#include <vector>

#include "capstan/config.h"

namespace capstan::detail {

// core.h
const ClassInfo& dense_class();
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

}  // namespace capstan::detail
