// Convolution: the forward pass and the gradient with respect to the image.
//
// Direct, on the layouts as they are. An inner tile holds a block of outputs in registers, up to 28
// vectors: some neighbouring pixels of one row times up to four vectors of output channels. It
// walks over the taps and the source channels and does one multiply-add per register and step, with
// one broadcast load per pixel. Nothing is gained by gathering patches into a matrix first: it
// would write kernel_height * kernel_width times the image's memory to save nothing in the inner
// loop. Winograd's transform needs fewer multiplications on 3x3 kernels, but loses digits.
//
// The source is read where it lies. What lies beside it is not multiplied: rows above and below are
// skipped, and at the ends of a row a tile leaves out the one pixel for which a tap reads beside the image, which on
// images of 7 x 7 is a tenth of the work. Only where taps reach further is the source copied,
// band by band, into a padded block in scratch memory, with zero columns left and right; and few channels, so that the
// taps of a kernel row become one. In a copy, strides become phases (see conv2d_plan.h).
//
// Each output element is one sum in one order, whatever tile computes it; so tiles may overlap to
// fill a row exactly, and results do not depend on the number of threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/conv/conv2d.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "src/core/thread_pool.h"
#include "src/kernels/ahead.h"
#include "src/kernels/conv/conv2d.h"
#include "src/kernels/conv/conv2d_copy-inl.h"
#include "src/kernels/conv/conv2d_plan.h"
#include "src/kernels/conv/conv2d_tiles-inl.h"
#include "src/kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Where the tiles read the source: in the image itself, or in a copied band, which is
// [channel block][row][phase][position][width].
struct Source {
  bool in_place;
  std::int64_t width;       // channels of a block: 16, or all if they are few
  std::ptrdiff_t distance;  // from a pixel to the one that the next output pixel reads
  std::ptrdiff_t row;       // from a row to the next
  std::ptrdiff_t block;     // from a block of channels to the next

  // `band_rows` is how many rows a band has.
  Source(const Correlation& c, bool reads_in_place, std::int64_t band_rows) : in_place(reads_in_place) {
    width = is_few(c) ? c.source_channels : kChannelBlock;
    distance = in_place ? c.source_phases * c.source_channels : width;
    row = in_place ? c.source_columns * c.source_channels : c.row_pixels() * width;
    block = in_place ? kChannelBlock : band_rows * row;
  }
  std::ptrdiff_t at(const Correlation& c, std::int64_t position) const {
    return in_place ? c.column(position) * c.source_channels : position * width;
  }
  // Images of so few channels lie dense in their copy.
  static bool is_few(const Correlation& c) { return c.source_channels == 1 || c.source_channels == 3; }
};

// Copies source rows [first, last) of one image.
template <class T>
void copy_band(const Correlation& c, const Source& layout, const T* image, std::int64_t first, std::int64_t last,
               T* band) {
  const std::int64_t channels = c.source_channels;
  const RowLayout row{c.source_columns, channels, c.source_phases, c.positions, c.left};
  for (std::int64_t channel = 0; channel < channels; channel += layout.width, band += layout.block) {
    const std::int64_t width = std::min(layout.width, channels - channel);
    for (std::int64_t r = first; r < last; ++r) {
      copy_row(row, image + r * c.source_columns * channels + channel, width, layout.width,
               band + (r - first) * layout.row);
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

// Few channels and no phases: the taps of a kernel row are contiguous in a dense copy and in the matrices, so they can
// be one tap of many channels. Not if tile_of_threes does better.
template <class T>
bool merges_taps(const Correlation& c, const Matrices<T>& matrices) {
  const bool one_vector = matrices.channels <= static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  return Source::is_few(c) && !c.transposed && c.source_phases == 1 && !(c.has_threes() && one_vector);
}

// What all bands of a call have in common.
template <class T>
struct Job {
  const Correlation& correlation;
  const Matrices<T>& matrices;
  const Source& layout;
  bool merged;  // see merges_taps
  // The taps of a row residue and a phase, see Correlation::RowSteps; source offsets from row
  // `base`.
  std::vector<TapOffset> taps;
  std::vector<std::ptrdiff_t> first_tap;  // [residue, phase]
  // The tiles for one, two and four vectors. The columns of two phases differ by one at most.
  TileChoice<T> choices[2][3];
};

template <class T>
Job<T> make_job(const Correlation& c, const Matrices<T>& matrices, const Source& layout) {
  Job<T> job{c, matrices, layout, false, {}, {}, {}};
  job.merged = merges_taps(c, matrices);
  const std::int64_t tap_rows = matrices.narrow ? whole_blocks(c) : c.source_channels;
  const std::int64_t tap_elements = tap_rows * matrices.stride;
  for (std::int64_t residue = 0; residue < c.residues(); ++residue) {
    for (const Correlation::Phase& phase : c.phases) {
      job.first_tap.push_back(job.taps.size());
      for (std::int64_t j = 0; j < c.steps(residue); ++j) {
        const std::int64_t k = residue + j * c.k_step();
        for (const Correlation::ColumnTap& tap : phase.taps) {
          const int outside = job.merged ? 0
                                         : (c.is_inside(tap.position) ? 0 : kFirst) |
                                               (c.is_inside(tap.position + phase.columns - 1) ? 0 : kLast);
          job.taps.push_back({c.direction() * j * layout.row + layout.at(c, tap.position),
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
                                                    : choose_tile<T>(columns, vectors, c.has_threes() && !job.merged);
    }
  }
  return job;
}

// Output rows [begin, end) of one image, from a band of source rows that starts at row `first`. Each row fetches a
// share of what is ahead.
template <class T>
void correlate_band(const Job<T>& job, const T* band, std::int64_t first, std::int64_t begin, std::int64_t end,
                    T* image, Ahead& ahead) {
  constexpr int kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const Correlation& c = job.correlation;
  const Matrices<T>& matrices = job.matrices;
  const std::int64_t channels = c.source_channels;
  const std::int64_t phases = c.phases.size();
  Row row;
  row.matrix_stride = matrices.stride;
  row.block_stride = job.layout.block;
  for (int i = 0; i < 4; ++i) {
    row.distances[i] = (2 * i + 1) * job.layout.distance * static_cast<std::ptrdiff_t>(sizeof(T));
  }
  row.channel_blocks = job.merged ? 1 : (channels + kChannelBlock - 1) / kChannelBlock;
  row.tail = job.merged ? channels * c.kernel_columns : channels - (row.channel_blocks - 1) * kChannelBlock;
  alignas(64) T edge[kMaxPixels * kMaxVectors * kLanes];
  for (std::int64_t o = begin; o < end; ++o) {
    ahead.fetch();
    const Correlation::RowSteps steps = c.row_steps(o);
    const T* base = band + (steps.base - first) * job.layout.row;
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
          const T* source = base + p * job.layout.distance;
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

// Whether the tiles can read the image where it is: a tap reads beside it for no more than one end of a row.
template <class T>
bool reads_in_place(const Correlation& c, const Matrices<T>& matrices) {
  if (matrices.narrow || merges_taps(c, matrices)) {
    return (Source::is_few(c) || c.source_channels == kChannelBlock) && c.source_phases == 1 && c.left == 0 &&
           c.positions == c.source_columns;
  }
  // Pixels that lie so would share one set of the first-level cache.
  constexpr std::int64_t kAlias = 4096 / sizeof(T);
  if (c.source_phases * c.source_channels % kAlias == 0) return false;
  for (const Correlation::Phase& phase : c.phases) {
    for (const Correlation::ColumnTap& tap : phase.taps) {
      const std::int64_t last = tap.position + phase.columns - 1;
      const bool one_end = c.is_inside(tap.position) || c.is_inside(last);
      const bool rest = c.is_inside(tap.position + 1) && c.is_inside(last - 1);
      if (!one_end || (phase.columns > 2 && !rest)) return false;
    }
  }
  return true;
}

template <class T>
void correlate(const Correlation& c, const Matrices<T>& matrices, const T* source, T* out, const Execution& execution) {
  const std::int64_t image_elements = c.source_rows * c.source_columns * c.source_channels;
  const std::int64_t out_elements = c.out_rows * c.out_columns * c.out_channels;
  // An empty image may have no address to reckon from.
  static constexpr T kNothing{};
  if (image_elements == 0) source = &kNothing;

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
  const std::int64_t pixel_elements = Source::is_few(c) ? c.source_channels : whole_blocks(c);
  while (rows > 1 && band_rows(rows) * c.row_pixels() * pixel_elements > kBandElements) rows = (rows + 1) / 2;
  while (rows > 4 && c.batch * ((c.out_rows + rows - 1) / rows) < 8) rows = (rows + 1) / 2;
  const std::int64_t bands = (c.out_rows + rows - 1) / rows;
  const std::int64_t band_elements = band_rows(rows) * c.row_pixels() * pixel_elements;

  const Source layout(c, reads_in_place(c, matrices), band_rows(rows));
  const Job<T> job = make_job<T>(c, matrices, layout);
  const bool finishes = matrices.first_channel + matrices.channels == c.out_channels;
  const Epilogue* const epilogue = finishes ? execution.take_epilogue(out, c.batch * out_elements) : nullptr;

  // There are 16 tasks or so, each of a hundred thousand multiply-adds or more, so that handing
  // them out costs little.
  const double work = 1.0 * rows * c.out_columns * matrices.channels * c.source_channels * c.kernel_rows *
                      c.kernel_columns / (c.transposed ? c.stride_rows * c.column_step : 1);
  const std::int64_t parts = c.batch * bands;
  const std::int64_t per_task =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(1e5 / std::max(work, 1.0)), (parts + 15) / 16, parts);
  parallel_for((parts + per_task - 1) / per_task, [&](std::int64_t task) {
    Scratch scratch(ScratchSlot::kTask, layout.in_place ? 0 : band_elements * sizeof(T));
    T* const copy = scratch.as<T>();
    if (!layout.in_place) std::fill(copy, copy + band_elements, T(0));
    for (std::int64_t part = task * per_task; part < std::min(parts, (task + 1) * per_task); ++part) {
      const std::int64_t image = part / bands;
      const std::int64_t begin = part % bands * rows, end = std::min(c.out_rows, begin + rows);
      std::int64_t first, last;
      c.source_range(begin, end, &first, &last);
      const T* band = copy;
      if (layout.in_place) {
        band = source + image * image_elements + first * layout.row;
      } else {
        copy_band(c, layout, source + image * image_elements, first, last, copy);
      }
      const Correlation::Part next = c.source_of(part + 1, bands, rows);
      Ahead ahead(source + next.first, next.elements, end - begin);
      const std::int64_t line = c.out_columns * c.out_channels;
      // An epilogue finds what it reads in the first-level cache.
      const std::int64_t piece = epilogue == nullptr ? rows : std::max<std::int64_t>(kPieceElements / line, 1);
      for (std::int64_t row = begin; row < end; row += piece) {
        const std::int64_t stop = std::min(end, row + piece);
        correlate_band(job, band, first, row, stop, out + image * out_elements, ahead);
        if (epilogue != nullptr) {
          (*epilogue)(image * out_elements + row * line, image * out_elements + stop * line);
        }
      }
    }
  });
}

// Calls correlate for groups of panels of about a megabyte. pack(tap, first, count, to, stride) writes the
// matrix of a tap and of up to `stride` output channels; rows are `stride` apart.
template <class T, class Pack>
void correlate_packed(const Correlation& c, const Pack& pack, const T* source, T* out, const Execution& execution) {
  const std::int64_t taps = c.kernel_rows * c.kernel_columns;
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  // Rows of few channels lie dense, or they would share a part of the first-level cache.
  const std::int64_t stride = std::min(kPanel<T>, (c.out_channels + kLanes - 1) / kLanes * kLanes);
  const std::int64_t panel_elements = taps * c.source_channels * stride;
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
           scratch.as<T>() + panel * panel_elements + tap * c.source_channels * stride, stride);
    };
    if (count * panel_elements < 16384) {
      for (std::int64_t i = 0; i < count * taps; ++i) pack_tap(i);
    } else {
      parallel_for(count * taps, pack_tap);
    }
    const std::int64_t first = begin * kPanel<T>;
    const std::int64_t channels = std::min(count * kPanel<T>, c.out_channels - first);
    correlate<T>(c, {scratch.as<T>(), stride, panel_elements, first, channels}, source, out, execution);
  }
}

// Calls correlate for few output channels; element(tap, source channel, output channel) is a
// matrix's.
template <class T, class Element>
void correlate_narrow(const Correlation& c, const Element& element, const T* source, T* out,
                      const Execution& execution) {
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
  correlate<T>(c, {scratch.as<T>(), channels, 0, 0, channels, true}, source, out, execution);
}

// Few output channels leave lanes empty, few source channels would as well.
inline bool is_narrow(const Correlation& c) { return c.out_channels <= kNarrow && c.source_channels > kNarrow; }

template <class T>
void forward(const Conv2DShape& shape, const T* input, const T* filter, T* output, const Execution& execution) {
  if (shape.batch * shape.out_height * shape.out_width * shape.out_channels == 0) return;
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const Correlation c = Correlation::forward(shape);
  const std::int64_t channels = shape.out_channels;
  if (is_narrow(c)) {
    const auto element = [&](std::int64_t tap, std::int64_t k, std::int64_t n) {
      return filter[(tap * shape.in_channels + k) * channels + n];
    };
    return correlate_narrow<T>(c, element, input, output, execution);
  }
  if (channels % kLanes == 0 && channels <= kPanel<T>) {
    return correlate<T>(c, {filter, channels, 0, 0, channels}, input, output, execution);
  }
  correlate_packed<T>(
      c,
      [&](std::int64_t tap, std::int64_t first, std::int64_t count, T* to, std::int64_t stride) {
        for (std::int64_t i = 0; i < shape.in_channels; ++i, to += stride) {
          const T* from = filter + (tap * shape.in_channels + i) * channels + first;
          std::fill(std::copy(from, from + count, to), to + stride, T(0));
        }
      },
      input, output, execution);
}

template <class T>
void backward_input(const Conv2DShape& shape, const T* output_gradient, const T* filter, T* input_gradient,
                    const Execution& execution) {
  if (shape.batch * shape.in_height * shape.in_width * shape.in_channels == 0) return;
  const Correlation c = Correlation::backward(shape);
  if (is_narrow(c)) {
    const auto element = [&](std::int64_t tap, std::int64_t k, std::int64_t n) {
      return filter[(tap * shape.in_channels + n) * shape.out_channels + k];
    };
    return correlate_narrow<T>(c, element, output_gradient, input_gradient, execution);
  }
  correlate_packed<T>(
      c,
      [&](std::int64_t tap, std::int64_t first, std::int64_t count, T* to, std::int64_t stride) {
        const T* from = filter + (tap * shape.in_channels + first) * shape.out_channels;
        // Blocks of the transpose keep the strided side of the copy in cache.
        for (std::int64_t block = 0; block < shape.out_channels; block += 16) {
          const std::int64_t end = std::min(shape.out_channels, block + 16);
          for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t o = block; o < end; ++o) {
              to[o * stride + i] = from[i * shape.out_channels + o];
            }
          }
          for (std::int64_t o = block; o < end; ++o) {
            std::fill(to + o * stride + count, to + (o + 1) * stride, T(0));
          }
        }
      },
      output_gradient, input_gradient, execution);
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
