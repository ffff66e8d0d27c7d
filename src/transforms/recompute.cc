// Functions that are run again for their gradients, so that what they compute on the way is not kept.
//
// Outside of a trace the first run is hidden from tapes, and what a second run needs is noted: what variables held when
// they were first touched, the keys of draws, and which tensors that tapes may know came in by a capture (uses.h).
// Tapes get one record of arguments, variables and captured tensors. Its rule makes all of that as it was, runs the
// function under a tape of its own, puts back what the second run has written, and asks that tape. The ops of the
// second run pass outer tapes, so gradients of gradients are the same thing once more.
//
// In a trace the function is traced once, as the body of a node (Recomputed in control_nodes.h), and everything follows
// from what nodes of control flow do: the gradient of one runs its graph again, with the draws of the first run.
// Programs take both nodes apart (src/graph/expand.cc), so that all second runs share one memory.
#include "capstan/recompute.h"

#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/key_log.h"
#include "src/transforms/control_nodes.h"
#include "src/transforms/control_parts.h"
#include "src/transforms/uses.h"

namespace capstan {

namespace {

// All that the rule needs.
struct Call {
  TensorMap body;
  std::vector<Tensor> arguments;
  Parameters parameters;
  std::vector<std::uint64_t> keys;
  std::size_t results = 0;

  // One for each argument, captured tensor and variable.
  std::vector<Tensor> gradients(std::span<const Tensor> cotangents) const {
    // Copies, so that each is a source of its own even if two arguments are one tensor; made before the tape, which
    // would take them for results of its own if an outer one records them.
    std::vector<Tensor> inputs;
    for (const Tensor& argument : arguments) inputs.push_back(identity(argument));
    std::vector<Tensor> targets;
    GradientOptions options;
    GradientTape tape({.persistent = false, .watch_accessed_variables = false});
    {
      const AsBefore before(parameters.all_held, true, !keys.empty());
      tape.watch(inputs);
      parameters.watch(tape);
      KeyLog log{.keys = keys, .again = true};
      const KeyLog::Scope scope(log);
      const std::vector<Tensor> outputs = body(inputs);
      CAPSTAN_CHECK(outputs.size() == results, GradientError, "recompute_grad: the function gives ", outputs.size(),
                    " tensors in its second run, and gave ", results, " in its first");
      for (std::size_t k = 0; k < results; ++k) {
        if (!is_differentiable(cotangents[k].dtype())) continue;
        targets.push_back(outputs[k]);
        options.output_gradients.push_back(cotangents[k]);
      }
    }
    return parameters.gradients(tape, targets, std::move(inputs), options);
  }
};

void check_results(const std::vector<Tensor>& results) {
  for (std::size_t k = 0; k < results.size(); ++k) {
    CAPSTAN_CHECK(results[k].has_value(), ValueError, "recompute_grad: result ", k, " is an empty tensor");
  }
}

std::vector<Tensor> run_now(const TensorMap& body, std::vector<Tensor> arguments) {
  if (context.observers == context.guard) return body(arguments);
  const auto call = std::make_shared<Call>();
  std::vector<Tensor> outputs;
  {
    KeyLog log;
    const KeyLog::Scope scope(log);
    const std::vector<Tensor> own = copies(arguments);
    Uses run;
    outputs = body(own);
    check_results(outputs);
    run.note_results(outputs);
    call->parameters = Parameters(std::move(run));
    call->keys = std::move(log.keys);
  }
  if (outputs.empty()) return outputs;
  outputs = copies(outputs);
  call->body = body;
  call->arguments = std::move(arguments);
  call->results = outputs.size();
  call->parameters.record(outputs, call->arguments,
                          [call](std::span<const Tensor> cotangents) { return call->gradients(cotangents); });
  return outputs;
}

std::vector<Tensor> trace_node(const TensorMap& body, std::vector<Tensor> arguments) {
  const auto node = std::make_shared<Recomputed>();
  const std::size_t count = arguments.size();
  ControlParts parts("recompute_grad", std::move(arguments));
  auto run = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    tensors = body(tensors);
    check_results(tensors);
    return nullptr;
  };
  node->body = parts.trace("body", parts.arguments(0, count), detail::FunctionBody(run));
  node->complete(parts.size());
  return parts.finish(*node, node->body.written);
}

}  // namespace

std::vector<Tensor> detail::recompute(const std::function<std::vector<Tensor>(std::span<const Tensor>)>& body,
                                      std::vector<Tensor> arguments) {
  return context.tracer == nullptr ? run_now(body, std::move(arguments)) : trace_node(body, std::move(arguments));
}

}  // namespace capstan
