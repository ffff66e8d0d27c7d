// Where in the program the call under way was made, for errors that have to find it themselves.
#pragma once

#include <string>
#include <string_view>

namespace capstan {

// The calls outside of the library, nearest first, one per line: "file:line" where the program has debug information
// and libdw is installed, else "object(+0xaddress)", which addr2line reads. For the cold path of an error:
// milliseconds.
std::string call_site();

// This header, as the compiler calls it.
inline constexpr std::string_view kCallSiteHeader = __FILE__;

}  // namespace capstan
