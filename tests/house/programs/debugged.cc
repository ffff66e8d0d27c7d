// What gdb_test.sh looks at.
#include <capstan/capstan.h>

#include <complex>

extern "C" [[gnu::noinline]] void stop_here() { asm volatile(""); }

int main() {
  using namespace capstan;
  const Tensor x = constant({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.5}});
  const Tensor large = cast(range(100), int64);
  const Tensor nothing;
  const Tensor truths = constant({true, false});
  const Tensor half = constant(0.5, bfloat16);
  const Tensor z = constant(std::complex<float>(1, -2));
  const Variable v({0.25, -3.0}, {.name = "kernel", .dtype = float64});
  const Shape shape{32, 784};
  const DType type = int32;
  const Variable table(zeros({3, 2}));
  GradientTape tape;
  const Tensor row_sparse = tape.gradient(reduce_sum(gather(table, constant({1}))), table);
  stop_here();
  return static_cast<int>(large.size() + shape.rank() + static_cast<int>(type) + v.size()) == 0 ? 1 : 0;
}
