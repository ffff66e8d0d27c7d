// A tape that is not persistent serves one gradient() call; a second one is an error, never a wrong number.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  examples::Transcript out;
  const Variable x(3.0);
  GradientTape tape;
  const Tensor y = pow(x, 2);
  const Tensor grad1 = tape.gradient(y, x);
  out.print("First gradient: %.1f", grad1.item<double>());
  try {
    const Tensor grad2 = tape.gradient(y, x);
    out.print("Second gradient: %.1f", grad2.item<double>());
  } catch (const GradientError& error) {
    const std::string text = error.what();
    out.print("Error: %s", text.substr(0, text.find('\n')).c_str());
  }
  return out.finish({{"First gradient: 6.0"}, {"Error: gradient: this tape was already used"}});
}
