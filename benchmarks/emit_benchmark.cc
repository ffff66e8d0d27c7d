// Machine code for fused loops against the library's own loops, one op after the other, on memory that is there.
//
// The chain is tanh, exp, relu and their derivatives, with the sum and the gradient as its results.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "src/core/op_def.h"
#include "src/emit/fused_loop.h"
#include "src/ops/registry.h"

namespace {

using namespace capstan;

const OpDef& op(const char* name) { return *find_op(name); }

FusedLoop chain(DType dtype) {
  FusedLoop loop;
  loop.dtype = dtype;
  loop.inputs = {{FusedLoop::Access::kFull}, {FusedLoop::Access::kScalar}};
  loop.nodes = {{&op("tanh").formula->forward, {0}},
                {&op("exp").formula->forward, {2}},
                {&op("relu").formula->forward, {3}},
                {&op("relu").formula->vjp[0], {1, 3, -1, -1, 4}},
                {&op("exp").formula->vjp[0], {5, 2, -1, -1, 3}},
                {&op("tanh").formula->vjp[0], {6, 0, -1, -1, 2}}};
  loop.outputs = {{4, FusedLoop::Store::kSum}, {7, FusedLoop::Store::kFull}};
  return loop;
}

template <class T>
void ChainEmitted(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const FusedKernel kernel = emit_fused_loop(chain(sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64));
  if (kernel == nullptr) return state.SkipWithError("there is no machine code for this processor");
  const std::vector<T> x(n, T(0.3));
  const T g = 1;
  std::vector<T> dx(n);
  T sums[16];
  const void* inputs[] = {x.data(), &g};
  void* outputs[] = {sums, dx.data()};
  for (auto _ : state) {
    kernel({inputs, outputs, 1, state.range(0)});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ChainEmitted<float>)->Arg(1)->Arg(1024)->Arg(102400);
BENCHMARK(ChainEmitted<double>)->Arg(1)->Arg(1024)->Arg(102400);

// The same by the loops of the ops; the sum is left out.
template <class T>
void ChainInOps(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto dtype = static_cast<std::size_t>(sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64);
  const auto table = [](const char* name) -> const LoopTable& { return *op(name).loops[instruction_set()]; };
  const LoopTable &tanh = table("tanh"), &exp = table("exp"), &relu = table("relu");
  const T g = 1;
  const std::vector<T> x(n, T(0.3));
  std::vector<T> t(n), e(n), r(n), d(n);
  for (auto _ : state) {
    tanh.forward[dtype]({t.data(), {x.data()}, state.range(0), nullptr, 0, false});
    exp.forward[dtype]({e.data(), {t.data()}, state.range(0), nullptr, 0, false});
    relu.forward[dtype]({r.data(), {e.data()}, state.range(0), nullptr, 0, false});
    relu.vjp[0][dtype]({d.data(), {&g, e.data(), nullptr, nullptr, r.data()}, state.range(0), nullptr, 1, false});
    exp.vjp[0][dtype]({d.data(), {d.data(), t.data(), nullptr, nullptr, e.data()}, state.range(0), nullptr, 0, false});
    tanh.vjp[0][dtype]({d.data(), {d.data(), x.data(), nullptr, nullptr, t.data()}, state.range(0), nullptr, 0, false});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ChainInOps<float>)->Arg(1)->Arg(1024)->Arg(102400);
BENCHMARK(ChainInOps<double>)->Arg(1)->Arg(1024)->Arg(102400);

// A new kernel of `nodes` formulas each time, until the limit of code memory; then the time until it is refused.
void EmitKernel(benchmark::State& state) {
  FusedLoop loop;
  loop.dtype = DType::kFloat32;
  loop.inputs = {{FusedLoop::Access::kFull}};
  const char* const names[] = {"add", "multiply", "tanh", "maximum", "subtract"};
  for (int i = 0; i < state.range(0); ++i) loop.nodes.push_back({&op(names[i % 5]).formula->forward, {i, 0}});
  loop.outputs = {{static_cast<std::int32_t>(state.range(0)), FusedLoop::Store::kFull}};
  for (auto _ : state) {
    loop.nodes[0].parameters[4] += 1;
    benchmark::DoNotOptimize(emit_fused_loop(loop));
  }
}
BENCHMARK(EmitKernel)->Arg(1)->Arg(10)->Arg(100)->Iterations(200);

}  // namespace
