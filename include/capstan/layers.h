// The layers of the library, under the names of Keras, by what they do. What a layer is, and how to write one:
// capstan/layer.h.
#pragma once

#include "capstan/layers/activation.h"
#include "capstan/layers/attention.h"
#include "capstan/layers/audio.h"
#include "capstan/layers/augmentation.h"
#include "capstan/layers/convolution.h"
#include "capstan/layers/core.h"
#include "capstan/layers/merging.h"
#include "capstan/layers/normalization.h"
#include "capstan/layers/pooling.h"
#include "capstan/layers/preprocessing.h"
#include "capstan/layers/recurrent.h"
#include "capstan/layers/regularization.h"
#include "capstan/layers/reshaping.h"
#include "capstan/layers/resizing.h"
