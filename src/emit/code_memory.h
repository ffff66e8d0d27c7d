// Memory for machine code.
//
// Pages are written first and made executable after; no page is ever both. They come from arenas of many pages and are
// never given back, because a kernel lives as long as the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace capstan::emit {

// The code where it can be called, or null if the system refuses, or if all code together would pass the limit.
// Code knows no address of its own. Safe on many threads.
const std::uint8_t* place_code(std::span<const std::uint8_t> code);

// What all code may take, in bytes: a program that makes new loops for ever runs the library's own at some point.
inline constexpr std::size_t kCodeLimit = std::size_t{64} << 20;

// For tests: the system refuses executable memory.
void refuse_code_memory(bool refuse);

}  // namespace capstan::emit
