// Numbers become unsigned keys of the same order, and keys are sorted byte by byte.
//
// A radix sort reads every key once per byte and never compares, so a million floats take a tenth of what a
// comparison sort needs; it is stable by itself. Bytes in which all keys agree are skipped. Short rows, where
// counting bytes costs more than comparing, go to std::sort with the position as the second criterion, which gives
// the same order.
#include "src/kernels/sort/sort.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include "src/core/thread_pool.h"
#include "src/kernels/scratch.h"
#include "src/kernels/with_type.h"

namespace capstan {

namespace {

// Rows shorter than this are compared.
constexpr std::int64_t kShort = 256;

// Elements per task; fixed, so that the split depends on the shape only.
constexpr std::int64_t kTaskElements = 1 << 15;

template <std::size_t kBytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Type = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using Type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using Type = std::uint64_t;
};
template <class T>
using KeyOf = typename UnsignedOf<sizeof(T)>::Type;

template <class K>
inline constexpr K kSign = static_cast<K>(K{1} << (8 * sizeof(K) - 1));

// The key of an element. Zeros of either sign have one key if `merge_zeros`; else -0 comes before 0, so that the
// element can be had back from its key.
template <class T>
KeyOf<T> key_of(T x, bool merge_zeros) {
  using K = KeyOf<T>;
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, BFloat16>) {
    const K bits = std::bit_cast<K>(x);
    if (x != x) return std::numeric_limits<K>::max();
    if (merge_zeros && static_cast<K>(bits << 1) == 0) return kSign<K>;
    return (bits & kSign<K>) != 0 ? static_cast<K>(~bits) : static_cast<K>(bits | kSign<K>);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<K>(static_cast<K>(x) ^ kSign<K>);
  } else {
    return static_cast<K>(x);
  }
}

// The element that has a key (made without merging zeros).
template <class T>
T element_of(KeyOf<T> key) {
  using K = KeyOf<T>;
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, BFloat16>) {
    return std::bit_cast<T>((key & kSign<K>) != 0 ? static_cast<K>(key & ~kSign<K>) : static_cast<K>(~key));
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(static_cast<K>(key ^ kSign<K>));
  } else {
    return static_cast<T>(key);
  }
}

// A key with the position of its element.
template <class K>
struct Placed {
  K key;
  std::int32_t position;
};
template <class K>
K key_in(const K& key) {
  return key;
}
template <class K>
K key_in(const Placed<K>& placed) {
  return placed.key;
}
template <class K>
bool before(const Placed<K>& a, const Placed<K>& b) {
  return a.key != b.key ? a.key < b.key : a.position < b.position;
}
template <class K>
bool before(const K& a, const K& b) {
  return a < b;
}

// Sorts items[0..n) by their keys, stably; `other` is room for as many. Returns where the result lies.
template <class K, class Item>
Item* radix_sort(Item* items, Item* other, std::int64_t n) {
  std::int64_t counts[sizeof(K)][256] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    const K key = key_in(items[i]);
    for (unsigned byte = 0; byte < sizeof(K); ++byte) ++counts[byte][static_cast<std::uint8_t>(key >> (8 * byte))];
  }
  for (unsigned byte = 0; byte < sizeof(K); ++byte) {
    std::int64_t* count = counts[byte];
    const auto digit = [byte](const Item& item) { return static_cast<std::uint8_t>(key_in(item) >> (8 * byte)); };
    if (count[digit(items[0])] == n) continue;
    std::int64_t begin = 0;
    for (int d = 0; d < 256; ++d) begin += std::exchange(count[d], begin);
    for (std::int64_t i = 0; i < n; ++i) other[count[digit(items[i])]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

template <class K, class Item>
Item* sort_items(Item* items, Item* other, std::int64_t n) {
  if (n >= kShort) return radix_sort<K>(items, other, n);
  std::sort(items, items + n, [](const Item& a, const Item& b) { return before(a, b); });
  return items;
}

// Calls body(first element, scratch) for every row; the scratch holds two lists of n items.
template <class Item, class Body>
void for_rows(const AxisView& view, const Body& body) {
  const std::int64_t rows = view.outer * view.inner;
  if (rows == 0 || view.n == 0) return;
  const std::int64_t per_task = std::max<std::int64_t>(1, kTaskElements / view.n);
  const std::int64_t tasks = (rows + per_task - 1) / per_task;
  const auto run = [&](std::int64_t task) {
    const Scratch scratch(ScratchSlot::kTask, 2 * static_cast<std::size_t>(view.n) * sizeof(Item));
    auto* items = scratch.as<Item>();
    for (std::int64_t row = task * per_task; row < std::min(rows, (task + 1) * per_task); ++row) {
      body(row / view.inner * view.n * view.inner + row % view.inner, items, items + view.n);
    }
  };
  if (tasks == 1) {
    run(0);
  } else {
    parallel_for(tasks, run);
  }
}

}  // namespace

void sort_rows(DType dtype, const AxisView& view, bool descending, const void* in, void* out) {
  with_ordered_type(dtype, [&]<class T>(T) {
    using K = KeyOf<T>;
    const K flip = descending ? std::numeric_limits<K>::max() : K{0};
    for_rows<K>(view, [&](std::int64_t first, K* keys, K* other) {
      const T* from = static_cast<const T*>(in) + first;
      T* to = static_cast<T*>(out) + first;
      for (std::int64_t i = 0; i < view.n; ++i) keys[i] = static_cast<K>(key_of(from[i * view.inner], false) ^ flip);
      const K* sorted = sort_items<K>(keys, other, view.n);
      for (std::int64_t i = 0; i < view.n; ++i) to[i * view.inner] = element_of<T>(static_cast<K>(sorted[i] ^ flip));
    });
  });
}

void argsort_rows(DType dtype, const AxisView& view, bool descending, const void* in, std::int32_t* out) {
  with_ordered_type(dtype, [&]<class T>(T) {
    using K = KeyOf<T>;
    const K flip = descending ? std::numeric_limits<K>::max() : K{0};
    for_rows<Placed<K>>(view, [&](std::int64_t first, Placed<K>* items, Placed<K>* other) {
      const T* from = static_cast<const T*>(in) + first;
      for (std::int64_t i = 0; i < view.n; ++i) {
        items[i] = {static_cast<K>(key_of(from[i * view.inner], true) ^ flip), static_cast<std::int32_t>(i)};
      }
      const Placed<K>* sorted = sort_items<K>(items, other, view.n);
      for (std::int64_t i = 0; i < view.n; ++i) out[first + i * view.inner] = sorted[i].position;
    });
  });
}

void top_k_rows(DType dtype, std::int64_t rows, std::int64_t n, std::int64_t k, const void* in, void* values,
                std::int32_t* indices) {
  if (k == 0) return;
  with_ordered_type(dtype, [&]<class T>(T) {
    using K = KeyOf<T>;
    for_rows<Placed<K>>({rows, n, 1}, [&](std::int64_t first, Placed<K>* items, Placed<K>* other) {
      const T* from = static_cast<const T*>(in) + first;
      for (std::int64_t i = 0; i < n; ++i) {
        items[i] = {static_cast<K>(~key_of(from[i], true)), static_cast<std::int32_t>(i)};
      }
      const Placed<K>* sorted = items;
      const auto order = [](const Placed<K>& a, const Placed<K>& b) { return before(a, b); };
      if (k < n / 8) {  // few of many: they are found first, then sorted
        std::nth_element(items, items + k, items + n, order);
        std::sort(items, items + k, order);
      } else {
        sorted = sort_items<K>(items, other, n);
      }
      const std::int64_t to = first / n * k;
      for (std::int64_t i = 0; i < k; ++i) {
        static_cast<T*>(values)[to + i] = from[sorted[i].position];
        indices[to + i] = sorted[i].position;
      }
    });
  });
}

std::int32_t number_values(DType dtype, std::int64_t n, const void* x, const std::int32_t* order,
                           std::int32_t* numbers) {
  // The order is stable: the first appearance of a value is in front, so each run of equals first gets that position.
  with_ordered_type(dtype, [&]<class T>(T) {
    const auto* from = static_cast<const T*>(x);
    std::int32_t first = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const T value = from[order[i]];
      const T before = from[order[std::max<std::int64_t>(i - 1, 0)]];
      const bool same = i > 0 && (value == before || (value != value && before != before));
      if (!same) first = order[i];
      numbers[order[i]] = first;
    }
  });
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) numbers[i] = numbers[i] == i ? count++ : numbers[numbers[i]];
  return count;
}

void search_rows(DType dtype, std::int64_t rows, std::int64_t n, std::int64_t m, bool right, const void* sorted,
                 const void* values, std::int32_t* out) {
  with_ordered_type(dtype, [&]<class T>(T) {
    const std::int64_t total = rows * m;
    const std::int64_t tasks = (total + kTaskElements - 1) / kTaskElements;
    parallel_for(tasks, [&](std::int64_t task) {
      for (std::int64_t i = task * kTaskElements; i < std::min(total, (task + 1) * kTaskElements); ++i) {
        const T* row = static_cast<const T*>(sorted) + i / m * n;
        const auto key = key_of(static_cast<const T*>(values)[i], true);
        const T* place = std::partition_point(row, row + n, [&](T x) {
          const auto other = key_of(x, true);
          return right ? other <= key : other < key;
        });
        out[i] = static_cast<std::int32_t>(place - row);
      }
    });
  });
}

}  // namespace capstan
