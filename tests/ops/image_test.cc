// Images of integers, numbers worked out by hand, and inverses; the rest is in every_op_test.cc.
#include "capstan/ops/image.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int>;

Tensor bytes(const Ints& values, const Shape& shape) { return cast(constant(values, shape), uint8); }

TEST(Resize, OfBytesIsFloatingButForNearest) {
  const Tensor image = bytes({0, 10, 20, 30}, {2, 2, 1});
  const Tensor smooth = image::resize(image, {2, 4});
  EXPECT_EQ(smooth.dtype(), float32);
  EXPECT_EQ(smooth.to_vector<float>(), (Floats{0, 2.5, 7.5, 10, 20, 22.5, 27.5, 30}));
  const Tensor nearest = image::resize(image, {1, 4}, {.method = "nearest"});
  EXPECT_EQ(nearest.dtype(), uint8);
  EXPECT_EQ(nearest.to_vector<int>(), (Ints{20, 20, 30, 30}));
  EXPECT_EQ(image::resize(image, {1, 1}, {.method = "area"}).item<float>(), 15.0f);
}

TEST(Resize, WithoutChangeIsTheImage) {
  const Tensor image = random::uniform({3, 4, 2}, 0, 1, float32, 5);
  for (const char* method : {"bilinear", "gaussian", "mitchellcubic"}) {
    EXPECT_TRUE(equal_tensors(image::resize(image, {3, 4}, {.method = method}), image)) << method;
  }
}

TEST(Colors, OfBytesRunFromZeroToTheLargest) {
  const Floats converted = image::convert_image_dtype(bytes({0, 51, 255}, {3}), float32).to_vector<float>();
  EXPECT_EQ(converted[0], 0.0f);
  EXPECT_NEAR(converted[1], 0.2, 1e-7);
  EXPECT_EQ(converted[2], 1.0f);
  EXPECT_EQ(image::convert_image_dtype(constant({0.0, 0.2, 1.0, 7.0}), uint8, {.saturate = true}).to_vector<int>(),
            (Ints{0, 51, 255, 255}));
  EXPECT_EQ(image::adjust_brightness(bytes({10, 250}, {2}), 0.1).to_vector<int>(), (Ints{35, 255}));
  EXPECT_EQ(image::rgb_to_grayscale(bytes({255, 255, 255}, {1, 1, 3})).to_vector<int>(), (Ints{255}));
  EXPECT_EQ(image::adjust_contrast(bytes({0, 100}, {1, 2, 1}), 1).to_vector<int>(), (Ints{0, 100}));
}

TEST(Colors, HueTurnsRedIntoGreen) {
  const Tensor red = constant({{{1.0, 0.0, 0.0}}});
  const Floats green = image::adjust_hue(red, 1.0 / 3).to_vector<float>();
  EXPECT_NEAR(green[0], 0, 1e-6);
  EXPECT_NEAR(green[1], 1, 1e-6);
  EXPECT_NEAR(green[2], 0, 1e-6);
  EXPECT_EQ(image::adjust_saturation(red, 0).to_vector<float>(), (Floats{1, 1, 1}));
}

TEST(Colors, GreyHasFiniteGradients) {
  const Tensor grey = constant({{{0.5, 0.5, 0.5}, {0.0, 0.0, 0.0}}});
  GradientTape tape;
  tape.watch(grey);
  const Tensor hsv = image::rgb_to_hsv(grey);
  EXPECT_EQ(hsv.to_vector<float>(), (Floats{0, 0, 0.5, 0, 0, 0}));
  EXPECT_TRUE(reduce_all(is_finite(tape.gradient(hsv, grey))).item<bool>());
}

TEST(PerImageStandardization, OfEqualPixelsIsZeroWithAGradient) {
  const Tensor flat = ones({2, 2, 1});
  GradientTape tape;
  tape.watch(flat);
  const Tensor y = image::per_image_standardization(flat);
  EXPECT_EQ(y.to_vector<float>(), (Floats{0, 0, 0, 0}));
  EXPECT_TRUE(reduce_all(is_finite(tape.gradient(y, flat))).item<bool>());
}

TEST(PerImageStandardization, OfIntegersIsThatOfTheSameNumbers) {
  const Tensor pixels = reshape(constant({1, 3, 4, 200}), {2, 2, 1});
  const Tensor want = image::per_image_standardization(cast(pixels, float32));
  for (const DType dtype : {uint8, int32, int64}) {
    EXPECT_TRUE(equal_tensors(image::per_image_standardization(cast(pixels, dtype)), want)) << name_of(dtype);
  }
}

TEST(Warp, OfTheIdentityIsTheImageAndARotationTurnsCounterClockwise) {
  const Tensor image = random::uniform({3, 3, 2}, 0, 1, float32, 9);
  const Tensor identity_map = constant({1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0});
  EXPECT_TRUE(equal_tensors(image::affine_transform(image, identity_map), image));
  const Tensor turned = image::rotate(image, 1.5707963267948966, {.fill_mode = "nearest"});
  EXPECT_LT(reduce_max(abs(turned - image::rot90(image))).item<float>(), 1e-5f);
}

TEST(Warp, GivesTheImageAGradient) {
  const Tensor image = reshape(cast(range(9), float32), {3, 3, 1});
  const Tensor half_a_pixel = constant({1.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0});
  GradientTape tape;
  tape.watch(image);
  const Tensor y = image::affine_transform(image, half_a_pixel);
  EXPECT_EQ(y(0).to_vector<float>(), (Floats{0.5, 1.5, 1}));
  EXPECT_EQ(tape.gradient(y, image)(0).to_vector<float>(), (Floats{0.5, 1, 1}));
}

// A place that is infinite or no number, or far beyond what an index holds, is outside of every image.
TEST(Warp, OfPlacesThatAreNowhereIsTheFillValue) {
  const Tensor image = ones({1, 3, 3, 1}, float64);
  const double huge = 1e30, infinite = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const char* mode : {"constant", "nearest", "reflect", "wrap"}) {
    for (const char* interpolation : {"bilinear", "nearest"}) {
      for (const double number : {huge, -huge, infinite, -infinite, nan}) {
        const Tensor transform = constant({number, 0.0, 0.0, 0.0, number, number, 0.0, 0.0});
        const image::WarpOptions options{.interpolation = interpolation, .fill_mode = mode, .fill_value = 7};
        GradientTape tape;
        tape.watch(image);
        const Tensor y = image::affine_transform(image, transform, options);
        EXPECT_TRUE(reduce_all(is_finite(y)).item<bool>()) << mode << " " << number;
        EXPECT_TRUE(reduce_all(is_finite(tape.gradient(y, image))).item<bool>()) << mode << " " << number;
        const bool is_outside = !std::isfinite(number) || std::string(mode) == "constant";
        EXPECT_EQ(y(0, 2, 2, 0).item<double>() == 7, is_outside) << mode << " " << number;
      }
    }
  }
  // The map divides by zero in the middle column.
  const Tensor y =
      image::affine_transform(image, constant({1.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0}), {.fill_value = 7});
  EXPECT_EQ(y(0, 0, 1, 0).item<double>(), 7);
}

// As TensorFlow has it: periods of n - 1 are counted, and n is moved by, with the edge between them.
TEST(Warp, WrapsAround) {
  const Tensor image = reshape(constant({0.0, 1.0, 2.0, 3.0}), {1, 4, 1});
  const auto shifted = [&](double by) {
    return image::affine_transform(image, constant({1.0, 0.0, by, 0.0, 1.0, 0.0, 0.0, 0.0}),
                                   {.interpolation = "nearest", .fill_mode = "wrap"})
        .to_vector<double>();
  };
  EXPECT_EQ(shifted(1), (std::vector<double>{1, 2, 3, 0}));
  EXPECT_EQ(shifted(-2), (std::vector<double>{2, 3, 0, 1}));
}

TEST(Ssim, OfEqualImagesIsOne) {
  const Tensor image = random::uniform({2, 16, 16, 3}, 0, 1, float64, 3);
  const std::vector<double> similarity = image::ssim(image, image, 1).to_vector<double>();
  ASSERT_EQ(similarity.size(), 2u);
  EXPECT_NEAR(similarity[0], 1, 1e-12);
  const Tensor noisy = bytes({0, 255, 0, 255}, {2, 2, 1});
  EXPECT_NEAR(image::psnr(noisy, bytes({0, 255, 0, 250}, {2, 2, 1}), 255).item<float>(), 40.17, 0.01);
}

TEST(Rot90, FourTimesIsTheImage) {
  Tensor image = random::uniform({2, 3, 4, 1}, 0, 1, float32, 2);
  Tensor turned = image;
  for (int i = 0; i < 4; ++i) turned = image::rot90(turned);
  EXPECT_TRUE(equal_tensors(turned, image));
  EXPECT_TRUE(equal_tensors(image::rot90(image, -3), image::rot90(image, 1)));
}

}  // namespace
}  // namespace capstan
