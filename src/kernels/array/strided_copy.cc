// Neighbouring axes along which both sides run on are merged first, so that most copies end as a
// few long runs. What is left has an innermost axis of one of four kinds: a run (memcpy), a repeat
// (fill), a step over the source, or a transpose (transpose_tiles.h).
#include "src/kernels/array/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "src/core/cpu.h"
#include "src/core/thread_pool.h"
#include "src/kernels/array/transpose_tiles.h"

namespace capstan {

namespace {

// Bytes per task; fixed, so that the split depends on the shape only.
constexpr std::int64_t kTaskBytes = 1 << 18;

// A transpose of more bytes than this would only push others out of the caches.
constexpr std::int64_t kStreamBytes = std::int64_t{8} << 20;

// An element of complex128.
struct Bytes16 {
  std::uint64_t part[2];
};

template <class T>
void copy_steps(T* to, const T* from, const CopyAxis& axis) {
  for (std::int64_t i = 0; i < axis.length; ++i) to[i * axis.to] = from[i * axis.from];
}

// The innermost axis.
template <class T>
void copy_run(std::byte* to, const std::byte* from, const CopyAxis& axis) {
  if (axis.to == 1 && axis.from == 1) {
    if (axis.length <= 8) {  // A call of memcpy costs more than this.
      for (std::int64_t i = 0; i < axis.length; ++i) reinterpret_cast<T*>(to)[i] = reinterpret_cast<const T*>(from)[i];
    } else {
      std::memcpy(to, from, static_cast<std::size_t>(axis.length) * sizeof(T));
    }
  } else if (axis.to == 1 && axis.from == 0) {
    std::fill_n(reinterpret_cast<T*>(to), axis.length, *reinterpret_cast<const T*>(from));
  } else {
    copy_steps(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), axis);
  }
}

struct Copy {
  CopyAxis axis[kMaxCopyAxes];
  int axes = 0;
  std::size_t size = 0;
};

using RunFunction = void (*)(std::byte*, const std::byte*, const CopyAxis&);

RunFunction run_function(std::size_t size) {
  return size == 1   ? &copy_run<std::uint8_t>
         : size == 2 ? &copy_run<std::uint16_t>
         : size == 4 ? &copy_run<std::uint32_t>
         : size == 8 ? &copy_run<std::uint64_t>
                     : &copy_run<Bytes16>;
}

// Positions [first, last) of the outermost `outer` axes; body(to, from) does the rest.
template <class Body>
void for_positions(const Copy& copy, int outer, std::byte* to, const std::byte* from, std::int64_t first,
                   std::int64_t last, const Body& body) {
  std::int64_t position[kMaxCopyAxes] = {};
  const auto size = static_cast<std::ptrdiff_t>(copy.size);
  std::ptrdiff_t to_offset = 0;
  std::ptrdiff_t from_offset = 0;
  std::int64_t rest = first;
  for (int i = outer - 1; i >= 0; --i) {
    position[i] = rest % copy.axis[i].length;
    rest /= copy.axis[i].length;
    to_offset += position[i] * copy.axis[i].to;
    from_offset += position[i] * copy.axis[i].from;
  }
  for (std::int64_t n = first; n < last; ++n) {
    body(to + to_offset * size, from + from_offset * size);
    for (int i = outer - 1; i >= 0; --i) {
      to_offset += copy.axis[i].to;
      from_offset += copy.axis[i].from;
      if (++position[i] < copy.axis[i].length) break;
      to_offset -= position[i] * copy.axis[i].to;
      from_offset -= position[i] * copy.axis[i].from;
      position[i] = 0;
    }
  }
}

// Merges neighbours and drops axes of length 1; false if nothing is to be copied.
bool merge(std::span<const CopyAxis> axes, Copy& copy) {
  for (const CopyAxis& next : axes) {
    if (next.length == 0) return false;
    if (next.length == 1) continue;
    if (copy.axes > 0) {
      CopyAxis& last = copy.axis[copy.axes - 1];
      if (last.to == next.to * next.length && last.from == next.from * next.length) {
        last = {last.length * next.length, next.to, next.from};
        continue;
      }
    }
    copy.axis[copy.axes++] = next;
  }
  if (copy.axes == 0) copy.axis[copy.axes++] = {1, 1, 1};
  return true;
}

}  // namespace

void strided_copy(void* to, const void* from, std::span<const CopyAxis> axes, std::size_t size) {
  Copy copy;
  copy.size = size;
  if (!merge(axes, copy)) return;
  auto* to_bytes = static_cast<std::byte*>(to);
  const auto* from_bytes = static_cast<const std::byte*>(from);
  const CopyAxis inner = copy.axis[copy.axes - 1];

  // A transpose: some outer axis is the one along which the source runs. It is brought next to the
  // innermost.
  if (copy.axes >= 2 && inner.to == 1 && inner.from != 1 && inner.from != 0) {
    for (int i = copy.axes - 2; i >= 0; --i) {
      if (copy.axis[i].from != 1) continue;
      std::rotate(copy.axis + i, copy.axis + i + 1, copy.axis + copy.axes - 1);
      const CopyAxis outer = copy.axis[copy.axes - 2];
      const TransposeFunction turn = transpose_function(size, instruction_set());
      // A task takes one band of the source's rows at one position of the axes outside.
      std::int64_t positions = 1;
      for (int k = 0; k < copy.axes - 2; ++k) positions *= copy.axis[k].length;
      const auto bytes = static_cast<std::int64_t>(size);
      const std::int64_t row_bytes = outer.length * bytes;
      const std::int64_t band = std::max(kTransposeTile, kTaskBytes / row_bytes / kTransposeTile * kTransposeTile);
      const std::int64_t bands = (inner.length + band - 1) / band;
      const std::int64_t together = bands > 1 ? 1 : std::max<std::int64_t>(1, kTaskBytes / (row_bytes * inner.length));
      const std::int64_t groups = (positions + together - 1) / together;
      const bool stream = positions > kStreamBytes / row_bytes / inner.length;
      parallel_for(groups * bands, [&](std::int64_t task) {
        const std::int64_t first = task % bands * band;
        const std::int64_t group = task / bands;
        const TransposeBlock block = {outer.length, std::min(band, inner.length - first), outer.to, inner.from};
        for_positions(copy, copy.axes - 2, to_bytes, from_bytes, group * together,
                      std::min(positions, (group + 1) * together), [&](std::byte* t, const std::byte* f) {
                        turn(t + first * bytes, f + first * inner.from * bytes, block, stream);
                      });
      });
      return;
    }
  }

  const RunFunction run = run_function(size);
  if (copy.axes == 1) {
    const std::int64_t chunk = kTaskBytes / static_cast<std::int64_t>(size);
    const std::int64_t tasks = (inner.length + chunk - 1) / chunk;
    if (tasks == 1) {
      run(to_bytes, from_bytes, inner);
      return;
    }
    parallel_for(tasks, [&](std::int64_t task) {
      const std::ptrdiff_t begin = task * chunk;
      run(to_bytes + begin * inner.to * static_cast<std::ptrdiff_t>(size),
          from_bytes + begin * inner.from * static_cast<std::ptrdiff_t>(size),
          {std::min(chunk, inner.length - begin), inner.to, inner.from});
    });
    return;
  }
  std::int64_t positions = 1;
  for (int k = 0; k < copy.axes - 1; ++k) positions *= copy.axis[k].length;
  const std::int64_t together =
      std::max<std::int64_t>(1, kTaskBytes / (inner.length * static_cast<std::int64_t>(size)));
  const std::int64_t tasks = (positions + together - 1) / together;
  const auto copy_positions = [&](std::int64_t task) {
    for_positions(copy, copy.axes - 1, to_bytes, from_bytes, task * together,
                  std::min(positions, (task + 1) * together),
                  [&](std::byte* t, const std::byte* f) { run(t, f, inner); });
  };
  if (tasks == 1) {
    copy_positions(0);
  } else {
    parallel_for(tasks, copy_positions);
  }
}

void fill_elements(void* to, const void* element, std::int64_t count, std::size_t size) {
  const CopyAxis axis{count, 1, 0};
  strided_copy(to, element, std::span(&axis, 1), size);
}

}  // namespace capstan
