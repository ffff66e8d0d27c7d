// Numbers from outside.
//
// In a trace a number is an op without inputs whose attribute is written anew before every run. As a stateful op it is
// kept, in its place, whether anybody reads it or not.
#include "capstan/ops/host.h"

#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/op_for_programs.h"

namespace capstan {

namespace {

struct HostAttributes {
  double value = 0;
  DType dtype = DType::kFloat32;
};

// Made by host_value() alone, and so not in the registry: by name it would be a constant.
constexpr OpDef kHostValue = {
    .name = "host_value",
    .text = "A number that the program computes outside of the library.",
    .flags = kStateful | kSameForItems | kNotDifferentiable,
    .inputs = "",
    .attributes = &attribute_table<HostAttributes, "value, dtype">,
    .infer = [](const Call& call,
                OutputSpecs& outputs) { outputs.add(call.attributes<HostAttributes>().dtype, Shape{}); },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& a = call.attributes<HostAttributes>();
          if (a.dtype == DType::kFloat64) {
            *mutable_data<double>(outputs[0]) = a.value;
          } else {
            *mutable_data<float>(outputs[0]) = static_cast<float>(a.value);
          }
        },
};

// Nothing that comes before it has to be undone: a program may have updated variables where they lie.
constinit const OpDef kSafeHostValue = [] {
  OpDef op = kHostValue;
  op.programs = &kNeverFails;
  return op;
}();

}  // namespace

bool inside_function() { return context.tracer != nullptr; }

Tensor host_value(const std::function<double()>& f, DType dtype, bool nothrow) {
  CAPSTAN_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64, DTypeError, "host_value: dtype ", dtype,
                " is not float32 or float64");
  CAPSTAN_CHECK(f != nullptr, ValueError, "host_value: the function is empty");
  if (context.tracer == nullptr) return scalar(f(), dtype);
  const HostAttributes attributes{0, dtype};
  Tensor value = apply(nothrow ? kSafeHostValue : kHostValue, std::span<Operand>(), &attributes);
  context.tracer->renew_attributes([f](void* data) { static_cast<HostAttributes*>(data)->value = f(); });
  return value;
}

}  // namespace capstan
