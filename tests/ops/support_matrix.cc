// The support matrix.
//
// An op's samples are run in every dtype, recorded, differentiated, and differentiated once more; the rest is read from
// its OpDef. So a row cannot promise what the op does not do.
#include "tests/ops/support_matrix.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/tape.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"

namespace capstan::testing {

namespace {

constexpr const char* kNone = "-";

std::vector<DType> every_dtype() {
  std::vector<DType> dtypes;
  for (int i = 0; i < kDTypes; ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : ", ") + text;
  return result.empty() ? kNone : result;
}

// "all", "floating", or a list.
std::string describe(const std::set<DType>& dtypes) {
  const auto holds = [&](auto has) {
    return std::ranges::all_of(every_dtype(), [&](DType dtype) { return has(dtype) == dtypes.contains(dtype); });
  };
  if (holds([](DType) { return true; })) return "all";
  if (holds([](DType dtype) { return dtype != DType::kBool; })) return "numbers";
  if (holds([](DType dtype) { return is_floating(dtype) || is_integer(dtype); })) return "real numbers";
  if (holds([](DType dtype) { return is_floating(dtype); })) return "floating";
  if (holds([](DType dtype) { return is_differentiable(dtype); })) return "floating, complex";
  if (holds([](DType dtype) { return is_complex(dtype); })) return "complex";
  if (holds([](DType dtype) { return is_integer(dtype); })) return "integers";
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.emplace_back(name_of(dtype));
  return joined(names);
}

// Which inputs of a sample follow the dtype that is asked for; the others (indices, masks) have one of their own.
std::vector<bool> following(const OpDef& op, std::size_t sample) {
  const std::vector<Sample> wide = samples_of(op, DType::kFloat64);
  const std::vector<Sample> narrow = samples_of(op, DType::kFloat32);
  std::vector<bool> follows;
  for (std::size_t i = 0; i < wide[sample].inputs.size(); ++i) {
    follows.push_back(wide[sample].inputs[i].dtype() != narrow[sample].inputs[i].dtype());
  }
  return follows;
}

bool works(const OpDef& op, const Sample& sample) {
  try {
    run(op, sample);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Tries the sample as it is, and with all its floating inputs in the dtype.
bool works_in(const OpDef& op, Sample sample, DType dtype) {
  if (works(op, sample)) return true;
  for (Tensor& input : sample.inputs) {
    if (is_floating(input.dtype())) input = cast(input, dtype);
  }
  return works(op, sample);
}

std::string dtypes_column(const OpDef& op) {
  std::set<DType> found;
  bool any_follows = false;
  std::set<DType> own;
  const std::vector<Sample> samples = samples_of(op, DType::kFloat64);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::vector<bool> follows = following(op, i);
    if (std::ranges::find(follows, true) == follows.end()) {
      for (const Tensor& input : samples[i].inputs) own.insert(input.dtype());
      continue;
    }
    any_follows = true;
    for (const DType dtype : every_dtype()) {
      if (!found.contains(dtype) && works_in(op, samples_of(op, dtype)[i], dtype)) found.insert(dtype);
    }
  }
  return any_follows ? describe(found) : own.empty() ? "no inputs" : describe(own);
}

// The names of inputs, as far as the op has names for them.
std::string input_name(const OpDef& op, std::size_t i) {
  if (op.inputs.count == kVariadic) return "all";
  std::string_view names = op.inputs.names;
  for (; i > 0 && names.find(',') != std::string_view::npos; --i) names.remove_prefix(names.find(',') + 1);
  while (names.starts_with(' ')) names.remove_prefix(1);
  return std::string(names.substr(0, names.find(',')));
}

struct Derivatives {
  std::vector<std::string> inputs;  // that have a gradient in some sample
  bool second = false;
};

std::vector<Tensor> with_values(std::span<const Tensor> tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) {
    if (tensor.has_value()) result.push_back(tensor.to_dense());
  }
  return result;
}

void add_derivatives(const OpDef& op, const Sample& sample, Derivatives& found) {
  std::vector<Tensor> sources;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    if (!is_differentiable(sample.inputs[i].dtype())) continue;
    sources.push_back(sample.inputs[i]);
    names.push_back(input_name(op, i));
  }
  if (sources.empty()) return;
  GradientTape outer;
  outer.watch(sources);
  std::vector<Tensor> gradients;
  std::vector<Tensor> cotangents;
  {
    GradientTape tape;
    tape.watch(sources);
    std::vector<Tensor> targets;
    for (const Tensor& output : run(op, sample)) {
      if (!is_differentiable(output.dtype())) continue;
      targets.push_back(output);
      cotangents.push_back(ones_like(output));
    }
    if (targets.empty()) return;
    outer.watch(cotangents);
    gradients = tape.gradient(targets, sources, {.output_gradients = cotangents});
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].has_value() && std::ranges::find(found.inputs, names[i]) == found.inputs.end())
      found.inputs.push_back(names[i]);
  }
  // Any gradient depends on the cotangent, so that is where a second order shows, also of linear ops.
  const std::vector<Tensor> targets = with_values(gradients);
  if (targets.empty()) return;
  found.second |= !with_values(outer.gradient(targets, cotangents)).empty();
}

Derivatives derivatives(const OpDef& op) {
  Derivatives found;
  const std::vector<DType> dtypes = dtypes_of(op);
  const auto dtype = std::ranges::find_if(dtypes, [](DType d) { return is_differentiable(d); });
  if (dtype == dtypes.end()) return found;
  for (const Sample& sample : samples_of(op, *dtype)) {
    try {
      add_derivatives(op, sample, found);
    } catch (const GradientError&) {  // of an op without gradients
    }
  }
  return found;
}

const char* kind_of(const OpDef& op) {
  switch (op.kind) {
    case OpKind::kElementwise:
      return "elementwise";
    case OpKind::kStructured:
      return "structured";
    default:
      return "composite";
  }
}

const char* batching_of(const OpDef& op) {
  if (op.kind == OpKind::kComposite) return "its ops'";
  if (op.kind == OpKind::kElementwise) return "broadcasts";
  const bool reads_elements = op.inputs.count == kVariadic || op.shape_inputs + 1 < 1 << op.inputs.count;
  if (!reads_elements && !has_flag(op, kStateful)) return "once";
  return op.batch != nullptr ? "rule" : "one by one";
}

bool draws(const OpDef& op) { return test_of(op)->random || has_flag(op, kStateful); }

std::string row(const OpDef& op) {
  const Derivatives found = derivatives(op);
  return "| `" + std::string(op.name) + "` | " + kind_of(op) + " | " + dtypes_column(op) + " | " +
         joined(found.inputs) + " | " + (found.second ? "yes" : kNone) + " | " + batching_of(op) + " | " +
         (draws(op) ? "yes" : kNone) + " |\n";
}

template <class Has>
std::string names(Has has) {
  std::vector<std::string> result;
  for (const DType dtype : every_dtype()) {
    if (has(dtype)) result.emplace_back(name_of(dtype));
  }
  return joined(result);
}

// Each sentence is about something that is looked at here, or in the test that it names.
std::string head(std::size_t ops) {
  return R"(# What each op supports

*Written by `build/release/tests/support_matrix_check docs/support-matrix.md` from the ops' definitions and from runs of
their samples; a test compares this page with what it would write.*

| column | meaning |
|---|---|
| kind | *elementwise*: a formula; *structured*: with a kernel; *composite*: a function of other ops |
| dtypes | in which a sample runs, of the inputs that follow the dtype that is asked for. *floating*: )" +
         names([](DType d) { return is_floating(d); }) +
         "; *integers*: " + names([](DType d) { return is_integer(d); }) +
         "; *real numbers*: both; *complex*: " + names([](DType d) { return is_complex(d); }) +
         R"(; *numbers*: all but bool |
| gradient | the inputs that have one in some sample |
| second order | whether these gradients have a gradient, too |
| batching | how many items are computed at once: *broadcasts*: as any call does; *rule*: by a rule of its own, which may leave some forms to be computed one by one; *its ops'*: as the ops that it is made of; *once*: no element of an input is read; *one by one*: there is no rule |
| draws | whether the op is marked as one whose results depend on a key of random draws |

)" + std::to_string(ops) +
         " ops.\n\n| op | kind | dtypes | gradient | second order | batching | draws "
         "|\n|---|---|---|---|---|---|---|\n";
}

}  // namespace

std::string support_matrix() {
  std::map<std::string_view, const OpDef*> sorted;
  for (const OpDef* op : all_ops()) {
    if (testing::test_of(*op) != nullptr) sorted.emplace(op->name, op);
  }
  std::string page = head(sorted.size());
  for (const auto& [name, op] : sorted) page += row(*op);
  return page;
}

std::string support_matrix_path() { return std::string(CAPSTAN_SOURCE_DIR) + "/docs/support-matrix.md"; }

}  // namespace capstan::testing
