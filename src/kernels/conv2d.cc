// Convolution: the forward pass and the gradient with respect to the image.
//
// Direct, on the layouts as they are. An inner tile holds a block of outputs in registers, up to 28
// vectors: some neighbouring pixels of one row times up to four vectors of output channels. It
// walks over the taps and the source channels and does one multiply-add per register and step, with
// one broadcast load per pixel. Nothing is gained by gathering patches into a matrix first: it
// would write kernel_height * kernel_width times the image's memory to save nothing in the inner
// loop. Winograd's transform needs fewer multiplications on 3x3 kernels, but loses digits.
//
// The source is copied, band by band, into a padded block in scratch memory, for three reasons.
// Zero columns left and right make the taps uniform. The distance of two neighbouring pixels
// becomes a compile-time constant (16 channels; 1 or 3 for images with so few), so all broadcast
// loads of a step share one address register; with a run-time distance they would need more
// registers than there are. And strides become phases (see conv2d_plan.h). Rows above and below the
// image are skipped, not copied. A source that already lies so is read where it is.
//
// Each output element is one sum in one order, whatever tile computes it; so tiles may overlap to
// fill a row exactly, and results do not depend on the number of threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/conv2d.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "src/core/thread_pool.h"
#include "src/kernels/ahead.h"
#include "src/kernels/conv2d.h"
#include "src/kernels/conv2d_copy-inl.h"
#include "src/kernels/conv2d_plan.h"
#include "src/kernels/conv2d_tiles-inl.h"
#include "src/kernels/epilogue.h"
#include "src/kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Copies source rows [first, last) of one image: [channel block][row][phase][position][kDistance].
template <class T, int kDistance>
void copy_band(const Correlation& c, const T* image, std::int64_t first, std::int64_t last, std::ptrdiff_t block_stride,
               T* band) {
  const std::int64_t channels = c.source_channels;
  const RowLayout layout{c.source_columns, channels, c.source_phases, c.positions, c.left};
  for (std::int64_t channel = 0; channel < channels; channel += kDistance, band += block_stride) {
    const std::int64_t width = std::min<std::int64_t>(kDistance, channels - channel);
    for (std::int64_t r = first; r < last; ++r) {
      copy_row(layout, image + r * c.source_columns * channels + channel, width, kDistance,
               band + (r - first) * c.row_pixels() * kDistance);
    }
  }
}

// The matrices as the tiles read them, in panels of four vectors of output channels: row r of tap t
// of panel p begins at data + p * panel_elements + (t * source_channels + r) * stride. A filter
// with up to one panel of channels already is one.
template <class T>
struct Matrices {
  const T* data;
  std::ptrdiff_t stride;
  std::ptrdiff_t panel_elements;
  std::int64_t first_channel;  // the output channels it covers
  std::int64_t channels;
  bool narrow = false;  // as narrow_tile reads them: all channels, `stride` is their number
};

template <class T>
constexpr std::int64_t kPanel = kMaxVectors* hn::MaxLanes(hn::ScalableTag<T>());

// The source channels, rounded up to blocks.
inline std::int64_t whole_blocks(const Correlation& c) {
  return (c.source_channels + kChannelBlock - 1) / kChannelBlock * kChannelBlock;
}

// What all bands of a call have in common.
template <class T>
struct Job {
  const Correlation& correlation;
  const Matrices<T>& matrices;
  std::ptrdiff_t block_stride;  // from a block of channels in the copied band to the next
  // Few channels and no phases: the taps of a kernel row are contiguous in the source and in the
  // matrices; they are one.
  bool merged;
  // The taps of a row residue and a phase, see Correlation::RowSteps; source offsets from row
  // `base`.
  std::vector<TapOffset> taps;
  std::vector<std::ptrdiff_t> first_tap;  // [residue, phase]
  // The tiles for one, two and four vectors. The columns of two phases differ by one at most.
  TileChoice<T> choices[2][3];
};

template <class T, int kDistance>
Job<T> make_job(const Correlation& c, const Matrices<T>& matrices, std::ptrdiff_t block_stride) {
  Job<T> job{c, matrices, block_stride, false, {}, {}, {}};
  job.merged = c.source_channels == kDistance && !c.transposed && c.source_phases == 1 && kDistance < kChannelBlock;
  const std::int64_t row_elements = c.row_pixels() * kDistance;
  const std::int64_t tap_rows = matrices.narrow ? whole_blocks(c) : c.source_channels;
  const std::int64_t tap_elements = tap_rows * matrices.stride;
  for (std::int64_t residue = 0; residue < c.residues(); ++residue) {
    for (const Correlation::Phase& phase : c.phases) {
      job.first_tap.push_back(job.taps.size());
      for (std::int64_t j = 0; j < c.steps(residue); ++j) {
        const std::int64_t k = residue + j * c.k_step();
        for (const Correlation::ColumnTap& tap : phase.taps) {
          const int outside =
              (c.is_inside(tap.position) ? 0 : kFirst) | (c.is_inside(tap.position + phase.columns - 1) ? 0 : kLast);
          job.taps.push_back({c.direction() * j * row_elements + tap.position * kDistance,
                              (k * c.kernel_columns + tap.kernel_column) * tap_elements, outside});
          if (job.merged) break;
        }
      }
    }
  }
  for (int i : {0, 1}) {
    const std::int64_t columns = i == 0 ? c.phases.front().columns : c.phases.back().columns;
    for (int vectors : {1, 2, 4}) {
      job.choices[i][vectors / 2] = matrices.narrow ? choose_narrow_tile<T>(columns, matrices.channels)
                                                    : choose_tile<T, kDistance>(columns, vectors);
    }
  }
  return job;
}

// Output rows [begin, end) of one image, from a copied band of source rows that starts at row
// `first`. Each row fetches a share of what is ahead.
template <class T, int kDistance>
void correlate_band(const Job<T>& job, const T* band, std::int64_t first, std::int64_t begin, std::int64_t end,
                    T* image, Ahead& ahead) {
  constexpr int kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const Correlation& c = job.correlation;
  const Matrices<T>& matrices = job.matrices;
  const std::int64_t channels = c.source_channels;
  const std::int64_t phases = c.phases.size();
  Row row;
  row.matrix_stride = matrices.stride;
  row.block_stride = job.block_stride;
  row.channel_blocks = job.merged ? 1 : (channels + kChannelBlock - 1) / kChannelBlock;
  row.tail = job.merged ? channels * c.kernel_columns : channels - (row.channel_blocks - 1) * kChannelBlock;
  alignas(64) T edge[kMaxPixels * kMaxVectors * kLanes];
  for (std::int64_t o = begin; o < end; ++o) {
    ahead.fetch();
    const Correlation::RowSteps steps = c.row_steps(o);
    const T* base = band + (steps.base - first) * c.row_pixels() * kDistance;
    for (std::int64_t phase_index = 0; phase_index < phases; ++phase_index) {
      const Correlation::Phase& phase = c.phases[phase_index];
      const std::ptrdiff_t row_taps = job.merged ? 1 : phase.taps.size();
      row.taps = job.taps.data() + job.first_tap[steps.residue * phases + phase_index] + steps.begin * row_taps;
      row.tap_count = (steps.end - steps.begin) * row_taps;
      const std::ptrdiff_t pixel_stride = c.column_step * c.out_channels;
      T* out = image + (o * c.out_columns + phase.first_column) * c.out_channels + matrices.first_channel;
      for (std::int64_t n = 0; n < matrices.channels;) {
        const std::int64_t left = matrices.channels - n;
        const int vectors = kMaxVectors >= 4 && left > 3 * kLanes ? 4 : left > kLanes ? 2 : 1;
        const int width = matrices.narrow ? static_cast<int>(left) : vectors * kLanes;
        const T* matrix = matrices.data + n / kPanel<T> * matrices.panel_elements + n % kPanel<T>;
        const TileChoice<T>& choice = job.choices[phase.columns == c.phases[0].columns ? 0 : 1][vectors / 2];
        for (std::int64_t p = 0; p < phase.columns; p += choice.pixels) {
          p = std::min(p, phase.columns - choice.pixels);
          const T* source = base + p * kDistance;
          row.ends = (p == 0 ? kFirst : 0) | (p + choice.pixels == phase.columns ? kLast : 0);
          if (left >= width) {
            choice.tile(row, source, matrix, out + p * pixel_stride + n, pixel_stride);
            continue;
          }
          choice.tile(row, source, matrix, edge, width);
          for (int i = 0; i < choice.pixels; ++i) {
            std::copy(edge + i * width, edge + i * width + left, out + (p + i) * pixel_stride + n);
          }
        }
        n += width;
      }
    }
  }
}

template <class T, int kDistance>
void correlate_blocks(const Correlation& c, const Matrices<T>& matrices, const T* source, T* out) {
  const std::int64_t channel_blocks = (c.source_channels + kDistance - 1) / kDistance;
  const std::int64_t row_elements = c.row_pixels() * kDistance;
  const std::int64_t image_elements = c.source_rows * c.source_columns * c.source_channels;
  const std::int64_t out_elements = c.out_rows * c.out_columns * c.out_channels;

  // The source may lie as its copy would.
  const bool in_place =
      c.source_channels == kDistance && c.source_phases == 1 && c.left == 0 && c.positions == c.source_columns;

  // Bands are so high that their copy fits the second-level cache, and that small batches give
  // several tasks.
  constexpr std::int64_t kBandElements = (std::int64_t{256} << 10) / sizeof(T);
  constexpr std::int64_t kPieceElements = (std::int64_t{8} << 10) / sizeof(T);
  std::int64_t rows = c.out_rows;
  auto band_rows = [&](std::int64_t out_rows) {
    const std::int64_t needed =
        c.transposed ? (out_rows + c.kernel_rows) / c.stride_rows + 2 : (out_rows - 1) * c.stride_rows + c.kernel_rows;
    return std::clamp<std::int64_t>(needed, 0, c.source_rows);
  };
  while (rows > 1 && band_rows(rows) * row_elements * channel_blocks > kBandElements) rows = (rows + 1) / 2;
  while (rows > 4 && c.batch * ((c.out_rows + rows - 1) / rows) < 8) rows = (rows + 1) / 2;
  const std::int64_t bands = (c.out_rows + rows - 1) / rows;
  const std::ptrdiff_t block_stride = band_rows(rows) * row_elements;
  const std::int64_t band_elements = block_stride * channel_blocks;

  const Job<T> job = make_job<T, kDistance>(c, matrices, block_stride);
  const bool finishes = matrices.first_channel + matrices.channels == c.out_channels;
  const Epilogue* const epilogue = finishes ? Epilogue::take(out, c.batch * out_elements) : nullptr;

  // There are 16 tasks or so, each of a hundred thousand multiply-adds or more, so that handing
  // them out costs little.
  const double work = 1.0 * rows * c.out_columns * matrices.channels * c.source_channels * c.kernel_rows *
                      c.kernel_columns / (c.transposed ? c.stride_rows * c.column_step : 1);
  const std::int64_t parts = c.batch * bands;
  const std::int64_t per_task =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(1e5 / std::max(work, 1.0)), (parts + 15) / 16, parts);
  parallel_for((parts + per_task - 1) / per_task, [&](std::int64_t task) {
    Scratch scratch(ScratchSlot::kTask, in_place ? 0 : band_elements * sizeof(T));
    T* const copy = scratch.as<T>();
    if (!in_place) std::fill(copy, copy + band_elements, T(0));
    for (std::int64_t part = task * per_task; part < std::min(parts, (task + 1) * per_task); ++part) {
      const std::int64_t image = part / bands;
      const std::int64_t begin = part % bands * rows, end = std::min(c.out_rows, begin + rows);
      std::int64_t first, last;
      c.source_range(begin, end, &first, &last);
      const T* band = copy;
      if (in_place) {
        band = source + image * image_elements + first * row_elements;
      } else {
        copy_band<T, kDistance>(c, source + image * image_elements, first, last, block_stride, copy);
      }
      const Correlation::Part next = c.source_of(part + 1, bands, rows);
      Ahead ahead(source + next.first, next.elements, end - begin);
      const std::int64_t line = c.out_columns * c.out_channels;
      // An epilogue finds what it reads in the first-level cache.
      const std::int64_t piece = epilogue == nullptr ? rows : std::max<std::int64_t>(kPieceElements / line, 1);
      for (std::int64_t row = begin; row < end; row += piece) {
        const std::int64_t stop = std::min(end, row + piece);
        correlate_band<T, kDistance>(job, band, first, row, stop, out + image * out_elements, ahead);
        if (epilogue != nullptr) {
          (*epilogue)(image * out_elements + row * line, image * out_elements + stop * line);
        }
      }
    }
  });
}

template <class T>
void correlate(const Correlation& c, const Matrices<T>& matrices, const T* source, T* out) {
  if (c.source_channels == 1) return correlate_blocks<T, 1>(c, matrices, source, out);
  if (c.source_channels == 3) return correlate_blocks<T, 3>(c, matrices, source, out);
  correlate_blocks<T, kChannelBlock>(c, matrices, source, out);
}

// Calls correlate for groups of panels of about a megabyte. pack(tap, first, count, to) writes the
// matrix of a tap and of up to kPanel output channels; rows are kPanel apart.
template <class T, class Pack>
void correlate_packed(const Correlation& c, const Pack& pack, const T* source, T* out) {
  const std::int64_t taps = c.kernel_rows * c.kernel_columns;
  const std::int64_t panel_elements = taps * c.source_channels * kPanel<T>;
  const std::int64_t budget = (std::int64_t{1} << 20) / sizeof(T);
  const std::int64_t all_panels = (c.out_channels + kPanel<T> - 1) / kPanel<T>;
  const std::int64_t panels =
      std::clamp<std::int64_t>(budget / std::max<std::int64_t>(panel_elements, 1), 1, all_panels);
  Scratch scratch(ScratchSlot::kCall, panels * panel_elements * sizeof(T));
  for (std::int64_t begin = 0; begin < all_panels; begin += panels) {
    const std::int64_t count = std::min(panels, all_panels - begin);
    auto pack_tap = [&](std::int64_t i) {
      const std::int64_t panel = i / taps, tap = i % taps;
      const std::int64_t first = (begin + panel) * kPanel<T>;
      pack(tap, first, std::min(kPanel<T>, c.out_channels - first),
           scratch.as<T>() + panel * panel_elements + tap * c.source_channels * kPanel<T>);
    };
    if (count * panel_elements < 16384) {
      for (std::int64_t i = 0; i < count * taps; ++i) pack_tap(i);
    } else {
      parallel_for(count * taps, pack_tap);
    }
    const std::int64_t first = begin * kPanel<T>;
    const std::int64_t channels = std::min(count * kPanel<T>, c.out_channels - first);
    correlate<T>(c, {scratch.as<T>(), kPanel<T>, panel_elements, first, channels}, source, out);
  }
}

// Calls correlate for few output channels; element(tap, source channel, output channel) is a
// matrix's.
template <class T, class Element>
void correlate_narrow(const Correlation& c, const Element& element, const T* source, T* out) {
  const std::int64_t taps = c.kernel_rows * c.kernel_columns, rows = whole_blocks(c);
  const std::int64_t channels = c.out_channels;
  Scratch scratch(ScratchSlot::kCall, taps * rows * channels * sizeof(T));
  T* to = scratch.as<T>();
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::int64_t block = 0; block < rows; block += kChannelBlock) {
      for (std::int64_t n = 0; n < channels; ++n) {
        for (std::int64_t k = block; k < block + kChannelBlock; ++k) {
          *to++ = k < c.source_channels ? element(tap, k, n) : T(0);
        }
      }
    }
  }
  correlate_blocks<T, kChannelBlock>(c, {scratch.as<T>(), channels, 0, 0, channels, true}, source, out);
}

// Few output channels leave lanes empty, few source channels would as well.
inline bool is_narrow(const Correlation& c) { return c.out_channels <= kNarrow && c.source_channels > kNarrow; }

template <class T>
void forward(const Conv2DShape& shape, const T* input, const T* filter, T* output) {
  if (shape.batch * shape.out_height * shape.out_width * shape.out_channels == 0) return;
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const Correlation c = Correlation::forward(shape);
  const std::int64_t channels = shape.out_channels;
  if (is_narrow(c)) {
    const auto element = [&](std::int64_t tap, std::int64_t k, std::int64_t n) {
      return filter[(tap * shape.in_channels + k) * channels + n];
    };
    return correlate_narrow<T>(c, element, input, output);
  }
  if (channels % kLanes == 0 && channels <= kPanel<T>) {
    return correlate<T>(c, {filter, channels, 0, 0, channels}, input, output);
  }
  correlate_packed<T>(
      c,
      [&](std::int64_t tap, std::int64_t first, std::int64_t count, T* to) {
        for (std::int64_t i = 0; i < shape.in_channels; ++i, to += kPanel<T>) {
          const T* from = filter + (tap * shape.in_channels + i) * channels + first;
          std::fill(std::copy(from, from + count, to), to + kPanel<T>, T(0));
        }
      },
      input, output);
}

template <class T>
void backward_input(const Conv2DShape& shape, const T* output_gradient, const T* filter, T* input_gradient) {
  if (shape.batch * shape.in_height * shape.in_width * shape.in_channels == 0) return;
  const Correlation c = Correlation::backward(shape);
  if (is_narrow(c)) {
    const auto element = [&](std::int64_t tap, std::int64_t k, std::int64_t n) {
      return filter[(tap * shape.in_channels + n) * shape.out_channels + k];
    };
    return correlate_narrow<T>(c, element, output_gradient, input_gradient);
  }
  correlate_packed<T>(
      c,
      [&](std::int64_t tap, std::int64_t first, std::int64_t count, T* to) {
        const T* from = filter + (tap * shape.in_channels + first) * shape.out_channels;
        // Blocks of the transpose keep the strided side of the copy in cache.
        for (std::int64_t block = 0; block < shape.out_channels; block += 16) {
          const std::int64_t end = std::min(shape.out_channels, block + 16);
          for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t o = block; o < end; ++o) {
              to[o * kPanel<T> + i] = from[i * shape.out_channels + o];
            }
          }
          for (std::int64_t o = block; o < end; ++o) {
            std::fill(to + o * kPanel<T> + count, to + (o + 1) * kPanel<T>, T(0));
          }
        }
      },
      output_gradient, input_gradient);
}

}  // namespace

void conv2d_kernels_of(Conv2DKernels<float>* kernels) {
  kernels->forward = &forward<float>;
  kernels->backward_input = &backward_input<float>;
}
void conv2d_kernels_of(Conv2DKernels<double>* kernels) {
  kernels->forward = &forward<double>;
  kernels->backward_input = &backward_input<double>;
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

template <class T>
Conv2DKernels<T> kernels_of(int instruction_set) {
  using Fill = void (*)(Conv2DKernels<T>*);
  static constexpr Fill kTable[] = CAPSTAN_TARGET_TABLE(conv2d_kernels_of);
  Conv2DKernels<T> kernels{};
  kTable[instruction_set](&kernels);
  return kernels;
}

}  // namespace

template <>
Conv2DKernels<float> conv2d_kernels<float>(int instruction_set) {
  Conv2DKernels<float> kernels = kernels_of<float>(instruction_set);
  kernels.backward_filter = conv2d_filter_kernel_float(instruction_set);
  return kernels;
}

template <>
Conv2DKernels<double> conv2d_kernels<double>(int instruction_set) {
  Conv2DKernels<double> kernels = kernels_of<double>(instruction_set);
  kernels.backward_filter = conv2d_filter_kernel_double(instruction_set);
  return kernels;
}

}  // namespace capstan
#endif  // HWY_ONCE
