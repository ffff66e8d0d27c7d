// The places of weights in Keras's files, of layers that are no rule's: tests/interop compares with Keras itself.
#include "src/checkpoint/keras_paths.h"

#include <gtest/gtest.h>

#include "capstan/capstan.h"

namespace capstan::detail {
namespace {

std::vector<std::string> paths_of(const Model& model) {
  std::vector<std::string> paths;
  for (const auto& [path, variable] : keras_weight_paths(model)) paths.push_back(path);
  return paths;
}

TEST(KerasPaths, HaveAKernelThatTwoLayersHoldTwice) {
  const Sequential model({layers::SpectralNormalization(layers::Dense(3), {.input_shape = {4}})});
  const std::string layer = "layers/spectral_normalization/";
  EXPECT_EQ(paths_of(model), (std::vector<std::string>{layer + "vars/0", layer + "vars/1", layer + "layer/vars/0",
                                                       layer + "layer/vars/1"}));
}

TEST(KerasPaths, OfAttentionInGroupsAreThoseOfKerassClass) {
  const Tensor x = Input({7, 4});
  const Model model(x, layers::GroupQueryAttention(3, 4, 2)(Nest{x, x}).tensor());
  EXPECT_EQ(paths_of(model).front(), "layers/grouped_query_attention/_query_dense/vars/0");
  EXPECT_EQ(paths_of(model).back(), "layers/grouped_query_attention/_output_dense/vars/1");
}

}  // namespace
}  // namespace capstan::detail
