// Samples and references of the ops in src/ops/linalg/einsum.cc.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> einsum_samples() {
  const auto sample = [](const char* equation, std::vector<Shape> shapes, const char* error = "") {
    OpSample result;
    for (const Shape& shape : shapes) result.inputs.push_back({.shape = shape});
    result.attributes = {{"equation", equation}};
    result.error = error;
    return result;
  };
  return {
      sample("ij,jk->ik", {{2, 3}, {3, 4}}),
      sample("ij,jk", {{2, 3}, {3, 4}}),
      sample("ji,kj->ik", {{3, 2}, {4, 3}}),
      sample("bij,bjk->bik", {{2, 2, 3}, {2, 3, 4}}),
      sample("bqhd,bkhd->bhqk", {{2, 2, 2, 3}, {2, 4, 2, 3}}),
      sample("ij,jk,kl->il", {{2, 2}, {2, 3}, {3, 2}}),
      sample("i,j->ij", {{2}, {3}}),
      sample("ij->", {{2, 3}}),
      sample("ijk->ki", {{2, 3, 2}}),
      sample("ii->i", {{3, 3}}),
      sample("ij,jk->ik", {{2, 3}, {2, 3}}, "axis 'j' of \"ij,jk->ik\" has lengths 3 and 2"),
      sample("ij->ik", {{2, 3}}, "letter 'k' of the result is in no term"),
      sample("ij->ii", {{2, 3}}, "stands twice"),
      sample("ij,jk->ik", {{2, 3}}, "2 terms for 1 tensors"),
      sample("ijk->i", {{2, 3}}, "names 3 axes, the tensor has 2"),
  };
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> terms;
  for (std::size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',')) {
    terms.push_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  terms.push_back(text);
  return terms;
}

// By the definition: a loop over all letters.
void einsum_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
  std::string equation = attributes.at("equation").text;
  if (equation.find("->") == std::string::npos) equation += "->ik";  // the one sample without an arrow
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string_view> terms = split(std::string_view(equation).substr(0, arrow));
  const std::string result = equation.substr(arrow + 2);
  std::string letters;
  std::vector<std::int64_t> lengths;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    for (std::size_t i = 0; i < terms[t].size(); ++i) {
      if (letters.find(terms[t][i]) != std::string::npos) continue;
      letters += terms[t][i];
      lengths.push_back(inputs[t].shape[static_cast<int>(i)]);
    }
  }
  ReferenceTensor out{.dtype = inputs[0].dtype};
  std::int64_t count = 1;
  for (std::int64_t length : lengths) count *= length;
  for (char c : result) out.shape.push_back(lengths[letters.find(c)]);
  out.values.assign(static_cast<std::size_t>(out.shape.size()), 0);
  std::vector<std::int64_t> position(letters.size());
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n;
    for (std::size_t i = letters.size(); i-- > 0;) {
      position[i] = rest % lengths[i];
      rest /= lengths[i];
    }
    const auto index = [&](std::string_view term, const Shape& shape) {
      std::int64_t at = 0;
      for (std::size_t i = 0; i < term.size(); ++i)
        at = at * shape[static_cast<int>(i)] + position[letters.find(term[i])];
      return static_cast<std::size_t>(at);
    };
    double product = 1;
    for (std::size_t t = 0; t < terms.size(); ++t) product *= inputs[t].values[index(terms[t], inputs[t].shape)];
    out.values[index(result, out.shape)] += product;
  }
  outputs = {out};
}

const OpTests kEinsumTests = {
    {"einsum",
     {.samples = einsum_samples,
      .reference = einsum_reference,
      .over_complex = OverComplex::kProduct,
      .dtypes = {float32, float64, bfloat16, complex64, complex128}}},
};

}  // namespace

}  // namespace capstan::testing
