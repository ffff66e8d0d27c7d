#include "src/ops/expansion.h"

namespace capstan {

Expand expansion_of(const OpDef& op) {
  for (const std::span<const Expansion> family : {batch_norm_expansions(), creation_expansions()}) {
    for (const Expansion& expansion : family) {
      if (expansion.op == &op) return expansion.expand;
    }
  }
  return nullptr;
}

}  // namespace capstan
