// What a pickle says, without doing it.
//
// A pickle is a program for a stack machine that can import any name and call it. This reader runs the part of the
// machine that puts plain values together: numbers, texts, bytes, lists, tuples and dictionaries. A name that is
// imported stays a name; a call of it stays a note, with its arguments. What they mean, the reader of the format
// decides, for the few that it knows. So nothing that a file says is done, whatever it says.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/io/byte_source.h"

namespace capstan::io {

/// A value of a pickle. Others are referred to by their number in Pickle::values: they may be shared, and may lead back
/// to themselves.
struct PickleValue {
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kText,
    kBytes,  // text: the bytes; also a text of Python 2
    kList,
    kTuple,
    kMap,     // items: key, value, key, value, ...
    kName,    // text: "module name"
    kCall,    // items: what is called, the tuple of its arguments
    kOutside  // items: the name, in the file's own sense, of something that is elsewhere
  };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  // also 0 or 1 of a truth value
  double number = 0;
  std::string text = {};
  std::vector<std::size_t> items = {};
  std::optional<std::size_t> state = {};  // of what a call gave
};

struct Pickle {
  std::vector<PickleValue> values;
  std::size_t result = 0;
};

/// Reads a pickle of protocol 2 to 5. Throws IoError, in the name of `source`, for one that is damaged and for what is
/// no plain value: objects that are made without a call, sets, states of objects that no call gave.
///
/// Integers that are small are kept once, however often they occur: a list of numbers of words takes sixteen bytes of
/// memory for each.
Pickle parse_pickle(const ByteSource& source, std::span<const std::byte> bytes);

}  // namespace capstan::io
