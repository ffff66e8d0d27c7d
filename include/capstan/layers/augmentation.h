// Layers that prepare images, and those that change them at random while training.
//
// Inputs are [batch, height, width, channels], or one image [height, width, channels]; with data_format
// "channels_first" the channels come before height and width. Results have the same form. Integers are converted to the
// dtype that the layer computes in, except by Resizing.
//
// The layers that draw do so only while training: otherwise they give what they are given. Every image of a batch gets
// a draw of its own, except from RandomCrop, and every call draws anew, in a function too. With a seed a layer draws
// what Keras's layer with this seed draws on TensorFlow, call for call. Without one it takes the next of the process's
// stream, see set_seed.
//
//     Sequential augment({layers::RandomFlip("horizontal"), layers::RandomRotation(0.1), layers::RandomZoom(0.2)});
//     Tensor several = augment(images, {.training = true});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "capstan/layer.h"
#include "capstan/seed.h"

namespace capstan {
namespace layers {

/// Between which numbers a layer draws. One number f stands for -|f| to |f|; of two numbers the smaller one is the
/// lower end, and a range of one point draws that point.
struct FactorRange {
  FactorRange(double both = 0);
  FactorRange(double a, double b);
  double lower = 0;
  double upper = 0;
};

/// How far a layer goes below and above 1; one number is used for both.
struct FactorAroundOne {
  FactorAroundOne(double both = 0) : below(both), above(both) {}
  FactorAroundOne(double less, double more) : below(less), above(more) {}
  double below;
  double above;
};

/// The smallest and the largest number of a pixel; the smaller one may come second.
struct ValueRange {
  ValueRange(double a = 0, double b = 255);
  double lowest = 0;
  double highest = 255;
};

/// In configurations: a list of two numbers, or one number. Errors: ValueError for anything else, naming the option.
CAPSTAN_EXPORT void set_field(FactorRange& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const FactorRange& field);
CAPSTAN_EXPORT void set_field(FactorAroundOne& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const FactorAroundOne& field);
/// In configurations: a list of two numbers. Errors: ValueError for anything else, naming the option.
CAPSTAN_EXPORT void set_field(ValueRange& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const ValueRange& field);

// --- Size ---

/// Options of Resizing.
struct ResizingOptions {
  /// "nearest", "bilinear", "bicubic", "area", "lanczos3" or "lanczos5".
  std::string interpolation = "bilinear";
  bool crop_to_aspect_ratio = false;  ///< cuts the longer side off on both ends instead of distorting
  bool pad_to_aspect_ratio = false;   ///< fills the shorter side up on both ends instead of distorting
  std::string fill_mode = "constant";
  double fill_value = 0;   ///< what is padded with
  bool antialias = false;  ///< averages over the pixels that fall together; of no effect on nearest and area
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Images of another size, pixel centres at halves, in training and inference alike. Integers stay what they are: they
/// are rounded to the nearest one and limited to what their dtype can hold. Has gradients of every order for floating
/// images. Errors: ValueError for a length below 1, another interpolation or both ways to keep the aspect ratio,
/// ShapeError for an input of another rank or without pixels.
///
///     layers::Resizing(24, 24, {.crop_to_aspect_ratio = true})(images);
class CAPSTAN_EXPORT Resizing final : public Layer {
 public:
  Resizing(std::int64_t height, std::int64_t width, const ResizingOptions& options = {});
};

/// Options of CenterCrop.
struct CenterCropOptions {
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// The middle of images, in training and inference alike. An image that is smaller is resized instead: the largest part
/// of its middle that has the aspect ratio of the result, with bilinear interpolation. Errors: as Resizing.
///
///     layers::CenterCrop(20, 20)(images);
class CAPSTAN_EXPORT CenterCrop final : public Layer {
 public:
  CenterCrop(std::int64_t height, std::int64_t width, const CenterCropOptions& options = {});
};

// --- Place ---

/// Options of RandomCrop and RandomFlip.
struct RandomPlaceOptions {
  Seed seed = {};
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// While training a part of the images at a random place, one for all images of the call. In inference, and for images
/// that are smaller, the largest part of their middle that has the aspect ratio of the result, resized with bilinear
/// interpolation. Errors: as Resizing.
///
///     layers::RandomCrop(24, 24, {.seed = 1})(images, {.training = true});
class CAPSTAN_EXPORT RandomCrop final : public Layer {
 public:
  RandomCrop(std::int64_t height, std::int64_t width, const RandomPlaceOptions& options = {});
};

/// While training every other image, on average, mirrored: "horizontal" exchanges left and right, "vertical" top and
/// bottom. With "horizontal_and_vertical" one draw decides for both: an image is turned by half a turn, or stays.
/// Errors: ValueError for another mode, ShapeError for an input of another rank.
///
///     layers::RandomFlip("horizontal")(images, {.training = true});
class CAPSTAN_EXPORT RandomFlip final : public Layer {
 public:
  explicit RandomFlip(const std::string& mode = "horizontal_and_vertical", const RandomPlaceOptions& options = {});
};

/// Options of RandomRotation and RandomTranslation.
struct RandomWarpOptions {
  /// What lies outside of the image: "reflect" (mirrored with the edge), "constant" (fill_value), "nearest" (the edge)
  /// or "wrap".
  std::string fill_mode = "reflect";
  std::string interpolation = "bilinear";  ///< or "nearest"
  Seed seed = {};
  double fill_value = 0;
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// While training, images turned around their middle by angles from the range, in whole turns, counter-clockwise.
/// Errors: ValueError for a factor outside [-1, 1], another fill mode or interpolation, ShapeError for an input of
/// another rank or without pixels.
///
///     layers::RandomRotation(0.1)(images, {.training = true});             // by up to 36 degrees
///     layers::RandomRotation({0.25, 0.25})(images, {.training = true});    // by a quarter turn
class CAPSTAN_EXPORT RandomRotation final : public Layer {
 public:
  explicit RandomRotation(FactorRange factor, const RandomWarpOptions& options = {});
};

/// While training, images moved down by a part of their height and right by a part of their width. Errors: as
/// RandomRotation.
///
///     layers::RandomTranslation(0.1, {0, 0.2})(images, {.training = true});   // up or down, and to the right
class CAPSTAN_EXPORT RandomTranslation final : public Layer {
 public:
  RandomTranslation(FactorRange height_factor, FactorRange width_factor, const RandomWarpOptions& options = {});
};

/// Options of RandomZoom.
struct RandomZoomOptions {
  /// The same as height_factor, with the same draw, if not given.
  std::optional<FactorRange> width_factor = {};
  std::string fill_mode = "reflect";       ///< as RandomWarpOptions
  std::string interpolation = "bilinear";  ///< or "nearest"
  Seed seed = {};
  double fill_value = 0;
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// While training, images seen in another size around their middle: height and width become 1 / (1 + factor) of what
/// they are, so positive factors make what is seen smaller. Without a width_factor the aspect ratio stays. Errors: as
/// RandomRotation.
///
///     layers::RandomZoom({-0.2, 0})(images, {.training = true});      // up to a quarter larger
///     layers::RandomZoom(0.2, {.width_factor = {{0.1, 0.3}}})(images, {.training = true});
class CAPSTAN_EXPORT RandomZoom final : public Layer {
 public:
  explicit RandomZoom(FactorRange height_factor, const RandomZoomOptions& options = {});
};

// --- Colour ---

/// Options of RandomContrast and RandomBrightness.
struct RandomColorOptions {
  ValueRange value_range = {};  ///< what pixels can have; results are limited to it
  Seed seed = {};
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// While training, the distance of the pixels from the mean of their channel and image times a number from
/// [1 - below, 1 + above). Errors: ValueError for a factor outside [0, 1], ShapeError for an input of another rank or
/// without pixels.
///
///     layers::RandomContrast(0.2, {.value_range = {0, 1}})(images, {.training = true});
class CAPSTAN_EXPORT RandomContrast final : public Layer {
 public:
  explicit RandomContrast(FactorAroundOne factor, const RandomColorOptions& options = {});
};

/// While training, images plus a number from the range, of which 1 stands for the length of value_range. Errors:
/// ValueError for a factor outside [-1, 1], ShapeError for an input of another rank or without pixels.
///
///     layers::RandomBrightness(0.2, {.value_range = {0, 1}})(images, {.training = true});
class CAPSTAN_EXPORT RandomBrightness final : public Layer {
 public:
  explicit RandomBrightness(FactorRange factor, const RandomColorOptions& options = {});
};

static_assert(detail::kAddNothing<Resizing, CenterCrop, RandomCrop, RandomFlip, RandomRotation, RandomTranslation,
                                  RandomZoom, RandomContrast, RandomBrightness>);

}  // namespace layers
}  // namespace capstan
