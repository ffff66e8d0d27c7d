// The layers of the library, one row each.
#pragma once

#include <vector>

#include "capstan/config.h"

namespace capstan::detail {

// core.h
const ClassInfo& dense_class();

// attention.h
const ClassInfo& attention_class();
const ClassInfo& additive_attention_class();
const ClassInfo& multi_head_attention_class();
const ClassInfo& group_query_attention_class();

}  // namespace capstan::detail
