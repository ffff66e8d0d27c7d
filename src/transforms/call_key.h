// What a call is traced for, as words (see detail::CallSignature): entry by entry, for people, and with lengths left
// open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/function.h"

namespace capstan {

using CallKey = std::vector<std::uint64_t>;

// Stands in a key for a length that is open.
inline constexpr std::uint64_t kOpenLength = ~std::uint64_t{0};

// The entries of a key in words, such as "float32[?, 3]". If names of tensors are given, they are after these.
std::vector<std::string> entries_of(const CallKey& key, const std::vector<std::string>& names = {});

// Why a call does not fit the trace before it.
std::string difference_of_calls(const CallKey& before, const CallKey& now);

// Where in a key the lengths of its tensors are; variables have none that could be open.
std::vector<std::size_t> lengths_of_tensors(const CallKey& key);

// The same, of those lengths that a signature leaves open. Throws ValueError, DTypeError or ShapeError if the tensors
// of the call are not those of the signature.
std::vector<std::size_t> open_lengths(const std::string& name, const std::vector<TensorSpec>& signature,
                                      const CallKey& key);

// A call whose open lengths are not part of what it is traced for.
struct OpenCall {
  CallKey kind;                       // with kOpenLength
  std::vector<std::int64_t> lengths;  // what is there
};

// Lengths of 0 and 1 stay what they are: such axes broadcast, and what is traced for them is right for them alone.
OpenCall open_call(const CallKey& key, const std::vector<std::size_t>& open);

// The same call with other open lengths; its tensors are stand-ins.
detail::CallSignature with_lengths(const detail::CallSignature& call, const std::vector<std::size_t>& open,
                                   const std::vector<std::int64_t>& lengths);

}  // namespace capstan
