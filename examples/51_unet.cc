// Which pixels belong to a disc, under squares and noise: a U-Net (Ronneberger, Fischer, Brox 2015).
//
//     51_unet [--picture FILE]
//
// A network that gives an image for an image. It looks at the image in smaller and smaller copies, which see far, and
// puts them back to full size by transposed convolutions; where a size comes back, what the way down saw at that size
// is joined to it, so that edges stay where they are. Such joints make it a functional model. The program draws its
// images; the picture shows them, the true discs and those that are found.
#include "capstan/capstan.h"
#include "support/arguments.h"
#include "support/pictures.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

constexpr std::int64_t kSide = 24;

struct Scenes {
  Tensor images;  // [count, 24, 24, 1]
  Tensor masks;   // the same shape: 1 where a disc is seen
};

// Numbers for each scene, [count, 1, 1, 1].
Tensor drawn(std::int64_t count, double low, double high) { return random::uniform({count, 1, 1, 1}, low, high); }

// A disc, and a square in front of it, in two shades of grey, with noise.
Scenes draw(std::int64_t count) {
  const Tensor line = range(static_cast<float>(kSide));
  const Tensor x = reshape(line, {1, 1, kSide, 1}), y = reshape(line, {1, kSide, 1, 1});
  const auto distance = [&](const Tensor& z, const Tensor& centre) { return abs(z - centre); };
  const Tensor disc_x = drawn(count, 6, 18), disc_y = drawn(count, 6, 18), radius = drawn(count, 4, 7);
  const Tensor disc = square(x - disc_x) + square(y - disc_y) < square(radius);
  const Tensor square_x = drawn(count, 3, 21), square_y = drawn(count, 3, 21), side = drawn(count, 2, 5);
  const Tensor box = maximum(distance(x, square_x), distance(y, square_y)) < side;
  const Tensor seen = logical_and(disc, logical_not(box));
  const Tensor shade = drawn(count, 0.4, 0.9);
  const Tensor image = where(box, drawn(count, 0.4, 0.9), where(disc, shade, 0.15));
  return {clip_by_value(image + random::normal({count, kSide, kSide, 1}, 0, 0.05), 0.0, 1.0), cast(seen, float32)};
}

Tensor two_convolutions(const Tensor& x, std::int64_t filters) {
  const layers::Conv2DOptions options{.padding = "same", .activation = "relu"};
  return layers::Conv2D(filters, {3, 3}, options)(layers::Conv2D(filters, {3, 3}, options)(x));
}

// Twice as large, and joined to what the way down had at that size.
Tensor up(const Tensor& x, const Tensor& from_the_way_down, std::int64_t filters) {
  const Tensor large = layers::Conv2DTranspose(filters, {2, 2}, {.strides = 2})(x);
  return two_convolutions(layers::Concatenate()({large, from_the_way_down}), filters);
}

Model unet() {
  const Tensor image = Input({kSide, kSide, 1});
  const Tensor full = two_convolutions(image, 8);
  const Tensor half = two_convolutions(layers::MaxPooling2D({2, 2})(full), 16);
  const Tensor quarter = two_convolutions(layers::MaxPooling2D({2, 2})(half), 32);
  const Tensor eighth = two_convolutions(layers::MaxPooling2D({2, 2})(quarter), 32);
  const Tensor h = up(up(up(eighth, quarter, 32), half, 16), full, 8);
  return Model(image, layers::Conv2D(1, {1, 1}, {.activation = "sigmoid"})(h));
}

// Of the pixels that are disc or taken for it, those that are both.
double overlap(const Tensor& truth, const Tensor& found) {
  return (reduce_sum(truth * found) / reduce_sum(maximum(truth, found))).item<double>();
}

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv, {"--picture FILE  receives the picture"});
  set_seed(1);
  examples::Transcript out;
  const Scenes train = draw(512), test = draw(100);
  const Model model = unet();
  out.print("weights: %lld", static_cast<long long>(model.count_params()));
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 5e-3}), .loss = "binary_crossentropy"});
  const History history = model.fit(train.images, train.masks, {.batch_size = 16, .epochs = 12, .verbose = 2});
  out.print("loss %.3f, then %.3f", history["loss"].front(), history["loss"].back());

  const Tensor found = cast(model.predict(test.images) > 0.5, float32);
  const Tensor bright = cast(test.images > 0.3, float32);
  out.print("overlap of true discs and of those found: %.3f", overlap(test.masks, found));
  out.print("overlap with what is bright: %.3f", overlap(test.masks, bright));

  const Slice shown = slice(0, 12);
  const std::string path = examples::picture_path(arguments.value("--picture"), "capstan_unet.png");
  out.print("picture written: %s",
            examples::write_pictures(path, {test.images(shown), test.masks(shown), found(shown)}) ? "yes" : "no");
  return out.finish({
      {"weights: 79657"},
      {"loss #, then #", {{0.3, 0.8}, {0.0, 0.1}}},
      {"overlap of true discs and of those found: #", {{0.75, 1.0}}},
      {"overlap with what is bright: #", {{0.5, 0.75}}},
      {"picture written: yes"},
  });
}
