// Samples and references of the ops in src/ops/array/broadcast.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::at;
using reference::build;
using reference::ints;
using reference::Position;

ReferenceTensor broadcast(const ReferenceTensor& x, const Shape& shape) {
  return build(x.dtype, shape, [&](const Position& position) {
    Position from(position.end() - x.shape.rank(), position.end());
    for (int i = 0; i < x.shape.rank(); ++i) {
      if (x.shape[i] == 1) from[static_cast<std::size_t>(i)] = 0;
    }
    return at(x, from);
  });
}
std::vector<OpSample> broadcast_to_samples() {
  return {{.inputs = {{.shape = {3}}}, .attributes = {{"shape", ints({2, 3})}}},
          {.inputs = {{.shape = {2, 1, 3}}}, .attributes = {{"shape", ints({2, 4, 3})}}},
          {.inputs = {{.shape = {2, 1}}}, .attributes = {{"shape", ints({3, 2, 4})}}},
          {.inputs = {{.shape = {}}}, .attributes = {{"shape", ints({2, 0})}}},
          {.inputs = {{.shape = {}}}, .attributes = {{"shape", ints({})}}},
          {.inputs = {{.shape = {2}}}, .attributes = {{"shape", ints({3})}}, .error = "[2] does not broadcast to [3]"},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"shape", ints({3})}}, .error = "does not broadcast to [3]"}};
}
void broadcast_to_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {broadcast(in[0], Shape(reference::integers(attributes, "shape")))};
}
std::vector<OpSample> broadcast_like_samples() {
  return {{.inputs = {{.shape = {3}}, {.shape = {2, 3}, .differentiable = false}}},
          {.inputs = {{.shape = {}}, {.shape = {4}, .differentiable = false}}},
          {.inputs = {{.shape = {2, 1}}, {.shape = {2, 0}, .differentiable = false}}},
          {.inputs = {{.shape = {2}}, {.shape = {3}, .differentiable = false}}, .error = "does not broadcast to [3]"}};
}
void broadcast_like_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  out = {broadcast(in[0], in[1].shape)};
}
std::vector<OpSample> sum_like_samples() {
  return {{.inputs = {{.shape = {2, 3}}, {.shape = {3}, .differentiable = false}}},
          {.inputs = {{.shape = {2, 3}}, {.shape = {2, 1}, .differentiable = false}}},
          {.inputs = {{.shape = {2, 3, 4}}, {.shape = {3, 1}, .differentiable = false}}},
          {.inputs = {{.shape = {2, 3, 2}}, {.shape = {2, 1, 2}, .differentiable = false}}},
          {.inputs = {{.shape = {5}}, {.shape = {}, .differentiable = false}}},
          {.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}, .differentiable = false}}},
          {.inputs = {{.shape = {0, 3}}, {.shape = {3}, .differentiable = false}}},
          {.inputs = {{.shape = {2, 3}}, {.shape = {2}, .differentiable = false}}, .error = "does not sum to [2]"}};
}
void sum_like_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  out = {build(in[0].dtype, in[1].shape, [](const Position&) { return 0.0; })};
  reference::for_each(in[0].shape, [&](const Position& position) {
    Position to(position.end() - in[1].shape.rank(), position.end());
    for (int i = 0; i < in[1].shape.rank(); ++i) {
      if (in[1].shape[i] == 1) to[static_cast<std::size_t>(i)] = 0;
    }
    out[0].values[reference::flat(in[1].shape, to)] += at(in[0], position);
  });
}

const OpTests kBroadcastTests = {
    {"broadcast_to",
     {.samples = broadcast_to_samples, .reference = broadcast_to_reference, .dtypes = reference::kEveryDType}},
    {"broadcast_like",
     {.samples = broadcast_like_samples, .reference = broadcast_like_reference, .dtypes = reference::kEveryDType}},
    {"sum_like", {.samples = sum_like_samples, .reference = sum_like_reference, .dtypes = reference::kEveryNumber}},
};

}  // namespace

}  // namespace capstan::testing
