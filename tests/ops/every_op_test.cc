// Every op, from its samples.
//
// The tests below run for each op of the registry, so an op without test data, without
// documentation or with a wrong gradient fails the build that adds it. What is special to an op
// (its conventions at kinks, ties and zeros) is tested with golden values (tests/golden).
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "capstan/error.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/registry.h"
#include "capstan/runtime.h"
#include "capstan/tape.h"
#include "capstan/testing.h"
#include "src/core/apply.h"
#include "src/core/cpu.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"
#include "tests/support/compare.h"
#include "tests/support/make_tensor.h"
#include "tests/support/random.h"

namespace capstan::testing {
namespace {

class EveryOp : public ::testing::TestWithParam<const OpDef*> {
 protected:
  void SetUp() override {
    ASSERT_NE(test_of(op()), nullptr) << op().name << ": an op without samples (tests/op_samples)";
  }
  const OpDef& op() const { return *GetParam(); }

  bool has_gradient() const { return !has_flag(op(), kNotDifferentiable) && !has_flag(op(), kBooleanResult); }
};

std::vector<const OpDef*> list_of_ops() {
  const std::span<const OpDef* const> ops = all_ops();
  return {ops.begin(), ops.end()};
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, ::testing::ValuesIn(list_of_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

// --- Values ---

TEST_P(EveryOp, HasSamples) {
  ASSERT_TRUE(test_of(op())->samples != nullptr || op().kind == OpKind::kElementwise)
      << "neither samples nor a formula";
  if (test_of(op())->samples != nullptr && !test_of(op())->random) {
    EXPECT_TRUE(test_of(op())->reference != nullptr || test_of(op())->complex_reference != nullptr ||
                test_of(op())->value != nullptr)
        << "samples without a reference";
  }
  int samples = 0;
  for (const DType dtype : dtypes_of(op())) samples += static_cast<int>(samples_of(op(), dtype).size());
  EXPECT_GT(samples, 0) << "every sample is one of an error";
}

TEST_P(EveryOp, AgreesWithItsReferenceInEveryDType) {
  for (const DType dtype : dtypes_of(op())) {
    for (const Sample& sample : samples_of(op(), dtype)) {
      SCOPED_TRACE(sample.text);
      const std::vector<Tensor> outputs = run(op(), sample);
      if (test_of(op())->random) {
        const std::vector<Tensor> again = run(op(), sample);
        ASSERT_EQ(outputs.size(), again.size());
        for (std::size_t i = 0; i < outputs.size(); ++i)
          EXPECT_TRUE(same_bits(outputs[i], again[i])) << "not repeatable";
        continue;
      }
      const std::vector<Tensor> wanted = reference_outputs(op(), sample, dtype);
      ASSERT_EQ(outputs.size(), wanted.size());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        EXPECT_EQ(difference(outputs[i], wanted[i], reference_tolerance(op(), dtype)), "") << "output " << i;
      }
    }
  }
}

TEST_P(EveryOp, HasTheSameDTypesForEveryInstructionSet) {
  if (op().kind != OpKind::kElementwise) GTEST_SKIP() << "its kernel chooses the instructions";
  for (int isa = 0; isa <= instruction_set(); ++isa) {
    for (int dtype = 0; dtype < kDTypes; ++dtype) {
      // A table without a loop falls back to the portable one.
      EXPECT_TRUE(op().loops[isa]->forward[dtype] == nullptr || op().loops[0]->forward[dtype] != nullptr)
          << "instruction set " << isa << ", " << name_of(static_cast<DType>(dtype));
    }
  }
}

TEST_P(EveryOp, TakesViews) {
  if (test_of(op())->random) GTEST_SKIP() << "its result is drawn";
  for (const DType dtype : dtypes_of(op())) {
    for (Sample& sample : samples_of(op(), dtype)) {
      SCOPED_TRACE(sample.text);
      const std::vector<Tensor> outputs = run(op(), sample);
      for (Tensor& input : sample.inputs) input = as_view(input);
      const std::vector<Tensor> of_views = run(op(), sample);
      ASSERT_EQ(outputs.size(), of_views.size());
      for (std::size_t i = 0; i < outputs.size(); ++i)
        EXPECT_TRUE(same_bits(outputs[i], of_views[i])) << "output " << i;
    }
  }
}

TEST_P(EveryOp, GivesTheSameBitsForAnyNumberOfThreads) {
  const int before = num_threads();
  for (const DType dtype : dtypes_of(op())) {
    std::vector<Sample> samples = samples_of(op(), dtype);
    for (Sample& sample : large_samples_of(op(), dtype)) samples.push_back(std::move(sample));
    for (const Sample& sample : samples) {
      SCOPED_TRACE(sample.text);
      // The outputs, then the gradients.
      const auto compute = [&](int threads) {
        set_num_threads(threads);
        GradientTape tape;
        std::vector<Tensor> sources;
        for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
          if (sample.differentiable[i]) sources.push_back(sample.inputs[i]);
        }
        tape.watch(sources);
        std::vector<Tensor> results = run(op(), sample);
        std::vector<Tensor> targets;
        for (const Tensor& output : results) {
          if (capstan::is_differentiable(output.dtype())) targets.push_back(output);
        }
        if (!targets.empty() && !sources.empty()) {
          for (Tensor& gradient : tape.gradient(targets, sources)) results.push_back(std::move(gradient));
        }
        return results;
      };
      const std::vector<Tensor> one = compute(1);
      const std::vector<Tensor> four = compute(4);
      ASSERT_EQ(one.size(), four.size());
      for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], four[i])) << "result " << i;
    }
  }
  set_num_threads(before);
}

// --- Gradients ---

// The op as a function of its differentiable inputs, with one result: all floating outputs in a
// row, weighted and summed where there are several.
Tensor call_with(const OpDef& op, const Sample& sample, const std::vector<Tensor>& x) {
  Sample changed = sample;
  std::size_t k = 0;
  for (std::size_t i = 0; i < changed.inputs.size(); ++i) {
    if (changed.differentiable[i]) changed.inputs[i] = x[k++];
  }
  std::vector<Tensor> floating;
  for (Tensor& output : run(op, changed)) {
    if (output.dtype() == float64 || output.dtype() == complex128) floating.push_back(std::move(output));
  }
  if (floating.size() == 1) return floating[0];
  Random random(op.name);
  Tensor sum = constant(0.0, float64);
  for (const Tensor& output : floating) {
    std::vector<double> weights;
    const std::int64_t numbers = is_complex(output.dtype()) ? 2 * output.size() : output.size();
    for (std::int64_t i = 0; i < numbers; ++i) weights.push_back(random.uniform(-1, 1));
    const Tensor terms = output * make_tensor(output.dtype(), output.shape(), weights);
    sum = sum + real(reduce_sum(terms));
  }
  return sum;
}

// Inputs whose gradient is not that of differences, by convention; golden values have it.
bool has_gradient_by_convention(const OpDef& op, std::size_t input) {
  static const std::set<std::pair<std::string_view, std::size_t>> inputs = {
      // Off the labels that sum to one, the gradient for the logits stays softmax - labels.
      {"softmax_cross_entropy", 0},
      {"softmax_cross_entropy_with_logits", 0},
      // A derivative is counted in integers.
      {"polygamma", 0},
      // Of a symmetric matrix both triangles share what the lower one gets.
      {"cholesky", 0},
      {"logdet", 0},
      // Parameters whose gradient is missing, in the original as well; of igamma it is the second derivative that is.
      // special_test.cc has the first.
      {"zeta", 0},
      {"betainc", 0},
      {"betainc", 1},
      {"igamma", 0},
      {"igammac", 0},
      {"igamma_grad_a", 0},
      // Its own second derivative is the third of ctc_loss, which does not exist; ctc_loss has the first and second.
      {"ctc_loss_and_gradient", 1},
      {"ctc_loss_curvature", 1},
  };
  return inputs.contains({op.name, input});
}

// Over complex numbers these are determined up to a phase of each vector, or up to their order. Gradients are those of
// functions that do not see it (tests/ops/decompositions_test.cc).
bool is_free_over_complex(const OpDef& op) {
  static const std::set<std::string_view> ops = {"eig", "eigh", "eigvals", "qr", "svd"};
  return ops.contains(op.name);
}

TEST_P(EveryOp, HasTheGradientsOfItsDifferences) {
  std::vector<Sample> samples;
  for (const DType dtype : dtypes_of(op())) {
    if (dtype != float64 && dtype != complex128) continue;
    for (Sample& sample : samples_of(op(), dtype)) samples.push_back(std::move(sample));
  }
  if (samples.empty()) GTEST_SKIP() << "no floating inputs";
  if (test_of(op())->first_order > 1e-6 || test_of(op())->second_order > 1e-4) {
    EXPECT_NE(test_of(op())->why_looser, nullptr) << "a looser tolerance needs a reason";
  }
  for (Sample& sample : samples) {
    SCOPED_TRACE(sample.text);
    std::vector<Tensor> inputs;
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      if (has_gradient_by_convention(op(), i)) sample.differentiable[i] = false;
      if (is_free_over_complex(op()) && is_complex(sample.inputs[i].dtype())) sample.differentiable[i] = false;
      if (!sample.differentiable[i]) continue;
      inputs.push_back(sample.inputs[i]);
      elements += sample.inputs[i].size();
    }
    if (inputs.empty()) continue;
    GradientTape tape;
    tape.watch(inputs);
    std::vector<Tensor> targets;
    for (Tensor& output : run(op(), sample)) {
      if (capstan::is_differentiable(output.dtype())) targets.push_back(std::move(output));
    }
    if (targets.empty()) continue;
    if (!has_gradient()) {
      for (const Tensor& gradient : tape.gradient(targets, inputs)) EXPECT_FALSE(gradient.has_value());
      continue;
    }
    GradientCheckOptions options{
        .order = 2, .first_order = test_of(op())->first_order, .second_order = test_of(op())->second_order};
    if (elements > 64) options.directions = 4;
    EXPECT_NO_THROW(
        check_gradients([&](const std::vector<Tensor>& x) { return call_with(op(), sample, x); }, inputs, options));
  }
}

// Bits of the inputs and outputs whose values a rule may read.
struct Read {
  bool input[kMaxInputs] = {};
  bool output = false;
};

Read values_read(const OpDef& op, const Sample& sample) {
  Read read;
  for (std::size_t i = 0; i < sample.inputs.size() && i < kMaxInputs; ++i) {
    if (op.kind == OpKind::kStructured) {
      read.input[i] = (op.saves.inputs >> (op.inputs.count == kVariadic ? 0 : i) & 1) != 0;
    } else {
      for (std::size_t k = 0; k < 3; ++k) {
        read.input[i] |= k < sample.inputs.size() && sample.differentiable[k] && (op.reads[k] >> (i + 1) & 1) != 0;
        read.output |= k < sample.inputs.size() && sample.differentiable[k] && (op.reads[k] & kReadsOutput) != 0;
      }
    }
  }
  if (op.kind == OpKind::kStructured) read.output = op.saves.outputs != 0;
  return read;
}

TEST_P(EveryOp, ReadsNothingThatItDoesNotSave) {
  if (op().kind == OpKind::kComposite) GTEST_SKIP() << "made of other ops";
  const std::vector<DType> dtypes = dtypes_of(op());
  if (!has_gradient() || std::find(dtypes.begin(), dtypes.end(), float64) == dtypes.end())
    GTEST_SKIP() << "no gradients";
  for (Sample& sample : samples_of(op(), float64)) {
    SCOPED_TRACE(sample.text);
    if (sample.inputs.size() > kMaxInputs) continue;
    const Read read = values_read(op(), sample);
    // Gradients of the same call, once with what is not saved overwritten before the reverse pass.
    const auto compute = [&](bool with_poison) {
      Sample own = sample;
      for (Tensor& input : own.inputs) input = copy(input);
      std::vector<Tensor> sources;
      for (std::size_t i = 0; i < own.inputs.size(); ++i) {
        if (own.differentiable[i]) sources.push_back(own.inputs[i]);
      }
      GradientTape tape;
      tape.watch(sources);
      std::vector<Tensor> outputs = run(op(), own);
      std::vector<Tensor> targets;
      for (const Tensor& output : outputs) {
        if (capstan::is_differentiable(output.dtype())) targets.push_back(output);
      }
      if (with_poison) {
        std::set<const void*> saved;  // buffers that a view shares with something saved stay as they are
        for (std::size_t i = 0; i < own.inputs.size(); ++i) {
          if (read.input[i]) saved.insert(own.inputs[i].block()->data);
        }
        for (const Tensor& output : outputs) {
          if (read.output) saved.insert(output.block()->data);
        }
        for (const Tensor& input : own.inputs) {
          if (!saved.contains(input.block()->data)) poison(input);
        }
        for (const Tensor& output : outputs) {
          const bool is_view = (output.block()->flags & detail::Block::kView) != 0;
          if (!is_view && !saved.contains(output.block()->data)) poison(output);
        }
      }
      if (targets.empty() || sources.empty()) return std::vector<Tensor>();
      return tape.gradient(targets, sources);
    };
    const std::vector<Tensor> clean = compute(false);
    const std::vector<Tensor> poisoned = compute(true);
    ASSERT_EQ(clean.size(), poisoned.size());
    for (std::size_t i = 0; i < clean.size(); ++i) EXPECT_TRUE(same_bits(clean[i], poisoned[i])) << "gradient " << i;
  }
}

// --- Mistakes ---

// The text of the error that a call must throw.
std::string error_of(const OpDef& op, const Sample& sample) {
  try {
    run(op, sample);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_P(EveryOp, SaysWhatIsWrong) {
  for (const ErrorSample& wrong : error_samples_of(op())) {
    SCOPED_TRACE(wrong.sample.text);
    EXPECT_NE(error_of(op(), wrong.sample).find(wrong.error), std::string::npos)
        << "got: " << error_of(op(), wrong.sample) << "\nwant: " << wrong.error;
  }
}

template <class Expected>
void expect_error(const OpDef& op, const Sample& sample, const char* what) {
  SCOPED_TRACE(what);
  try {
    run(op, sample);
    ADD_FAILURE() << "no error";
  } catch (const Expected& error) {
    // Composites may leave the check to the ops that they are made of.
    const bool named = std::string_view(error.what()).starts_with(std::string(op.name) + ": ");
    EXPECT_TRUE(named || op.kind == OpKind::kComposite) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another type of error: " << error.what();
  }
}

TEST_P(EveryOp, RefusesAWrongNumberOfInputsAndUnknownAttributes) {
  Sample sample = samples_of(op(), dtypes_of(op()).front()).front();
  sample.attributes["no such attribute"] = 1;
  expect_error<ValueError>(op(), sample, "unknown attribute");
  sample.attributes.erase("no such attribute");
  if (op().inputs.count == kVariadic) return;
  sample.inputs.push_back(constant(1.0));
  expect_error<ValueError>(op(), sample, "one input too many");
  sample.inputs.pop_back();
  if (sample.inputs.empty()) return;
  const Tensor last = sample.inputs.back();
  sample.inputs.back() = Tensor();
  try {
    run(op(), sample);  // Some inputs may be missing.
  } catch (const Error&) {
  }
  sample.inputs.pop_back();
  expect_error<ValueError>(op(), sample, "one input too few");
}

TEST_P(EveryOp, RefusesOtherDTypes) {
  const std::vector<DType> dtypes = dtypes_of(op());
  if (op().kind != OpKind::kElementwise || op().compose != nullptr) GTEST_SKIP() << "see its samples of errors";
  for (int i = 0; i < kDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end()) continue;
    expect_error<DTypeError>(op(), samples_of(op(), dtype).front(), "a dtype that it does not take");
  }
  const std::size_t first = has_flag(op(), kConditionFirst) ? 1 : 0;
  if (static_cast<std::size_t>(op().inputs.count) < first + 2) return;
  Sample sample = samples_of(op(), dtypes.front()).front();
  const DType other = dtypes.front() == DType::kInt64 ? DType::kInt32 : DType::kInt64;
  sample.inputs.back() = make_tensor(other, Shape{}, {1});
  expect_error<DTypeError>(op(), sample, "two dtypes");
}

TEST_P(EveryOp, RefusesShapesThatDoNotBroadcast) {
  if (op().kind != OpKind::kElementwise || op().inputs.count < 2) GTEST_SKIP() << "see its samples of errors";
  Sample sample = samples_of(op(), dtypes_of(op()).front()).front();
  const std::size_t last = sample.inputs.size() - 1;
  sample.inputs[last] = make_tensor(sample.inputs[last].dtype(), Shape{3}, {1, 1, 1});
  sample.inputs[last - 1] = make_tensor(sample.inputs[last - 1].dtype(), Shape{2}, {1, 1});
  expect_error<ShapeError>(op(), sample, "shapes that do not broadcast");
}

// --- Documentation ---

// The paragraphs of the public headers: what a comment at its top describes.
const std::vector<std::string>& header_paragraphs() {
  static const std::vector<std::string> paragraphs = [] {
    std::vector<std::string> list;
    const std::filesystem::path root = std::filesystem::path(CAPSTAN_SOURCE_DIR) / "include" / "capstan";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path());
      std::string paragraph;
      for (std::string line; std::getline(file, line);) {
        if (line.find_first_not_of(" \t") != std::string::npos) {
          paragraph += line + "\n";
        } else if (!paragraph.empty()) {
          list.push_back(std::exchange(paragraph, {}));
        }
      }
      if (!paragraph.empty()) list.push_back(paragraph);
    }
    return list;
  }();
  return paragraphs;
}

// True if the paragraph calls or declares a function of this name outside comments.
bool declares(const std::string& paragraph, std::string_view name) {
  std::istringstream lines(paragraph);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("//") != std::string::npos) line.resize(line.find("//"));
    for (std::size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
      const bool begins = at > 0 && (line[at - 1] == ' ' || line[at - 1] == '&');
      if (begins && line.substr(at + name.size()).starts_with("(")) return true;
    }
  }
  return false;
}

TEST_P(EveryOp, IsDeclaredAndDescribed) {
  EXPECT_FALSE(op().text.empty()) << "OpDef::text is empty";
  EXPECT_EQ(op().text.ends_with("."), true) << "OpDef::text is a sentence: " << op().text;
  static const std::set<std::string_view> elsewhere = {"read_variable"};  // Variable::value
  if (elsewhere.contains(op().name)) return;
  std::string_view function = op().name;
  if (function.starts_with("random_")) function.remove_prefix(7);  // in namespace random
  if (function.starts_with("image_")) function.remove_prefix(6);   // in namespace image
  bool declared = false;
  bool documented = false;
  for (const std::string& paragraph : header_paragraphs()) {
    if (!declares(paragraph, function) && !declares(paragraph, op().name)) continue;
    declared = true;
    documented |= paragraph.find("///") != std::string::npos;
  }
  EXPECT_TRUE(declared) << "no function " << op().name << " in include/capstan";
  EXPECT_TRUE(!declared || documented) << "no comment at the declaration of " << op().name;
}

}  // namespace
}  // namespace capstan::testing
