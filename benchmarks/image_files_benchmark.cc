// Ten thousand small images in files: decoded by the library, and by libpng and libjpeg alone.
#include <benchmark/benchmark.h>
#include <jpeglib.h>
#include <png.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

constexpr int kImages = 10'000;
constexpr int kSide = 64;

// A folder of images uint8[64, 64, 3] in ten classes; peers/files.py reads it as well. Slow waves with a little noise:
// a PNG of 9 kB, a JPEG of 2 kB.
const std::string& folder(const std::string& ending) {
  static std::map<std::string, std::string> made;
  std::string& path = made[ending];
  if (!path.empty()) return path;
  const auto root = std::filesystem::temp_directory_path() / "capstan_files_benchmark" / ("images_" + ending);
  path = root.string();
  std::filesystem::create_directories(root);
  const Tensor y = reshape(cast(range(kSide), float32), {kSide, 1, 1}),
               x = reshape(cast(range(kSide), float32), {1, kSide, 1});
  for (int i = 0; i < kImages; ++i) {
    const auto name = root / std::to_string(i % 10) / (std::to_string(i) + "." + ending);
    if (std::filesystem::exists(name)) continue;
    std::filesystem::create_directories(name.parent_path());
    const float a = 0.02F * static_cast<float>(i % 17 + 1), b = 0.03F * static_cast<float>(i % 13 + 1);
    const Tensor wave = sin(y * a + x * b + cast(range(3), float32)) * 100;
    const Tensor noise = random::uniform({kSide, kSide, 3}, -4, 4, float32, static_cast<std::uint64_t>(i));
    const Tensor image = cast(wave + noise + 128, uint8);
    if (ending == "png") {
      io::save_png(name.string(), image);
    } else {
      io::save_jpeg(name.string(), image, {.quality = 90});
    }
  }
  return path;
}

const std::vector<std::string>& paths(const std::string& ending) {
  static std::map<std::string, std::vector<std::string>> found;
  std::vector<std::string>& list = found[ending];
  if (!list.empty()) return list;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder(ending))) {
    if (entry.is_regular_file()) list.push_back(entry.path().string());
  }
  return list;
}

void report(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kImages);
}

// What libpng needs for this one kind of image, without any conversion or message.
void decode_png(const std::string& path, std::vector<std::uint8_t>& pixels) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  if (file == nullptr || setjmp(png_jmpbuf(png)) != 0) std::abort();
  png_init_io(png, file);
  png_read_info(png, info);
  const std::size_t height = png_get_image_height(png, info), width = png_get_rowbytes(png, info);
  pixels.resize(height * width);
  for (std::size_t row = 0; row < height; ++row) png_read_row(png, pixels.data() + row * width, nullptr);
  png_read_end(png, nullptr);
  png_destroy_read_struct(&png, &info, nullptr);
  std::fclose(file);
}

void decode_jpeg(const std::string& path, std::vector<std::uint8_t>& pixels) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) std::abort();
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_stdio_src(&jpeg, file);
  jpeg_read_header(&jpeg, TRUE);
  jpeg_start_decompress(&jpeg);
  const std::size_t width = std::size_t{jpeg.output_width} * 3;
  pixels.resize(width * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels.data() + jpeg.output_scanline * width;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  std::fclose(file);
}

using Load = Tensor (*)(const std::string&, const io::LoadImageOptions&);
using Decode = void (*)(const std::string&, std::vector<std::uint8_t>&);

void load_images(benchmark::State& state, Load load, const std::string& ending) {
  for (auto _ : state) {
    for (const std::string& path : paths(ending)) benchmark::DoNotOptimize(load(path, {}));
  }
  report(state);
}

void decode_images(benchmark::State& state, Decode decode, const std::string& ending) {
  std::vector<std::uint8_t> pixels;
  for (auto _ : state) {
    for (const std::string& path : paths(ending)) {
      decode(path, pixels);
      benchmark::DoNotOptimize(pixels.data());
    }
  }
  report(state);
}

// Batches of 32 of the folder, float32, as a training takes them.
void image_dataset(benchmark::State& state, const std::string& ending) {
  const auto data =
      datasets::image_dataset_from_directory(folder(ending), {.image_size = {kSide, kSide}, .shuffle = false});
  for (auto _ : state) {
    for (const auto& [images, labels] : data) benchmark::DoNotOptimize(images);
  }
  report(state);
}

}  // namespace

BENCHMARK_CAPTURE(load_images, png, io::load_png, "png")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(decode_images, libpng, decode_png, "png")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(image_dataset, png, "png")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(load_images, jpeg, io::load_jpeg, "jpg")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(decode_images, libjpeg, decode_jpeg, "jpg")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(image_dataset, jpeg, "jpg")->Unit(benchmark::kMillisecond)->UseRealTime();
