#include "tests/tape/tape_programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "capstan/error.h"

namespace capstan::testing {

namespace {

// Row-sparse gradients agree if they hold the same rows; the order of contributions is nobody's
// promise.
std::string sparse_difference(const Tensor& got, const Json& want, Tolerance tolerance) {
  if (!got.has_value()) return "got a missing tensor, want rows";
  if (!got.is_row_sparse()) return "got a dense tensor, want rows";
  const Tensor indices = tensor_from_json(want.at("indices"));
  const Tensor values = tensor_from_json(want.at("values"));
  if (got.indices().dtype() != indices.dtype()) return "the indices have another dtype";
  const auto lengths = want.at("dense_shape").get<std::vector<std::int64_t>>();
  if (got.shape() != Shape(std::span<const std::int64_t>(lengths)))
    return "the dense shape is " + got.shape().to_string();
  if (got.values().shape() != values.shape()) return "the rows have shape " + got.values().shape().to_string();
  const auto sorted = [](const Tensor& ids, const Tensor& rows) {
    const std::vector<std::int64_t> numbers = ids.to_vector<std::int64_t>();
    const std::vector<double> elements = rows.to_vector<double>();
    const std::size_t width = numbers.empty() ? 0 : elements.size() / numbers.size();
    std::vector<std::vector<double>> list;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::vector<double> row{static_cast<double>(numbers[i])};
      row.insert(row.end(), elements.begin() + static_cast<std::ptrdiff_t>(i * width),
                 elements.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
      list.push_back(row);
    }
    std::sort(list.begin(), list.end());
    return list;
  };
  const auto a = sorted(got.indices(), got.values());
  const auto b = sorted(indices, values);
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t k = 0; k < b[i].size(); ++k) {
      if (!(std::abs(a[i][k] - b[i][k]) <= tolerance.relative * std::abs(b[i][k]) + tolerance.floor)) {
        return "row " + std::to_string(i) + " of the sorted rows: got " + std::to_string(a[i][k]) + ", want " +
               std::to_string(b[i][k]);
      }
    }
  }
  return difference(got.to_dense(), tensor_from_json(want.at("dense")), tolerance);
}

}  // namespace

Value value_of(const Tensor& tensor) { return {.kind = Value::Kind::kTensor, .tensor = tensor, .list = {}, .map = {}}; }
Value value_of(const Variable& variable) { return value_of(variable.value()); }

std::string difference(const Value& got, const Json& want, double relative) {
  if (want.is_null()) {
    if (got.kind != Value::Kind::kTensor) return "got a structure, want a missing gradient";
    return got.tensor.has_value() ? "got " + got.tensor.to_string() + ", want a missing gradient" : "";
  }
  if (want.contains("list")) {
    const Json& items = want.at("list");
    if (got.kind != Value::Kind::kList) return "not a list";
    if (got.list.size() != items.size()) {
      return "got " + std::to_string(got.list.size()) + " items, want " + std::to_string(items.size());
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string text = difference(got.list[i], items[i], relative);
      if (!text.empty()) return "item " + std::to_string(i) + ": " + text;
    }
    return "";
  }
  if (want.contains("dict")) {
    const Json& items = want.at("dict");
    if (got.kind != Value::Kind::kMap) return "not a map";
    if (got.map.size() != items.size()) return "another number of keys";
    for (const auto& [key, item] : items.items()) {
      if (!got.map.contains(key)) return "no item " + key;
      const std::string text = difference(got.map.at(key), item, relative);
      if (!text.empty()) return "item " + key + ": " + text;
    }
    return "";
  }
  if (got.kind != Value::Kind::kTensor) return "got a structure, want a tensor";
  if (want.contains("sparse")) {
    Tolerance tolerance = golden_tolerance(float64);
    tolerance.relative = std::max(tolerance.relative, relative);
    return sparse_difference(got.tensor, want, tolerance);
  }
  const Tensor tensor = tensor_from_json(want);
  Tolerance tolerance = golden_tolerance(tensor.dtype());
  tolerance.relative = std::max(tolerance.relative, relative);
  if (got.tensor.has_value() && got.tensor.is_row_sparse()) return "got rows, want a dense tensor";
  return difference(got.tensor, tensor, tolerance);
}

Recorder::Recorder(const Json& golden) : golden_(golden) {}

Tensor Recorder::x(const std::string& name) const { return tensor_from_json(golden_.at("inputs").at(name)); }

Variable Recorder::v(const std::string& name, bool trainable) const {
  return Variable(x(name), {.trainable = trainable, .name = name});
}

void Recorder::mark(const char* kind, const std::string& name) {
  EXPECT_TRUE(golden_.contains(kind) && golden_.at(kind).contains(name)) << "the case has no " << name;
  EXPECT_TRUE(seen_.insert(std::string(kind) + "/" + name).second) << name << " was given twice";
}

void Recorder::compare(const std::string& name, const Value& got) {
  mark("results", name);
  const double relative = golden_.contains("rtol") ? golden_.at("rtol").get<double>() : 0;
  const std::string text = difference(got, golden_.at("results").at(name), relative);
  EXPECT_EQ(text, "") << name;
}

void Recorder::fact(const std::string& name, const Json& fact) {
  mark("facts", name);
  EXPECT_EQ(golden_.at("facts").at(name), fact) << name;
}

const Json& Recorder::given(const std::string& name) {
  mark("facts", name);
  return golden_.at("facts").at(name);
}

void Recorder::error(const std::string& name, const std::function<void()>& call) {
  mark("errors", name);
  const std::string category = golden_.at("errors").at(name).at("category");
  std::string got = "nothing";
  std::string text;
  try {
    call();
  } catch (const GradientError& e) {
    got = "GradientError", text = e.what();
  } catch (const ShapeError& e) {
    got = "ShapeError", text = e.what();
  } catch (const DTypeError& e) {
    got = "DTypeError", text = e.what();
  } catch (const IndexError& e) {
    got = "IndexError", text = e.what();
  } catch (const ValueError& e) {
    got = "ValueError", text = e.what();
  } catch (const OwnError&) {
    got = "OwnError", text = "own";
  }
  static const std::map<std::string, std::string> kExceptions = {
      {"tape_used_up", "GradientError"},
      {"already_recording", "GradientError"},
      {"not_recording", "GradientError"},
      {"wrong_number_of_gradients", "GradientError"},
      {"variables_not_handled", "GradientError"},
      {"error_of_the_gradient_function", "OwnError"},
      {"size_mismatch", "ShapeError"},
      {"shapes_not_broadcastable", "ShapeError"},
      {"dtype_mismatch", "DTypeError"},
      {"index_out_of_range", "IndexError"},
      {"not_a_tensor", "ValueError"},
      {"bad_value", "ValueError"},
      {"not_persistent", "GradientError"},
      {"rank_too_small", "ShapeError"},
      {"repeated_source", "ValueError"},
      {"structure_mismatch", "ValueError"},
  };
  ASSERT_TRUE(kExceptions.contains(category)) << category;
  EXPECT_EQ(got, kExceptions.at(category)) << name << ": " << text;
  EXPECT_NE(text, "") << name;
}

void Recorder::leave_out(const std::string& name, const std::string& reason) {
  EXPECT_NE(reason, "");
  for (const char* kind : {"results", "facts", "errors"}) {
    if (golden_.contains(kind) && golden_.at(kind).contains(name)) {
      mark(kind, name);
      return;
    }
  }
  ADD_FAILURE() << "the case has no " << name;
}

void Recorder::finish() const {
  for (const char* kind : {"results", "facts", "errors"}) {
    if (!golden_.contains(kind)) continue;
    for (const auto& [name, item] : golden_.at(kind).items()) {
      EXPECT_TRUE(seen_.contains(std::string(kind) + "/" + name)) << "nothing was said of " << kind << "/" << name;
    }
  }
}

std::map<std::string, std::string> programs_left_out() {
  std::map<std::string, std::string> list;
  list.emplace("none_or_zero: identity_n, other output", "the op is not there yet");
  list.emplace("none_or_zero: unique values", "a gradient that does not exist is missing, as everywhere, and no error");
  list.emplace("none_or_zero: truncatediv", "truncatediv takes integers");
  return list;
}

}  // namespace capstan::testing
