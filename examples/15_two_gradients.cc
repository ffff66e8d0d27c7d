// Two gradients of one tape: an error, unless the tape is persistent; and gradients in the middle of a recording.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  examples::Transcript out;
  const Variable a(6.0);
  const Variable b(2.0);
  {
    GradientTape tape;
    const Tensor y1 = pow(a, 2);
    const Tensor y2 = pow(b, 3);
    out.print("%.1f", tape.gradient(y1, a).item<double>());
    try {
      out.print("%.1f", tape.gradient(y2, b).item<double>());
    } catch (const GradientError&) {
      out.print("GradientError");
    }
  }
  {
    GradientTape tape({.persistent = true});
    const Tensor y1 = pow(a, 2);
    const Tensor y2 = pow(b, 3);
    out.print("%.1f", tape.gradient(y1, a).item<double>());
    out.print("%.1f", tape.gradient(y2, b).item<double>());
  }
  {
    GradientTape tape({.persistent = true});
    const Tensor y1 = pow(a, 2);
    {
      const auto pause = tape.stop_recording();
      out.print("%.1f", tape.gradient(y1, a).item<double>());
    }
    const Tensor y2 = pow(b, 3);
    {
      const auto pause = tape.stop_recording();
      out.print("%.1f", tape.gradient(y2, b).item<double>());
    }
  }
  return out.finish({{"12.0"}, {"GradientError"}, {"12.0"}, {"12.0"}, {"12.0"}, {"12.0"}});
}
