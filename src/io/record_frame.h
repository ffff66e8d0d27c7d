#pragma once

#include <string>
#include <string_view>

namespace capstan::io {

/// A record as it lies in a file: its length, the data and their checksums.
std::string framed_record(std::string_view record);

}  // namespace capstan::io
