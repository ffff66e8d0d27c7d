// Muon: steps by the momentum of a matrix with its singular values made one; Adam for what is no matrix.
//
// Which of the two a variable gets is decided when the slots are made: only Adam has a velocity.
#include <regex.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>

#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/core/check.h"
#include "src/train/classes.h"
#include "src/train/moments.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> MuonOptions::fields() {
  using O = MuonOptions;
  static constexpr auto all = with_optimizer_options<O>(
      {option<&O::adam_beta_1>("adam_beta_1"), option<&O::adam_beta_2>("adam_beta_2"), option<&O::epsilon>("epsilon"),
       option<&O::exclude_layers>("exclude_layers"), option<&O::muon_a>("muon_a"), option<&O::muon_b>("muon_b"),
       option<&O::muon_c>("muon_c"), option<&O::adam_lr_ratio>("adam_lr_ratio"), option<&O::momentum>("momentum"),
       option<&O::ns_steps>("ns_steps").at_least(1), option<&O::nesterov>("nesterov"),
       option<&O::exclude_embeddings>("exclude_embeddings"), option<&O::adam_weight_decay>("adam_weight_decay"),
       option<&O::rms_rate>("rms_rate")});
  return all;
}

namespace {

// The C library's: std::regex takes 60 kB and a stack as deep as the text is long.
using Expression = std::unique_ptr<regex_t, decltype([](regex_t* one) {
                                     regfree(one);
                                     delete one;
                                   })>;

// Counts and references to groups can take any time and memory, and groups within groups the stack; an expression may
// come from a file.
bool is_costly(const std::string& text) {
  if (text.size() > 1000 || text.find('{') != text.npos) return true;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0) return true;
  }
  return false;
}

std::vector<Expression> expressions_of(const std::vector<std::string>& texts) {
  std::vector<Expression> expressions;
  for (const std::string& text : texts) {
    CAPSTAN_CHECK(!is_costly(text), ValueError, "Muon: option \"exclude_layers\" has \"", text,
                  "\", which is longer than 1000 characters, or has a count in braces or a reference to a group");
    auto one = std::make_unique<regex_t>();
    CAPSTAN_CHECK(regcomp(one.get(), text.c_str(), REG_EXTENDED | REG_NOSUB) == 0, ValueError,
                  "Muon: option \"exclude_layers\" has \"", text, "\", which is no regular expression");
    expressions.emplace_back(one.release());
  }
  return expressions;
}

struct MuonRule final : Rule<MuonRule, MuonOptions> {
  explicit MuonRule(const MuonOptions& options = {})
      : Rule(options), excluded_(expressions_of(options.exclude_layers)) {}
  static constexpr std::string_view kName = "Muon";
  static constexpr std::string_view kText = "Steps by the orthogonal part of the momentum of matrices.";

  std::vector<Slot> slots(const Variable& variable) const override {
    return is_adams(variable) ? std::vector<Slot>{{"momentum"}, {"velocity"}} : std::vector<Slot>{{"momentum"}};
  }

  std::optional<double> weight_decay(const Variable& variable) const override {
    return is_adams(variable) ? options.adam_weight_decay : options.weight_decay;
  }

  Numbers numbers(const Moment& now) const override {
    return {now.learning_rate,
            options.adam_lr_ratio * detail::corrected_rate(options.adam_beta_1, options.adam_beta_2, now)};
  }

  void step(UpdateStep& s) const override {
    const Tensor& g = s.gradient();
    if (s.slot_count() == 2) return adam(s);
    const Tensor m = s.slot(0) * options.momentum + g;
    s.set_slot(0, m);
    Tensor change = orthogonal(options.nesterov ? g + m * options.momentum : m) * s.rate();
    if (options.rms_rate) {
      const auto longer = static_cast<double>(std::max(g.dim(0), g.dim(1)));
      change = change * (std::sqrt(longer) * *options.rms_rate);
    }
    s.set_variable(s.variable() - change);
  }

 private:
  bool is_adams(const Variable& variable) const {
    if (variable.shape().rank() != 2) return true;
    const std::string& path = variable.path();
    std::string small = path;
    std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
    if (options.exclude_embeddings && small.find("embedding") != std::string::npos) return true;
    return std::any_of(excluded_.begin(), excluded_.end(),
                       [&](const Expression& one) { return regexec(one.get(), path.c_str(), 0, nullptr, 0) == 0; });
  }

  void adam(UpdateStep& s) const {
    const Tensor& g = s.gradient();
    const Tensor m = s.slot(0) + (g - s.slot(0)) * (1 - options.adam_beta_1);
    const Tensor v = s.slot(1) + (g * g - s.slot(1)) * (1 - options.adam_beta_2);
    s.set_slot(0, m);
    s.set_slot(1, v);
    s.set_variable(s.variable() - m * s.number(1) / (sqrt(v) + options.epsilon));
  }

  // Singular values come near 1 by an odd polynomial of fifth order, with products of the shorter side.
  Tensor orthogonal(const Tensor& given) const {
    const bool is_tall = given.dim(0) > given.dim(1);
    Tensor x = is_tall ? matrix_transpose(given) : given;
    x = x / (sqrt(reduce_sum(x * x)) + 1e-7);
    for (int i = 0; i < options.ns_steps; ++i) {
      const Tensor a = matmul(x, x, {.transpose_b = true});
      const Tensor b = a * options.muon_b + matmul(a, a) * options.muon_c;
      x = x * options.muon_a + matmul(b, x);
    }
    return is_tall ? matrix_transpose(x) : x;
  }

  const std::vector<Expression> excluded_;
};

}  // namespace

Muon::Muon(const MuonOptions& options) : Optimizer(make_configurable<MuonRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::muon_class() { return optimizers::MuonRule::info(); }

}  // namespace capstan
