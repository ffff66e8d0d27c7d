#include "src/emit/fused_loop.h"

namespace capstan {

FusedKernel emit_fused_loop(const FusedLoop&) { return nullptr; }
FusedKernel emit_fused_loop(const FusedLoop&, int) { return nullptr; }
bool can_emit(const MicroCode&) { return true; }

}  // namespace capstan
