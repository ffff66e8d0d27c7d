// einsum: sums of products named by letters.
//
// The equation is planned as a chain of pairs. Of each pair the letters fall into four classes:
// those of both operands that stay (the batch), those of one operand that stay (rows and columns),
// and those of both that are summed. So a pair is a batched matmul between transposes, which the
// kernels know, and the gradients are those of matmul. Letters that are in one operand only and
// do not stay are summed first; repeated letters of one operand are its diagonal.
#include <algorithm>
#include <string>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

// A letter, or kEllipsis + the distance of an unnamed axis from the last one of the ellipsis.
using Label = int;
constexpr Label kEllipsis = 256;
using Labels = std::vector<Label>;

struct Term {
  Tensor tensor;
  Labels labels;
};

bool contains(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// "ij" as labels; an ellipsis stands for `unnamed` axes.
Labels parse_term(std::string_view equation, std::string_view text, int unnamed, bool* has_ellipsis) {
  Labels labels;
  *has_ellipsis = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      CAPSTAN_CHECK(text.substr(i, 3) == "..." && !*has_ellipsis, ValueError, "einsum: misplaced dots in \"", equation,
                    "\"");
      *has_ellipsis = true;
      for (int k = unnamed; k-- > 0;) labels.push_back(kEllipsis + k);
      i += 2;
      continue;
    }
    CAPSTAN_CHECK((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), ValueError, "einsum: unexpected character '", c,
                  "' in \"", equation, "\"");
    labels.push_back(c);
  }
  return labels;
}

int letters_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return c != '.' && c != ' '; }));
}

std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = text.find(',', begin);
    terms.push_back(text.substr(begin, comma - begin));
    if (comma == std::string_view::npos) return terms;
    begin = comma + 1;
  }
}

// Sums an operand over the labels that `stays` rejects.
template <class Stays>
void sum_out(Term& term, const Stays& stays) {
  std::vector<int> axes;
  Labels rest;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (stays(term.labels[i])) {
      rest.push_back(term.labels[i]);
    } else {
      axes.push_back(static_cast<int>(i));
    }
  }
  if (axes.empty()) return;
  term.tensor = reduce_sum(term.tensor, Axes(std::span<const int>(axes)));
  term.labels = rest;
}

// Keeps the diagonal of repeated labels: all else becomes zero and one of the two axes is summed.
void take_diagonals(Term& term) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    for (std::size_t j = term.labels.size(); j-- > i + 1;) {
      if (term.labels[j] != term.labels[i]) continue;
      const Shape shape = term.tensor.shape();
      Shape mask_shape;
      for (int k = 0; k < shape.rank(); ++k) {
        mask_shape.push_back(k == static_cast<int>(i) || k == static_cast<int>(j) ? shape[k] : 1);
      }
      const std::int64_t n = shape[static_cast<int>(i)];
      const Tensor mask = reshape(cast(eye(n, n, float32), bool_), mask_shape);
      term.tensor = reduce_sum(where(mask, term.tensor, 0), static_cast<int>(j));
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

// Brings the axes into the order of `order`, which has the same labels.
Tensor arrange(const Term& term, const Labels& order) {
  std::vector<int> perm;
  for (Label label : order) {
    perm.push_back(static_cast<int>(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin()));
  }
  return std::is_sorted(perm.begin(), perm.end()) ? term.tensor
                                                  : transpose(term.tensor, Axes(std::span<const int>(perm)));
}

Labels joined(const Labels& a, const Labels& b) {
  Labels result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

template <class Keeps>
Term contract_pair(Term a, Term b, const Keeps& keeps) {
  sum_out(a, [&](Label label) { return keeps(label) || contains(b.labels, label); });
  sum_out(b, [&](Label label) { return keeps(label) || contains(a.labels, label); });
  Labels batch;
  Labels summed;
  Labels rows;
  Labels columns;
  const auto length = [](const Term& term, Label label) {
    const auto found = std::find(term.labels.begin(), term.labels.end(), label);
    return term.tensor.dim(static_cast<int>(found - term.labels.begin()));
  };
  std::int64_t sizes[4] = {1, 1, 1, 1};  // batch, rows, columns, summed
  Shape result;
  for (Label label : a.labels) {
    const bool in_both = contains(b.labels, label);
    (in_both ? keeps(label) ? batch : summed : rows).push_back(label);
    sizes[in_both ? keeps(label) ? 0 : 3 : 1] *= length(a, label);
  }
  for (Label label : b.labels) {
    if (contains(a.labels, label)) continue;
    columns.push_back(label);
    sizes[2] *= length(b, label);
  }
  for (Label label : joined(batch, rows)) result.push_back(length(a, label));
  for (Label label : columns) result.push_back(length(b, label));

  // Nothing moves if the axes already lie in an order that matmul can read.
  const bool turn_a = a.labels == joined(joined(batch, summed), rows) && !rows.empty() && !summed.empty();
  const bool turn_b = b.labels == joined(joined(batch, columns), summed) && !columns.empty() && !summed.empty();
  const Labels order_a = turn_a ? a.labels : joined(joined(batch, rows), summed);
  const Labels order_b = turn_b ? b.labels : joined(joined(batch, summed), columns);
  const auto matrix = [&](const Term& term, const Labels& order, std::int64_t m, std::int64_t n) {
    const Tensor arranged = arrange(term, order);
    return batch.empty() ? reshape(arranged, {m, n}) : reshape(arranged, {sizes[0], m, n});
  };
  const Tensor left = turn_a ? matrix(a, order_a, sizes[3], sizes[1]) : matrix(a, order_a, sizes[1], sizes[3]);
  const Tensor right = turn_b ? matrix(b, order_b, sizes[2], sizes[3]) : matrix(b, order_b, sizes[3], sizes[2]);
  const Tensor product =
      summed.empty() ? multiply(left, right) : matmul(left, right, {.transpose_a = turn_a, .transpose_b = turn_b});
  return {reshape(product, result), joined(joined(batch, rows), columns)};
}

Tensor compute(std::string_view equation, std::span<const Operand> operands) try {
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string_view> inputs = split_terms(equation.substr(0, arrow));
  CAPSTAN_CHECK(inputs.size() == operands.size(), ValueError, "einsum: \"", equation, "\" has ", inputs.size(),
                " terms for ", operands.size(), " tensors");
  std::vector<Term> terms;
  int unnamed = 0;  // the most axes that any ellipsis stands for
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Term term{to_tensor(operands[i]), {}};
    bool has_ellipsis = false;
    const int rest = term.tensor.rank() - letters_of(inputs[i]);
    term.labels = parse_term(equation, inputs[i], std::max(rest, 0), &has_ellipsis);
    CAPSTAN_CHECK(has_ellipsis ? rest >= 0 : rest == 0, ShapeError, "einsum: term ", i, " of \"", equation, "\" names ",
                  letters_of(inputs[i]), " axes, the tensor has ", term.tensor.rank(),
                  arguments({{"tensor", term.tensor}}));
    if (has_ellipsis) unnamed = std::max(unnamed, rest);
    terms.push_back(std::move(term));
  }

  Labels output;
  if (arrow != std::string_view::npos) {
    bool has_ellipsis = false;
    output = parse_term(equation, equation.substr(arrow + 2), unnamed, &has_ellipsis);
  } else {
    // Unnamed axes, then the letters that occur once, in alphabetical order.
    for (int k = unnamed; k-- > 0;) output.push_back(kEllipsis + k);
    Labels all;
    for (const Term& term : terms) all.insert(all.end(), term.labels.begin(), term.labels.end());
    for (Label label = 0; label < kEllipsis; ++label) {
      if (std::count(all.begin(), all.end(), label) == 1) output.push_back(label);
    }
  }

  // One length per label; an unnamed axis of length 1 broadcasts.
  std::vector<std::int64_t> lengths(kEllipsis + kMaxRank, -1);
  for (const Term& term : terms) {
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      const Label label = term.labels[i];
      const std::int64_t length = term.tensor.dim(static_cast<int>(i));
      std::int64_t& known = lengths[static_cast<std::size_t>(label)];
      if (known < 0 || (label >= kEllipsis && known == 1)) {
        known = length;
      } else if (!(label >= kEllipsis && length == 1)) {
        CAPSTAN_CHECK(known == length, ShapeError, "einsum: ",
                      label >= kEllipsis ? std::string("an unnamed axis")
                                         : "axis '" + std::string(1, static_cast<char>(label)) + "'",
                      " of \"", equation, "\" has lengths ", known, " and ", length);
      }
    }
  }
  for (std::size_t i = 0; i < output.size(); ++i) {
    CAPSTAN_CHECK(lengths[static_cast<std::size_t>(output[i])] >= 0, ValueError, "einsum: letter '",
                  static_cast<char>(output[i]), "' of the result is in no term of \"", equation, "\"");
    CAPSTAN_CHECK(std::count(output.begin(), output.end(), output[i]) == 1, ValueError, "einsum: letter '",
                  static_cast<char>(output[i]), "' stands twice in the result of \"", equation, "\"");
  }
  for (Term& term : terms) {
    take_diagonals(term);
    std::vector<int> ones;
    Labels rest;
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      const Label label = term.labels[i];
      if (label >= kEllipsis && term.tensor.dim(static_cast<int>(i)) == 1 &&
          lengths[static_cast<std::size_t>(label)] != 1) {
        ones.push_back(static_cast<int>(i));
      } else {
        rest.push_back(label);
      }
    }
    if (ones.empty()) continue;
    term.tensor = squeeze(term.tensor, Axes(std::span<const int>(ones)));
    term.labels = rest;
  }

  Term result = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    result = contract_pair(std::move(result), terms[i], [&](Label label) {
      if (contains(output, label)) return true;
      for (std::size_t k = i + 1; k < terms.size(); ++k) {
        if (contains(terms[k].labels, label)) return true;
      }
      return false;
    });
  }
  sum_out(result, [&](Label label) { return contains(output, label); });
  return arrange(result, output);
} catch (const Error&) {
  rethrow_as("einsum");
}

}  // namespace

constinit const OpDef kEinsum =
    composite<&einsum, "equation, tensors">("einsum", "Sums of products, described by an equation of letters.");

Tensor einsum(std::string_view equation, Operands tensors) { return compute(equation, tensors.span()); }

CAPSTAN_OPS(einsum, &kEinsum);

}  // namespace capstan
