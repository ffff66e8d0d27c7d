// Hashes of texts: numbers that do not change between programs, machines and versions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace capstan::detail {

// FarmHash's Fingerprint64.
std::uint64_t fingerprint(std::string_view text);

// SipHash-2-4 with a key.
std::uint64_t keyed_hash(std::string_view text, const std::array<std::uint64_t, 2>& key);

// A fingerprint of two of them, in this order.
std::uint64_t joined_fingerprints(std::uint64_t first, std::uint64_t second);

}  // namespace capstan::detail
