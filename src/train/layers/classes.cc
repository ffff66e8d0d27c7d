#include "src/train/layers/classes.h"

#include "src/train/classes.h"

namespace capstan::detail {

std::vector<const ClassInfo*> layer_classes() {
  return {
      // core.h
      &dense_class(),
      // attention.h
      &attention_class(),
      &additive_attention_class(),
      &multi_head_attention_class(),
      &group_query_attention_class(),
  };
}

}  // namespace capstan::detail
