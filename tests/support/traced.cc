#include "tests/support/traced.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "src/core/apply.h"
#include "src/core/context.h"
#include "src/core/thread_pool.h"
#include "src/core/variable_state.h"
#include "src/emit/fused_loop.h"
#include "src/graph/stages.h"
#include "src/graph/tracer.h"
#include "tests/support/compare.h"
#include "tests/support/make_tensor.h"
#include "tests/support/random.h"

namespace capstan::testing {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::size_t bytes_of(const Graph& graph, Graph::Value value) {
  const Graph::ValueInfo& info = graph.values[at(value)];
  return at(info.shape.size()) * size_of(info.dtype);
}

// The values of variables before a run.
std::vector<detail::Block*> inputs_of(const Graph& graph, const Tensors& arguments) {
  std::vector<detail::Block*> inputs;
  for (const Tensor& argument : arguments) inputs.push_back(argument.block());
  for (const Graph::Captured& captured : graph.captured) inputs.push_back(captured.variable.state()->value.block());
  return inputs;
}

Tensors write_variables(const Graph& graph, Tensors outputs) {
  std::size_t next = graph.results.size();
  for (const Graph::Captured& captured : graph.captured) {
    if (captured.written == Graph::kNone) continue;
    Tensor& written = outputs[next++];
    if (written.has_value()) replace_value(*captured.variable.state(), std::move(written));
  }
  outputs.resize(graph.results.size());
  return outputs;
}

}  // namespace

Tensor filled(const Shape& shape, std::uint64_t seed, DType dtype) {
  return random::uniform(shape, -1, 1, dtype, seed);
}

Graph trace(const std::vector<Argument>& arguments, const Body& body) {
  GraphTracer tracer("body", true);
  Tensors symbolic;
  for (const Argument& argument : arguments) symbolic.push_back(tracer.add_argument(argument.dtype, argument.shape));
  return tracer.finish(body(symbolic));
}

Graph trace_like(const Tensors& arguments, const Body& body) {
  std::vector<Argument> specs;
  for (const Tensor& argument : arguments) specs.push_back({argument.shape(), argument.dtype()});
  return trace(specs, body);
}

std::string text_of(const Graph& graph) { return "\n" + to_text(graph); }

Tensors run(const Program& program, const Tensors& arguments) {
  Tensors outputs;
  program.run(inputs_of(program.graph(), arguments), outputs);
  return write_variables(program.graph(), std::move(outputs));
}

Tensors run(const Graph& graph, const Tensors& arguments) {
  Tensors inputs;
  for (detail::Block* block : inputs_of(graph, arguments)) inputs.push_back(share(block));
  return write_variables(graph, run_graph(graph, std::move(inputs)));
}

void expect_same_runs(const Tensors& arguments, const Body& body, const std::vector<Variable>& variables) {
  const auto values = [&] {
    Tensors all;
    for (const Variable& variable : variables) all.push_back(copy(variable.value()));
    return all;
  };
  const Tensors before = values();
  const auto set_back = [&] {
    for (std::size_t i = 0; i < variables.size(); ++i) variables[i].assign(copy(before[i]));
  };
  Tensors expected;
  for (const Tensor& result : body(arguments)) expected.push_back(result.has_value() ? copy(result) : Tensor());
  const Tensors expected_after = values();
  set_back();
  const Graph graph = trace_like(arguments, body);
  const Program program(graph);
  expect_apart(program);
  Tensors untouched;
  for (const Tensor& argument : arguments) untouched.push_back(copy(argument));
  Tensors first;
  for (int call = 0; call < 2; ++call) {
    const Tensors results = run(program, arguments);
    if (call == 0) first = results;
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_TRUE(same_bits(results[i], expected[i])) << "call " << call << ", result " << i << "\n"
                                                      << results[i].to_string() << "\ninstead of\n"
                                                      << expected[i].to_string() << text_of(program.graph());
    }
    const Tensors after = values();
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_TRUE(same_bits(after[i], expected_after[i])) << "call " << call << ", variable " << i << "\n"
                                                          << after[i].to_string() << "\ninstead of\n"
                                                          << expected_after[i].to_string() << text_of(program.graph());
    }
    set_back();
  }
  // What the first call gave belongs to the caller: the second one left it alone.
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(same_bits(first[i], expected[i])) << "result " << i;
  for (std::size_t i = 0; i < arguments.size(); ++i) EXPECT_TRUE(same_bits(arguments[i], untouched[i])) << i;
}

void expect_same_everywhere(const Tensors& arguments, const Body& body, const std::vector<Variable>& variables) {
  const int before = thread_count();
  for (const int threads : {1, 3}) {
    for (const bool emits : {true, false}) {
      set_thread_count(threads);
      emit_machine_code(emits);
      expect_same_runs(arguments, body, variables);
    }
  }
  emit_machine_code(true);
  set_thread_count(before);
}

void expect_same_in_threads(const Graph& graph, int threads, const std::function<Tensors(int thread)>& arguments) {
  const Program program(graph);
  std::atomic<int> wrong{0};
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      const Tensors in = arguments(t);
      const Tensors expected = run(graph, in);
      for (int i = 0; i < 50; ++i) {
        const Tensors results = run(program, in);
        for (std::size_t k = 0; k < results.size(); ++k) wrong += same_bits(results[k], expected[k]) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, 0);
}

std::string steps_of(const Tensors& arguments, const Body& body) {
  const Program program(trace_like(arguments, body));
  const Profile profile = capstan::profile([&] { run(program, arguments); });
  std::vector<std::string> names;
  for (const ProfileRow& row : profile.rows()) names.push_back(row.name);
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "; ") + name;
  return text;
}

Tensors random_steps(std::uint64_t seed, int steps, const Tensors& in, const Variable* variable) {
  Random random(seed);
  Tensors values = {in[0], in[1]};
  if (variable != nullptr) values.push_back(variable->value());
  const auto pick = [&] {
    return values[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(values.size()) - 1))];
  };
  const auto step = [&](const Tensor& x) -> Tensor {
    switch (random.integer(0, variable == nullptr ? 13 : 14)) {
      case 0:
        return matmul(x, pick()) * 0.25;
      case 1:
        return matmul(x, pick(), {.transpose_b = true});
      case 2:
        return reshape(matmul(reshape(x, {2, 8}), reshape(pick(), {8, 2})), {4}) + in[0];
      case 3:
        return tanh(x + pick());
      case 4:
        return transpose(x);
      case 5:
        return reshape(sin(reshape(x, {16})), {4, 4});
      case 6:
        return x * in[2];
      case 7:
        return x - reduce_mean(x, 0);
      case 8:
        return concat({x(slice(0, 2)), pick()(slice(1, 3))}, 0);
      case 9:
        return stack(unstack(x), 1);
      case 10:
        return softmax(x);
      case 11:
        return cast(greater(x, pick()), float32);
      case 12:
        return x * reduce_sum(pick());
      case 13:
        return reshape(gather(reshape(x, {16}), constant({0, 5, 1, 7, 3, 3, 9, 15, 14, 2, 6, 4, 8, 11, 10, 12})),
                       {4, 4});
      default:
        variable->assign(*variable * 0.5 + pick());
        return variable->value();
    }
  };
  for (int i = 0; i < steps; ++i) values.push_back(step(pick()));
  return {values.back(), pick(), reduce_max(pick()), reshape(pick(), {2, 8})};
}

void expect_apart(const Program& program) {
  // Written without a look at how the program plans memory: from the order of its steps and the nodes of each.
  const Graph& graph = program.graph();
  struct Run {
    std::size_t node, step;
  };
  std::vector<Run> runs;
  const std::vector<ExecutionPlan::Step>& steps = program.plan().steps;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (const std::size_t n : nodes_of(program.plan(), steps[s])) runs.push_back({n, s});
  }
  constexpr std::size_t kNever = ~std::size_t{0};
  std::vector<std::size_t> first(graph.values.size(), kNever);
  std::vector<std::size_t> last(graph.values.size(), 0);
  std::vector<Graph::Value> owner(graph.values.size());
  for (std::size_t v = 0; v < owner.size(); ++v) owner[v] = static_cast<Graph::Value>(v);
  for (const Run& run : runs) {
    const Graph::Node& node = graph.nodes[run.node];
    for (const Graph::Value output : node.outputs) first[at(output)] = last[at(output)] = run.step;
    for (const Graph::Value input : node.inputs) last[at(input)] = run.step;
  }
  // What lies in the operand or around it, as a view or with a border of its own.
  std::vector<bool> lies_there(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Graph::Node& node = graph.nodes[i];
    const std::optional<Layout> layout = layout_of_node(graph, node);
    const auto base = node.inputs.empty() ? std::nullopt : program.arena_offset(node.inputs[0]);
    const auto place = node.outputs.empty() ? std::nullopt : program.arena_offset(node.outputs[0]);
    if (!layout || !base) continue;
    const std::size_t size = size_of(graph.values[at(node.inputs[0])].dtype);
    const auto expected = *base + at(layout->from) * size - at(layout->before) * size;
    if (has_flag(*node.op, kReturnsViews)) {
      EXPECT_EQ(place, expected) << "a view moves" << text_of(graph);
    }
    lies_there[i] = place == expected;
    if (lies_there[i]) owner[at(node.outputs[0])] = owner[at(node.inputs[0])];
  }
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const Graph::Node& node = graph.nodes[run->node];
    if (!has_flag(*node.op, kReturnsViews) && !lies_there[run->node]) continue;
    for (const Graph::Value output : node.outputs) {
      for (const Graph::Value input : node.inputs) last[at(input)] = std::max(last[at(input)], last[at(output)]);
    }
  }
  // Who makes and reads each value, itself or a view of it, as parts of stages that run at once.
  std::vector<std::vector<const ExecutionPlan::Step*>> users(graph.values.size());
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const Graph::Node& node = graph.nodes[run->node];
    const ExecutionPlan::Step* const step = &steps[run->step];
    for (const Graph::Value output : node.outputs) users[at(output)].push_back(step);
    for (const Graph::Value input : node.inputs) {
      users[at(input)].push_back(step);
      if (!has_flag(*node.op, kReturnsViews) && !lies_there[run->node]) continue;
      for (const Graph::Value output : node.outputs) {
        users[at(input)].insert(users[at(input)].end(), users[at(output)].begin(), users[at(output)].end());
      }
    }
  }
  const auto at_once = [&](std::size_t a, std::size_t b) {
    for (const ExecutionPlan::Step* const x : users[a]) {
      for (const ExecutionPlan::Step* const y : users[b]) {
        if (x->stage >= 0 && x->stage == y->stage && x->task != y->task) return true;
      }
    }
    return false;
  };
  for (std::size_t a = 0; a < graph.values.size(); ++a) {
    const auto place_a = program.arena_offset(static_cast<Graph::Value>(a));
    if (!place_a) continue;
    const std::size_t end_a = *place_a + bytes_of(graph, static_cast<Graph::Value>(a));
    EXPECT_LE(end_a, program.arena_bytes());
    EXPECT_TRUE(owner[a] != static_cast<Graph::Value>(a) || *place_a % 64 == 0);
    for (std::size_t b = 0; b < a; ++b) {
      const auto place_b = program.arena_offset(static_cast<Graph::Value>(b));
      if (!place_b || owner[a] == owner[b] || first[a] == kNever || first[b] == kNever) continue;
      const std::size_t end_b = *place_b + bytes_of(graph, static_cast<Graph::Value>(b));
      const bool overlap = *place_a < end_b && *place_b < end_a;
      if (!overlap) continue;
      EXPECT_FALSE(at_once(a, b)) << "values " << a << " and " << b << ", of steps that run at once" << text_of(graph);
      if (last[a] < first[b] || last[b] < first[a]) continue;
      // In one step the memory may go from one to the other, as a whole.
      const bool handed_on = (last[a] == first[b] || last[b] == first[a]) && *place_a == *place_b && end_a == end_b;
      EXPECT_TRUE(handed_on) << "values " << a << " and " << b << text_of(graph);
    }
  }
}

std::size_t bytes_without_sharing(const Program& program) {
  std::size_t bytes = 0;
  for (std::size_t v = 0; v < program.graph().values.size(); ++v) {
    const auto value = static_cast<Graph::Value>(v);
    if (program.arena_offset(value)) bytes += bytes_of(program.graph(), value);
  }
  return bytes;
}

}  // namespace capstan::testing
