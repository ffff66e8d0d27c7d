// What StringLookup, IntegerLookup and TextVectorization look up: tokens and their places.
//
// The places are: that of the mask if there is one and the mode is "int", those of unknown tokens, the tokens. What
// `adapt` counts is kept between its parts only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capstan/registry.h"
#include "src/core/check.h"

namespace capstan::detail {

// A list of all places can be held.
inline constexpr double kMostOovIndices = 1 << 24;

// What tokens and their places are made with.
template <class Token>
struct VocabularyRules {
  const char* layer;
  std::string output_mode;
  std::optional<std::int64_t> max_tokens;
  std::int64_t num_oov_indices = 1;
  std::optional<Token> mask_token;
  std::optional<Token> oov_token;
  bool invert = false;
  bool pad_to_max_tokens = false;
};

template <class Token>
class Vocabulary {
 public:
  using Rules = VocabularyRules<Token>;

  // Throws ValueError for rules and a vocabulary that do not go together.
  Vocabulary(Rules rules, const std::vector<Token>& given, const std::vector<double>& idf_weights)
      : rules_(std::move(rules)), is_given_(!given.empty()) {
    const Rules& r = rules_;
    CAPSTAN_CHECK(!r.pad_to_max_tokens || r.max_tokens, ValueError, r.layer,
                  ": pad_to_max_tokens needs max_tokens, which is not given");
    CAPSTAN_CHECK(!r.invert || r.output_mode == "int", ValueError, r.layer,
                  ": invert needs output_mode \"int\", not \"", r.output_mode, "\"");
    CAPSTAN_CHECK(r.oov_token || (r.num_oov_indices == 0 && !r.invert), ValueError, r.layer,
                  ": oov_token must be given with num_oov_indices ", r.num_oov_indices, " or invert");
    CAPSTAN_CHECK(!r.max_tokens || *r.max_tokens > token_start(), ValueError, r.layer, ": max_tokens ",
                  r.max_tokens.value_or(0), " leaves no place for tokens beside ", token_start(), " special ones");
    if (is_given_) {
      set(given, idf_weights);
    } else {
      CAPSTAN_CHECK(idf_weights.empty(), ValueError, r.layer, ": idf_weights need a vocabulary, which is not given");
    }
  }

  bool has_tokens() const { return !tokens_.empty(); }
  // Whether the layer was made with its vocabulary.
  bool is_given() const { return is_given_; }
  const Rules& rules() const { return rules_; }
  const std::vector<Token>& tokens() const { return tokens_; }

  std::int64_t oov_start() const { return rules_.mask_token && rules_.output_mode == "int" ? 1 : 0; }
  std::int64_t token_start() const { return oov_start() + rules_.num_oov_indices; }
  std::int64_t size() const { return token_start() + static_cast<std::int64_t>(tokens_.size()); }
  // The length of vectors.
  std::int64_t depth() const { return rules_.pad_to_max_tokens ? *rules_.max_tokens : size(); }
  // Whether lengths are the same for every vocabulary.
  bool knows_lengths() const { return rules_.output_mode == "int" || rules_.pad_to_max_tokens; }
  // A weight for each place.
  const std::vector<double>& idf() const { return idf_; }

  // The place of a token, or -1.
  std::int64_t find(const Token& token) const {
    const auto found = places_.find(token);
    return found == places_.end() ? -1 : found->second;
  }
  // The token of a place of one; oov_token elsewhere.
  const Token& at(std::int64_t place) const {
    if (oov_start() == 1 && place == 0) return *rules_.mask_token;
    const bool is_token = place >= token_start() && place < size();
    return is_token ? tokens_[static_cast<std::size_t>(place - token_start())] : *rules_.oov_token;
  }
  std::vector<Token> all(bool with_special) const {
    std::vector<Token> result;
    if (with_special) result = special();
    result.insert(result.end(), tokens_.begin(), tokens_.end());
    return result;
  }

  void check_has_tokens(const std::string& name) const {
    CAPSTAN_CHECK(has_tokens(), ValueError, name, ": the layer has no vocabulary yet",
                  help("call adapt() with data or set_vocabulary() before, or give a vocabulary"));
  }

  void set(const std::vector<Token>& given, const std::vector<double>& idf_weights) {
    const Rules& r = rules_;
    const bool has_idf = r.output_mode == "tf_idf";
    CAPSTAN_CHECK(!given.empty(), ValueError, r.layer, ": the vocabulary is empty");
    CAPSTAN_CHECK(has_idf || idf_weights.empty(), ValueError, r.layer,
                  ": idf_weights are for output_mode \"tf_idf\", not \"", r.output_mode, "\"");
    CAPSTAN_CHECK(!has_idf || idf_weights.size() == given.size(), ValueError, r.layer,
                  ": output_mode \"tf_idf\" needs ", given.size(),
                  " idf_weights, as many as the vocabulary has tokens, not ", idf_weights.size());
    const std::vector<Token> front = special();
    const bool has_special = given.size() >= front.size() && std::equal(front.begin(), front.end(), given.begin());
    std::vector<Token> tokens(given.begin() + (has_special ? static_cast<std::ptrdiff_t>(front.size()) : 0),
                              given.end());
    std::set<Token> seen;
    for (const Token& token : tokens) {
      CAPSTAN_CHECK(seen.insert(token).second, ValueError, r.layer, ": the vocabulary has the token ", quoted(token),
                    " twice");
      CAPSTAN_CHECK(r.mask_token != token, ValueError, r.layer, ": the vocabulary holds the mask token ", quoted(token),
                    help("leave the special tokens out, or put all of them in front, as get_vocabulary() has them"));
      CAPSTAN_CHECK(!r.invert || r.oov_token != token, ValueError, r.layer,
                    ": the vocabulary holds the token of unknown ones, ", quoted(token),
                    help("leave the special tokens out, or put all of them in front, as get_vocabulary() has them"));
    }
    const auto size = static_cast<std::int64_t>(tokens.size()) + token_start();
    CAPSTAN_CHECK(!r.max_tokens || size <= *r.max_tokens, ValueError, r.layer, ": the vocabulary has ", size,
                  " tokens with the special ones, more than max_tokens, ", r.max_tokens.value_or(0));
    double mean = 0;
    for (const double weight : idf_weights) mean += weight / static_cast<double>(given.size());
    std::vector<double> idf;
    if (has_idf) {
      if (!has_special) idf.assign(front.size(), mean);
      idf.insert(idf.end(), idf_weights.begin(), idf_weights.end());
    }
    replace(std::move(tokens), std::move(idf));
  }

  // --- Learning ---

  void reset() {
    counts_.clear();
    documents_.clear();
    document_count_ = 0;
  }

  void check_learns(const std::string& name) const {
    CAPSTAN_CHECK(!is_given_, ValueError, name, ": adapt: the layer was given its vocabulary and learns none");
  }

  // The tokens of one document.
  void count(std::span<const Token> document) {
    for (const Token& token : document) ++counts_[token];
    ++document_count_;
    if (rules_.output_mode != "tf_idf") return;
    for (const Token& token : std::set<Token>(document.begin(), document.end())) ++documents_[token];
  }

  void finish(const std::string& name) {
    for (const auto& special : {rules_.mask_token, rules_.oov_token}) {
      if (special) counts_.erase(*special);
    }
    CAPSTAN_CHECK(!counts_.empty(), ValueError, name, ": adapt: the data hold no tokens");
    std::vector<std::pair<std::int64_t, Token>> order;
    for (const auto& [token, count] : counts_) order.emplace_back(count, token);
    // The most frequent first, and of equally frequent ones the largest.
    std::sort(order.begin(), order.end(), std::greater<>());
    if (rules_.max_tokens) {
      order.resize(std::min(order.size(), static_cast<std::size_t>(*rules_.max_tokens - token_start())));
    }
    std::vector<Token> tokens;
    for (auto& [count, token] : order) tokens.push_back(std::move(token));
    std::vector<double> idf;
    if (rules_.output_mode == "tf_idf") {
      double sum = 0;
      for (const Token& token : tokens) {
        const auto found = documents_.find(token);
        const double with_token = found == documents_.end() ? 0 : static_cast<double>(found->second);
        idf.push_back(std::log(1 + static_cast<double>(document_count_) / (1 + with_token)));
        sum += idf.back();
      }
      idf.insert(idf.begin(), static_cast<std::size_t>(token_start()), sum / static_cast<double>(tokens.size()));
    }
    reset();
    replace(std::move(tokens), std::move(idf));
  }

 private:
  static std::string quoted(const std::string& token) { return "\"" + token + "\""; }
  static std::string quoted(std::int64_t token) { return std::to_string(token); }

  std::vector<Token> special() const {
    std::vector<Token> result;
    if (oov_start() == 1) result.push_back(*rules_.mask_token);
    if (rules_.oov_token)
      result.insert(result.end(), static_cast<std::size_t>(rules_.num_oov_indices), *rules_.oov_token);
    return result;
  }

  void replace(std::vector<Token> tokens, std::vector<double> idf) {
    std::unordered_map<Token, std::int64_t> places;
    for (const Token& token : tokens) places.emplace(token, token_start() + static_cast<std::int64_t>(places.size()));
    tokens_ = std::move(tokens);
    places_ = std::move(places);
    idf_ = std::move(idf);
  }

  const Rules rules_;
  const bool is_given_;
  std::vector<Token> tokens_;
  std::unordered_map<Token, std::int64_t> places_;
  std::vector<double> idf_;  // of each place, special ones too; "tf_idf" only

  std::unordered_map<Token, std::int64_t> counts_, documents_;
  std::int64_t document_count_ = 0;
};

// What a layer has learned, in its configuration: with it another layer can be made that gives the same.
template <class Token>
void set_learned(AttributeValue& config, const Vocabulary<Token>& vocabulary) {
  if (!vocabulary.has_tokens()) return;
  config.set("vocabulary_size", vocabulary.size());
  if (vocabulary.is_given()) return;
  const std::vector<Token> tokens = vocabulary.all(true);
  config.set("vocabulary", std::vector<AttributeValue>(tokens.begin(), tokens.end()));
  if (!vocabulary.idf().empty()) {
    config.set("idf_weights", std::vector<AttributeValue>(vocabulary.idf().begin(), vocabulary.idf().end()));
  }
}

}  // namespace capstan::detail
