// Networks of keras.applications beside their numbers, which tests/golden compares: options, errors, files of weights,
// transfer to a program's own classes.
#include "capstan/applications.h"

#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan::applications {
namespace {

using capstan::testing::message_of;

const ApplicationOptions kSmall{.input_shape = {32, 32, 3}, .classes = 4};

TEST(Applications, TheTopIsLeftOutOnRequest) {
  const Model top = MobileNetV2(kSmall);
  EXPECT_EQ(top.name(), "mobilenetv2_1.00_32");
  EXPECT_EQ(top(zeros({2, 32, 32, 3})).shape(), (Shape{2, 4}));
  const Model features = MobileNetV2({.include_top = false, .input_shape = {32, 32, 3}});
  EXPECT_EQ(features(zeros({2, 32, 32, 3})).shape(), (Shape{2, 1, 1, 1280}));
  for (const char* pooling : {"avg", "max"}) {
    const Model pooled = MobileNetV2({.include_top = false, .input_shape = {32, 32, 3}, .pooling = pooling});
    EXPECT_EQ(pooled(zeros({1, 32, 32, 3})).shape(), (Shape{1, 1280}));
  }
  EXPECT_LT(MobileNetV2(kSmall, 0.35).count_params(), top.count_params() / 3);
}

TEST(Applications, TakeImagesOfAnySizeWithoutTheTop) {
  const Model model = VGG16({.include_top = false, .input_shape = {-1, -1, 3}, .pooling = "avg"});
  EXPECT_EQ(model(zeros({1, 32, 48, 3})).shape(), (Shape{1, 512}));
  EXPECT_EQ(model(zeros({2, 64, 32, 3})).shape(), (Shape{2, 512}));
}

TEST(Applications, HaveKerasNumbersOfWeights) {
  EXPECT_EQ(ResNet50({.include_top = false, .input_shape = {32, 32, 3}}).count_params(), 23587712);
  EXPECT_EQ(EfficientNetB0({.include_top = false, .input_shape = {32, 32, 3}}).count_params(), 4049571);
  EXPECT_EQ(DenseNet121({.include_top = false, .input_shape = {32, 32, 3}}).count_params(), 7037504);
}

TEST(Applications, KeepTheirWeightsInFiles) {
  const io::TemporaryDirectory directory;
  const std::string path = directory.path() + "/weights.safetensors";
  const Model first = MobileNetV2(kSmall, 0.35);
  first.save_weights(path);
  ApplicationOptions options = kSmall;
  options.weights = path;
  const Model second = MobileNetV2(options, 0.35);
  const Tensor x = random::uniform({2, 32, 32, 3});
  EXPECT_EQ(first(x).to_vector<float>(), second(x).to_vector<float>());
  options.classes = 5;
  EXPECT_THROW(MobileNetV2(options, 0.35), ValueError);
  options.weights = directory.path() + "/none.safetensors";
  EXPECT_THROW(MobileNetV2(options, 0.35), IoError);
}

// What transfer learning does: a frozen base, a layer on top, one step.
TEST(Applications, AreTrainedFurther) {
  const Model base = MobileNetV2({.include_top = false, .input_shape = {32, 32, 3}, .pooling = "avg"}, 0.35);
  base.set_trainable(false);
  const Tensor images = Input({32, 32, 3});
  const Model model(images, layers::Dense(3)(base(images, {.training = false})));
  EXPECT_EQ(model.trainable_variables().size(), 2U);
  model.compile({.optimizer = "sgd", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  const std::vector<Tensor> before = base.get_weights();
  model.fit(random::uniform({4, 32, 32, 3}), constant({0, 1, 2, 0}), {.epochs = 1, .verbose = 0});
  const std::vector<Tensor> after = base.get_weights();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].to_vector<float>(), after[i].to_vector<float>());
  // A model that ends at an inner layer.
  const Model inner(base.inputs(), base.output_of("block_5_add"));
  EXPECT_EQ(inner(zeros({1, 32, 32, 3})).rank(), 4);
}

TEST(Applications, EfficientNetHasKerasScalingOnRequest) {
  const Model plain = EfficientNetB0(kSmall), scaled = EfficientNetB0(kSmall, true);
  EXPECT_EQ(scaled.layers().size(), plain.layers().size() + 1);
  EXPECT_EQ(scaled.count_params(), plain.count_params());
}

TEST(Applications, RefuseOptionsWithoutMeaning) {
  EXPECT_NE(message_of([] {
              Xception({.input_shape = {70, 80, 3}});
            }).find("at least 71 x 71, but input_shape is [70, 80, 3]"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              ResNet50({.input_shape = {64, 64}});
            }).find("height, width and channels"),
            std::string::npos);
  EXPECT_NE(message_of([] { ResNet50({.input_shape = {-1, 64, 3}}); }).find("open length"), std::string::npos);
  EXPECT_NE(message_of([] { ResNet50V2({.include_top = false, .pooling = "mean"}); }).find("\"mean\""),
            std::string::npos);
  EXPECT_NE(message_of([] { VGG16({.classes = 0}); }).find("at least 1, not 0"), std::string::npos);
  EXPECT_NE(message_of([] { DenseNet121({.weights = "imagenet"}); }).find("nothing is downloaded"), std::string::npos);
  EXPECT_NE(message_of([] { MobileNetV2({}, 0); }).find("alpha"), std::string::npos);
}

TEST(PreprocessInput, IsThatOfEachNetwork) {
  const Tensor pixel = constant({0.0f, 127.5f, 255.0f});
  const auto got = [&](const char* network) { return preprocess_input(network, pixel).to_vector<float>(); };
  EXPECT_EQ(got("mobilenet_v2"), (std::vector<float>{-1, 0, 1}));
  EXPECT_EQ(got("xception"), got("resnet_v2"));
  EXPECT_EQ(got("efficientnet"), pixel.to_vector<float>());
  EXPECT_EQ(got("vgg16"), (std::vector<float>{255 - 103.939f, 127.5f - 116.779f, -123.68f}));
  EXPECT_EQ(got("resnet50"), got("resnet"));
  EXPECT_NEAR(got("densenet")[0], -0.485 / 0.229, 1e-6);
  EXPECT_NEAR(got("densenet")[2], (1 - 0.406) / 0.225, 1e-6);
  EXPECT_EQ(preprocess_input("xception", constant({0, 0, 255}, uint8)).dtype(), float32);
  EXPECT_NE(message_of([&] { preprocess_input("alexnet", pixel); }).find("\"alexnet\""), std::string::npos);
  EXPECT_THROW(preprocess_input("vgg16", zeros({2, 4})), ShapeError);
  EXPECT_THROW(preprocess_input("vgg16", constant(1.0f)), ShapeError);
}

}  // namespace
}  // namespace capstan::applications
