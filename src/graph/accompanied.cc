// Runs a kernel with its fused prologue, epilogue and row sums.
#include <optional>

#include "src/core/call_kernel.h"
#include "src/core/execution.h"
#include "src/core/op_for_programs.h"
#include "src/graph/program.h"
#include "src/graph/tables.h"
#include "src/kernels/row_sums.h"

namespace capstan {

namespace {

// What runs on the rows that a kernel has finished: a loop, then sums. Either may be null.
class Behind {
 public:
  Behind(const Tensor& result, const FusedGroup::Ranges* loop, const RowSums* sums)
      : loop_(loop), sums_(sums), epilogue_(result.raw_data(), result.size(), &run_range, this) {
    if (sums_ != nullptr) sums_->expect_rows();
  }

  Epilogue* epilogue() { return &epilogue_; }

  // When the kernel has returned.
  void finish() const {
    if (epilogue_.is_taken()) {
      if (sums_ != nullptr) sums_->finish();
      return;
    }
    if (loop_ != nullptr) loop_->run_all();
    if (sums_ != nullptr) sums_->run();
  }

 private:
  static void run_range(const void* self, std::int64_t begin, std::int64_t end) {
    const Behind& behind = *static_cast<const Behind*>(self);
    if (behind.loop_ != nullptr) behind.loop_->run(begin, end);
    if (behind.sums_ == nullptr) return;
    const std::int64_t columns = behind.sums_->columns();
    behind.sums_->add_rows(begin / columns, end / columns);
  }

  const FusedGroup::Ranges* loop_;
  const RowSums* sums_;
  Epilogue epilogue_;
};

}  // namespace

void Program::run_accompanied(const Step& step, Tables& tables) const {
  // See join_steps() for the order of the operands.
  const OpDef& op = *step.node->op;
  std::size_t next_in = at(step.first_input), next_out = at(step.first_output);
  const auto take = [](std::size_t& next, std::size_t count) { return std::exchange(next, next + count); };
  const auto inputs_at = [&](std::size_t first, std::size_t count) {
    return std::span<const TensorRef>(tables.operands.data() + first, count);
  };
  const auto outputs_at = [&](std::size_t first, std::size_t count) {
    return std::span<Tensor>(tables.outputs.data() + first, count);
  };
  const std::span<const TensorRef> operands =
      inputs_at(take(next_in, step.node->inputs.size()), step.node->inputs.size());
  const std::span<Tensor> outputs = outputs_at(take(next_out, step.node->outputs.size()), step.node->outputs.size());

  std::optional<FusedGroup::Ranges> behind, before;
  if (step.epilogue >= 0) {
    const FusedGroup& loop = plan_.groups[at(step.epilogue)];
    behind.emplace(loop, tables.in.data() + take(next_in, loop.inputs().size()),
                   tables.out.data() + take(next_out, loop.outputs().size()));
  }
  const std::size_t sums_in = step.sums == nullptr ? 0 : take(next_in, step.sums->inputs.size());
  std::optional<Prologue> prologue;
  if (step.prologue >= 0) {
    before.emplace(plan_.groups[at(step.prologue)], tables.in.data() + next_in, nullptr);
    prologue.emplace([](const void* ranges, std::int64_t begin, std::int64_t end,
                        void* to) { static_cast<const FusedGroup::Ranges*>(ranges)->run_to(begin, end, to); },
                     &*before);
  }
  const auto run_kernel = [&](const RowSums* sums) {
    Behind rest(outputs[0], behind ? &*behind : nullptr, sums);
    const Execution execution{prologue ? &*prologue : nullptr, rest.epilogue()};
    const void* const attributes = op.attributes == nullptr ? nullptr : step.node->attributes;
    call_kernel({op, operands, attributes, step.node->geometry.data(), execution}, outputs);
    rest.finish();
  };
  if (step.sums == nullptr) return run_kernel(nullptr);
  const Graph::Node& node = *step.sums;
  const TakeRowSums take_sums = {
      [](void* kernel, const RowSums& sums) { (*static_cast<const decltype(run_kernel)*>(kernel))(&sums); },
      const_cast<void*>(static_cast<const void*>(&run_kernel))};
  with_memory_errors(*node.op, [&] {
    for_programs(*node.op).row_sums.with_sums({*node.op, inputs_at(sums_in, node.inputs.size()), node.attributes},
                                              outputs_at(next_out, node.outputs.size()), take_sums);
  });
}

}  // namespace capstan
