// Derivatives of functions: all but a check is in the header, since it is made of tapes and accumulators.
#include "capstan/derivatives.h"

#include "src/core/check.h"

namespace capstan {

// gradient() takes no weights at all for ones.
void detail::check_cotangents(const std::vector<Tensor>& cotangents, const Targets& outputs) {
  CAPSTAN_CHECK(cotangents.size() == outputs.list().size(), ValueError, "vjp: ", cotangents.size(), " cotangents for ",
                outputs.list().size(), " outputs");
}

}  // namespace capstan
