// FarmHash's Fingerprint64 and SipHash-2-4.
//
// Both are fixed for good by what has been stored with them: a bin of Keras's Hashing layer is one of these numbers
// modulo the number of bins. Sources: github.com/google/farmhash, whose Fingerprint64 is its Hash64 of 2014;
// Aumasson and Bernstein, "SipHash: a fast short-input PRF". The tests have values of TensorFlow for texts of all
// lengths at which the functions change their ways.
//
// Debian has libraries of both, libfarmhash and libhighwayhash. They are compiled libraries, which every program that
// uses Capstan would have to link, while all that the core takes from others are headers that are compiled into it.
// That is too much for a hundred lines that never change.
#include "src/train/fingerprint.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

namespace capstan::detail {

namespace {

constexpr std::uint64_t k0 = 0xc3a5c85c97cb3127u, k1 = 0xb492b66fbe98f273u, k2 = 0x9ae16a3b2f90404fu;

// Little-endian, whatever the machine.
template <class T>
T read(const char* from) {
  std::array<unsigned char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, bytes.size());
  T value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = static_cast<T>(value << 8 | bytes[i - 1]);
  return value;
}
template <>
std::uint64_t read<std::uint64_t>(const char* from) {
  return std::uint64_t{read<std::uint32_t>(from)} | std::uint64_t{read<std::uint32_t>(from + 4)} << 32;
}
std::uint64_t word(const char* from) { return read<std::uint64_t>(from); }
std::uint64_t half(const char* from) { return read<std::uint32_t>(from); }

std::uint64_t mixed(std::uint64_t value) { return value ^ value >> 47; }

std::uint64_t joined(std::uint64_t u, std::uint64_t v, std::uint64_t factor) {
  const std::uint64_t a = mixed((u ^ v) * factor);
  return mixed((v ^ a) * factor) * factor;
}

std::uint64_t of_16(const char* s, std::size_t size) {
  const std::uint64_t factor = k2 + size * 2;
  if (size >= 8) {
    const std::uint64_t a = word(s) + k2, b = word(s + size - 8);
    const std::uint64_t c = std::rotr(b, 37) * factor + a, d = (std::rotr(a, 25) + b) * factor;
    return joined(c, d, factor);
  }
  if (size >= 4) return joined(size + (half(s) << 3), half(s + size - 4), factor);
  if (size == 0) return k2;
  const auto at = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(s[i])}; };
  const std::uint32_t y = at(0) + (at(size >> 1) << 8), z = static_cast<std::uint32_t>(size) + (at(size - 1) << 2);
  return mixed(y * k2 ^ z * k0) * k2;
}

std::uint64_t of_32(const char* s, std::size_t size) {
  const std::uint64_t factor = k2 + size * 2;
  const std::uint64_t a = word(s) * k1, b = word(s + 8), c = word(s + size - 8) * factor, d = word(s + size - 16) * k2;
  return joined(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c, factor);
}

std::uint64_t of_64(const char* s, std::size_t size) {
  const std::uint64_t factor = k2 + size * 2;
  const std::uint64_t a = word(s) * k2, b = word(s + 8), c = word(s + size - 8) * factor, d = word(s + size - 16) * k2;
  const std::uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const std::uint64_t z = joined(y, a + std::rotr(b + k2, 18) + c, factor);
  const std::uint64_t e = word(s + 16) * factor, f = word(s + 24);
  const std::uint64_t g = (y + word(s + size - 32)) * factor, h = (z + word(s + size - 24)) * factor;
  return joined(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, factor);
}

using Pair = std::pair<std::uint64_t, std::uint64_t>;

Pair of_block(const char* s, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t w = word(s), x = word(s + 8), y = word(s + 16), z = word(s + 24);
  a += w;
  b = std::rotr(b + a + z, 21);
  const std::uint64_t c = a;
  a += x + y;
  b += std::rotr(a, 44);
  return {a + z, b + c};
}

struct State {
  std::uint64_t x, y, z;
  Pair v = {0, 0}, w = {0, 0};

  // The rounds differ in the last, which has another factor and weighs two of its terms.
  void take(const char* s, std::uint64_t factor, std::uint64_t weight) {
    x = std::rotr(x + y + v.first + word(s + 8), 37) * factor;
    y = std::rotr(y + v.second + word(s + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + word(s + 40);
    z = std::rotr(z + w.first, 33) * factor;
    v = of_block(s, v.second * factor, x + w.first);
    w = of_block(s + 32, z + w.second, y + word(s + 16));
    std::swap(z, x);
  }
};

std::uint64_t of_more(const char* s, std::size_t size) {
  constexpr std::uint64_t kSeed = 81;
  State state{kSeed * k2 + word(s), kSeed * k1 + 113, 0};
  state.z = mixed(state.y * k2 + 113) * k2;
  const std::size_t last = (size - 1) & 63, end = size - 1 - last;
  for (std::size_t i = 0; i < end; i += 64) state.take(s + i, k1, 1);
  const std::uint64_t factor = k1 + ((state.z & 0xff) << 1);
  state.w.first += last;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.take(s + size - 64, factor, 9);
  return joined(joined(state.v.first, state.w.first, factor) + mixed(state.y) * k0 + state.z,
                joined(state.v.second, state.w.second, factor) + state.x, factor);
}

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void take(std::uint64_t value) {
    v3 ^= value;
    rounds(2);
    v0 ^= value;
  }
};

}  // namespace

std::uint64_t fingerprint(std::string_view text) {
  const char* s = text.data();
  const std::size_t size = text.size();
  return size <= 16 ? of_16(s, size) : size <= 32 ? of_32(s, size) : size <= 64 ? of_64(s, size) : of_more(s, size);
}

std::uint64_t keyed_hash(std::string_view text, const std::array<std::uint64_t, 2>& key) {
  SipState state{key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                 key[1] ^ 0x7465646279746573u};
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) state.take(word(text.data() + i));
  std::uint64_t last = std::uint64_t{text.size()} << 56;
  for (std::size_t shift = 0; i < text.size(); ++i, shift += 8) {
    last |= std::uint64_t{static_cast<unsigned char>(text[i])} << shift;
  }
  state.take(last);
  state.v2 ^= 0xff;
  state.rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

// As TensorFlow joins the fingerprints of crossed features.
std::uint64_t joined_fingerprints(std::uint64_t first, std::uint64_t second) {
  constexpr std::uint64_t kFactor = 0xc6a4a7935bd1e995u;
  std::uint64_t result = first ^ kFactor;
  result ^= mixed(second * kFactor) * kFactor;
  result = mixed(result * kFactor) * kFactor;
  return mixed(result);
}

}  // namespace capstan::detail
