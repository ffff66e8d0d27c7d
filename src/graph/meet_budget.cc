// A program that needs more memory than it may have computes values again instead of keeping them.
//
// What fills the memory of a training step is what the forward pass computes and the backward pass reads. At the step
// where most is held, the turn, the values that were made before it and are read after it are looked at. They fall
// into segments of some bytes, cut where the fewest bytes lead from one to the next; what leads across a cut is kept,
// and what else is read after the turn is computed once more in front of its first reader there, from what is kept:
// at most one segment at a time. Segments of several lengths are tried, of each the first so many that the peak
// suffices, since those are kept longest, and then one value more or less. The cheapest choice that meets the budget
// is taken, or the one with the lowest peak. First only loops, sums and the like may be computed again, then products
// and convolutions as well. The peak is that of a simulation, which is linear; the arena of the result is measured,
// and if it is larger than that, the next attempt aims lower. Then the same again at the next turn.
//
// This is done to finished loops: a second one reads what is kept, as a loop of its own, so that the bits are the same
// and nothing pulls it to where the first one is. Draws and other effects are kept.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "src/graph/execution_plan.h"
#include "src/graph/graph.h"
#include "src/graph/price.h"
#include "src/graph/units.h"

namespace capstan {

namespace {

using Value = Graph::Value;

constexpr std::int32_t kNobody = Units::kNobody;
constexpr std::int32_t kAgain = -1;  // see Graph::Node::rerun
constexpr int kRounds = 6;
constexpr int kMeasures = 4;
constexpr std::size_t kMostPrefixes = 12;
constexpr std::size_t kMostFlips = 96;
// An operand so many times smaller than what is computed from it is rather kept.
constexpr std::size_t kSmall = 8;

// A second run of a unit, as far as it is needed.
struct Again {
  std::vector<std::size_t> nodes;
  std::vector<Value> operands, outputs;
};

// What is computed again after a turn.
struct Choice {
  std::vector<bool> evicted;  // by value: read after the turn and not kept for that
  std::vector<bool> needed;   // by value: that, and what it takes to compute it
  std::vector<Again> again;   // by unit
  double cost = 0;
};

// The order of a run: units, and second runs of some.
struct Entry {
  std::int32_t unit;
  bool again;
};

class Recomputation {
 public:
  explicit Recomputation(Graph& graph) : graph_(graph), plan_(graph) {}

  // The most bytes that are needed at once, and which unit needs them.
  std::size_t find_turn() {
    const Choice none = {.evicted = std::vector<bool>(bytes_.size()),
                         .needed = std::vector<bool>(bytes_.size()),
                         .again = std::vector<Again>(units_.size())};
    turn_ = index(units_.size());
    from_ = 0;
    to_ = turn_;
    needs_.assign(units_.size(), 0);
    const std::size_t peak = simulate(none);
    turn_ = peak_unit_;
    from_ = find_valley(-1);
    to_ = find_valley(1);
    find_reads();
    return peak;
  }

  // The cheapest choice that needs no more than the target at this turn, or the one that needs least there; and that.
  std::size_t choose(std::size_t target, Choice& best) {
    std::size_t lowest = std::numeric_limits<std::size_t>::max();
    const auto is_better = [&](const Choice& choice) {
      if (lowest <= target && choice.cost >= best.cost) return false;
      const std::size_t peak = simulate(choice);
      if (peak > target && (peak > lowest || (peak == lowest && choice.cost >= best.cost))) return false;
      lowest = peak;
      return true;
    };
    for (const Price most : {Price::kLight, Price::kDense}) {
      find_candidates(most);
      std::size_t total = 0;
      for (const Value value : candidates_) total += bytes_[at(value)];
      std::size_t tried = 0;
      for (const std::size_t parts : {1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64}) {
        const std::vector<std::size_t> segments = cut(total / parts);
        if (segments.size() == tried) continue;
        tried = segments.size();
        const std::size_t stride = (segments.size() + kMostPrefixes - 1) / kMostPrefixes;
        for (std::size_t s = stride; s < segments.size() + stride; s += stride) {
          Choice choice = choose_first(segments[std::min(s, segments.size()) - 1]);
          if (is_better(choice)) best = std::move(choice);
        }
      }
      if (best.evicted.empty()) continue;
      // One value more or less, the largest first.
      std::sort(candidates_.begin(), candidates_.end(), [&](Value a, Value b) {
        return bytes_[at(a)] != bytes_[at(b)] ? bytes_[at(a)] > bytes_[at(b)] : a < b;
      });
      candidates_.resize(std::min(candidates_.size(), kMostFlips));
      for (const Value value : candidates_) {
        std::vector<bool> evicted = best.evicted;
        evicted[at(value)] = !evicted[at(value)];
        Choice choice = complete(std::move(evicted));
        if (is_better(choice)) best = std::move(choice);
      }
      if (lowest <= target) break;
    }
    return lowest;
  }

  void apply(const Choice& choice) {
    simulate(choice);
    const std::vector<Graph::Node> before = std::exchange(graph_.nodes, {});
    std::vector<Value> second(bytes_.size(), Graph::kNone), in_passing(bytes_.size(), Graph::kNone);
    for (const Graph::Node& node : before) groups_ = std::max(groups_, node.group + 1);
    for (const Entry& entry : entries_) {
      if (entry.again) {
        add_again(before, entry.unit, choice, second);
        continue;
      }
      std::int32_t copy = Graph::kNone;
      for (const std::size_t n : units_[at(entry.unit)].nodes) {
        Graph::Node node = before[n];
        for (Value& input : node.inputs) {
          if (plan_.in_prologue[at(input)]) {
            input = in_passing[at(input)];
          } else if (entry.unit > turn_ && is_needed(choice, input)) {
            input = second[at(input)];
          }
        }
        // A loop that several readers run for themselves is one for each of them from here on.
        if (is_in_prologue(node)) {
          Value& made = in_passing[at(node.outputs[0])];
          if (made == Graph::kNone) {
            made = node.outputs[0];
          } else {
            if (copy == Graph::kNone) copy = groups_++;
            node.group = copy;
            node.outputs[0] = made = add_like(made);
          }
        }
        graph_.nodes.push_back(std::move(node));
      }
    }
    remove_dead(graph_);
  }

 private:
  // The unit where least is needed on this side of the turn, before as much as half way up to another one.
  std::int32_t find_valley(std::int32_t direction) const {
    std::int32_t valley = turn_;
    for (std::int32_t u = turn_; u >= 0 && u < index(units_.size()); u += direction) {
      const std::size_t low = needs_[at(valley)];
      if (needs_[at(u)] > low + (needs_[at(turn_)] - low) / 2 && u != turn_ && low < needs_[at(turn_)] / 2) break;
      if (needs_[at(u)] <= low) valley = u;
    }
    return valley;
  }

  // Whether it is there after the turn without a place in the arena.
  bool is_free(Value value) const { return maker_[at(value)] == kNobody || plan_.leaves[at(value)]; }
  bool is_read_late(Value value) const { return last_[at(value)] > turn_; }

  // --- What can be computed again ---

  // After find_turn(). The values that are kept across the turn and need not be, in the order in which they are made.
  void find_candidates(Price most) {
    std::vector<bool> can(bytes_.size());
    for (std::int32_t u = 0; u <= turn_; ++u) {
      for (const std::size_t n : units_[at(u)].nodes) {
        const Graph::Node& node = graph_.nodes[n];
        bool possible = price_of(node) <= most;
        for (const Value input : node.inputs) {
          possible =
              possible && (is_free(input) || is_read_late(input) || can[at(input)] || is_small(input, node.outputs[0]));
        }
        for (const Value output : node.outputs) can[at(output)] = possible;
      }
    }
    candidates_.clear();
    weight_.assign(at(turn_) + 2, 0);
    for (std::int32_t u = 0; u <= turn_; ++u) {
      for (const Value value : units_[at(u)].outputs) {
        const bool late = is_read_late(value);
        if (bytes_[at(value)] == 0 || pinned_[at(value)] || !can[at(value)]) continue;
        if (late) candidates_.push_back(value);
        for (std::int32_t p = u; p < early_[at(value)]; ++p) weight_[at(p)] += bytes_[at(value)];
      }
    }
  }

  // The last reads of values: at all, and up to the turn.
  void find_reads() {
    last_.assign(bytes_.size(), kNobody);
    early_.assign(bytes_.size(), kNobody);
    pinned_.assign(bytes_.size(), false);
    for (std::int32_t u = index(units_.size()) - 1; u >= 0; --u) {
      const Unit& unit = units_[at(u)];
      std::int32_t last = u;
      std::int32_t early = u;
      bool views = false;
      if (unit.makes_outputs) {
        for (const Value output : unit.outputs) {
          last = std::max(last, last_[at(output)]);
          early = std::max(early, early_[at(output)]);
        }
        views = !has_flag(*graph_.nodes[unit.nodes[0]].op, kReshapes) && u <= turn_ && last > turn_;
      }
      for (const Value operand : unit.operands) {
        last_[at(operand)] = std::max(last_[at(operand)], last);
        if (u <= turn_) early_[at(operand)] = std::max(early_[at(operand)], early);
        if (views) pinned_[at(operand)] = true;
        if (unit.makes_outputs && pinned_[at(unit.outputs[0])]) pinned_[at(operand)] = true;
      }
    }
  }

  bool is_small(Value operand, Value of) const {
    const auto size = [&](Value value) { return at(graph_.values[at(value)].shape.size()); };
    return bytes_[at(operand)] > 0 && size(operand) * kSmall <= size(of);
  }

  // Cuts the candidates into segments of about so many bytes. Marks what leads across a cut as kept, and returns where
  // each segment ends, as a number of candidates.
  std::vector<std::size_t> cut(std::size_t bytes) {
    kept_.assign(bytes_.size(), false);
    std::vector<std::size_t> weight = weight_;
    std::vector<std::size_t> ends;
    std::size_t begin = 0;
    std::size_t held = 0;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      held += bytes_[at(candidates_[c])];
      if (held < bytes || c + 1 == candidates_.size()) continue;
      // Somewhere near, half a segment back and forth.
      std::size_t low = c;
      std::size_t ahead = held;
      for (std::size_t k = begin + (c - begin + 1) / 2; k + 1 < candidates_.size() && ahead <= bytes + bytes / 2; ++k) {
        if (weight[at(maker_[at(candidates_[k])])] < weight[at(maker_[at(candidates_[low])])]) low = k;
        if (k > c) ahead += bytes_[at(candidates_[k])];
      }
      const std::int32_t place = maker_[at(candidates_[low])];
      while (low + 1 < candidates_.size() && maker_[at(candidates_[low + 1])] == place) ++low;
      for (std::size_t k = 0; k <= low; ++k) {
        const Value value = candidates_[k];
        if (kept_[at(value)] || early_[at(value)] <= place) continue;
        kept_[at(value)] = true;
        for (std::int32_t p = maker_[at(value)]; p < early_[at(value)]; ++p) weight[at(p)] -= bytes_[at(value)];
      }
      ends.push_back(low + 1);
      begin = low + 1;
      held = 0;
      for (std::size_t k = begin; k <= c; ++k) held += bytes_[at(candidates_[k])];
      c = std::max(c, low);
    }
    if (ends.empty() || ends.back() < candidates_.size()) ends.push_back(candidates_.size());
    return ends;
  }

  // The first candidates are not kept, unless they lead across a cut.
  Choice choose_first(std::size_t count) const {
    std::vector<bool> evicted(bytes_.size());
    for (std::size_t c = 0; c < count; ++c) evicted[at(candidates_[c])] = !kept_[at(candidates_[c])];
    return complete(std::move(evicted));
  }

  Choice complete(std::vector<bool> evicted) const {
    Choice choice = {.evicted = std::move(evicted), .needed = {}, .again = std::vector<Again>(units_.size())};
    // Reshapes of what is not kept.
    for (std::int32_t u = 0; u <= turn_; ++u) {
      const Unit& unit = units_[at(u)];
      if (!unit.makes_outputs || !has_flag(*graph_.nodes[unit.nodes[0]].op, kReshapes)) continue;
      const bool base = choice.evicted[at(graph_.nodes[unit.nodes[0]].inputs[0])];
      choice.evicted[at(unit.outputs[0])] = base && is_read_late(unit.outputs[0]);
    }
    choice.needed = choice.evicted;
    for (std::int32_t u = turn_; u >= 0; --u) find_again(u, choice);
    return choice;
  }

  // Which part of a unit runs again, and what that needs.
  void find_again(std::int32_t u, Choice& choice) const {
    const Unit& unit = units_[at(u)];
    Again& again = choice.again[at(u)];
    for (const Value output : unit.outputs) {
      if (choice.needed[at(output)]) again.outputs.push_back(output);
    }
    if (again.outputs.empty()) return;
    std::vector<Value> wanted = again.outputs;
    for (std::size_t k = unit.nodes.size(); k-- > 0;) {
      const std::size_t n = unit.nodes[k];
      const Graph::Node& node = graph_.nodes[n];
      const bool used =
          std::any_of(node.outputs.begin(), node.outputs.end(), [&](Value output) { return is_among(wanted, output); });
      if (!used) continue;
      again.nodes.push_back(n);
      choice.cost += cost_of(node);
      for (const Value input : node.inputs) {
        if (is_kept(choice, u, input, node)) {
          add_once(again.operands, input);
        } else if (maker_[at(input)] == u || plan_.in_prologue[at(input)]) {
          wanted.push_back(input);
        } else {
          choice.needed[at(input)] = true;
          add_once(again.operands, input);
        }
      }
    }
    std::reverse(again.nodes.begin(), again.nodes.end());
    for (const Value value : again.operands) choice.cost += size(value);
    for (const Value value : again.outputs) choice.cost += size(value);
  }

  // Whether a second run reads what the first one has made.
  bool is_kept(const Choice& choice, std::int32_t u, Value input, const Graph::Node& node) const {
    if (is_free(input)) return true;
    if (choice.evicted[at(input)] || is_inside(input)) return false;
    return is_read_late(input) || (maker_[at(input)] != u && is_small(input, node.outputs[0]));
  }
  bool is_needed(const Choice& choice, Value value) const {
    return at(value) < choice.needed.size() && choice.needed[at(value)];
  }

  bool is_in_prologue(const Graph::Node& node) const {
    return node.group != Graph::kNone && plan_.in_prologue[at(node.outputs[0])];
  }
  Value add_like(Value value) {
    const Graph::ValueInfo info = graph_.values[at(value)];
    return graph_.add_value(info.dtype, info.shape);
  }
  bool is_inside(Value value) const { return plan_.inside[at(value)]; }
  double size(Value value) const { return static_cast<double>(graph_.values[at(value)].shape.size()); }

  // In elements that are read or written.
  double cost_of(const Graph::Node& node) const {
    const double out = size(node.outputs[0]);
    if (price_of(node) == Price::kLight) return 0.25 * out;
    return std::sqrt(out * size(node.inputs[0]) * size(node.inputs[1])) / 8;
  }

  // --- A run with it ---

  // Lists the entries of a run and returns the peak of its memory between the first and the last candidate.
  std::size_t simulate(const Choice& choice) {
    entries_.clear();
    std::vector<bool> done(units_.size());
    std::size_t lost = 0;
    for (std::int32_t u = 0; u < index(units_.size()); ++u) {
      for (std::size_t k = 0; u > turn_ && k < units_[at(u)].operands.size(); ++k) {
        const Value operand = units_[at(u)].operands[k];
        if (choice.needed[at(operand)]) run_again(maker_[at(operand)], u, choice, done, lost);
      }
      entries_.push_back({u, false});
    }
    return peak_of(choice) + lost;
  }

  // Lists the second run of a unit after those that it needs. `lost` counts variables that cannot be updated where
  // they lie because of it.
  void run_again(std::int32_t first, std::int32_t now, const Choice& choice, std::vector<bool>& done,
                 std::size_t& lost) {
    std::vector<std::int32_t> open = {first};
    while (!open.empty()) {
      const std::int32_t u = open.back();
      const Again& again = choice.again[at(u)];
      const auto wanted = std::find_if(again.operands.begin(), again.operands.end(), [&](Value operand) {
        return choice.needed[at(operand)] && !done[at(maker_[at(operand)])];
      });
      if (!done[at(u)] && wanted != again.operands.end()) {
        open.push_back(maker_[at(*wanted)]);
        continue;
      }
      open.pop_back();
      if (done[at(u)]) continue;
      done[at(u)] = true;
      entries_.push_back({u, true});
      for (const Value operand : again.operands) {
        const std::int32_t writer = plan_.written_by[at(operand)];
        if (writer != kNobody && writer < now) lost += at(static_cast<std::int64_t>(size(operand))) * 4;
      }
    }
  }

  std::size_t peak_of(const Choice& choice) {
    // What a second run makes is after all values.
    const std::size_t count = bytes_.size();
    std::vector<std::size_t> last(2 * count, 0);
    made_.assign(2 * count, false);
    const auto for_operands = [&](const Entry& entry, const auto& f) {
      const bool late = entry.again || entry.unit > turn_;
      for (const Value operand :
           entry.again ? choice.again[at(entry.unit)].operands : units_[at(entry.unit)].operands) {
        const bool second = late && choice.needed[at(operand)];
        f(at(operand) + (second ? count : 0));
      }
    };
    const auto for_outputs = [&](const Entry& entry, const auto& f) {
      for (const Value output : entry.again ? choice.again[at(entry.unit)].outputs : units_[at(entry.unit)].outputs) {
        f(at(output) + (entry.again ? count : 0));
      }
    };
    for (std::size_t e = entries_.size(); e-- > 0;) {
      std::size_t end = e;
      for_outputs(entries_[e], [&](std::size_t v) {
        made_[v] = true;
        last[v] = std::max(last[v], e);
        if (units_[at(entries_[e].unit)].makes_outputs) end = std::max(end, last[v]);
      });
      for_operands(entries_[e], [&](std::size_t v) { last[v] = std::max(last[v], end); });
    }
    const auto bytes = [&](std::size_t v) { return bytes_[v < count ? v : v - count]; };
    std::vector<std::size_t> ending(entries_.size());
    for (std::size_t v = 0; v < last.size(); ++v) ending[last[v]] += made_[v] ? bytes(v) : 0;
    std::size_t live = 0;
    std::size_t peak = 0;
    for (std::size_t e = 0; e < entries_.size(); ++e) {
      const Entry& entry = entries_[e];
      std::size_t made = 0;
      std::size_t over = 0;
      std::vector<std::size_t> dying;
      for_operands(entry, [&](std::size_t v) {
        if (last[v] == e && bytes(v) > 0) dying.push_back(bytes(v));
      });
      for_outputs(entry, [&](std::size_t v) {
        made += bytes(v);
        const auto heir = std::find(dying.begin(), dying.end(), bytes(v));
        if (!units_[at(entry.unit)].overwrites || heir == dying.end()) return;
        over += bytes(v);
        dying.erase(heir);
      });
      needs_[at(entry.unit)] = std::max(needs_[at(entry.unit)], live + made - over);
      if ((entry.again || (entry.unit >= from_ && entry.unit <= to_)) && live + made - over > peak) {
        peak = live + made - over;
        peak_unit_ = entry.unit;
      }
      live += made;
      live -= ending[e];
    }
    return peak;
  }

  // Copies of nodes; those of a loop are one. The sum of what is kept is none, and has a kernel that is better; and
  // what the first loop has kept to itself may be too much for another one to read.
  void add_again(const std::vector<Graph::Node>& before, std::int32_t u, const Choice& choice,
                 std::vector<Value>& second) {
    const Again& again = choice.again[at(u)];
    std::int32_t loop = Graph::kNone, prologue = Graph::kNone;
    const auto new_group = [&](std::int32_t& group) {
      if (group == Graph::kNone && again.operands.size() <= kMostOperands) group = groups_++;
      return group;
    };
    std::vector<Graph::Node> behind;
    for (const std::size_t n : again.nodes) {
      Graph::Node node = before[n];
      if (node.group != Graph::kNone) {
        const bool alone = sum_of(graph_, node) && is_kept(choice, u, node.inputs[0], before[n]);
        node.group = alone ? Graph::kNone : new_group(is_in_prologue(before[n]) ? prologue : loop);
      }
      for (Value& input : node.inputs) {
        if (!is_kept(choice, u, input, before[n])) input = second[at(input)];
      }
      for (Value& output : node.outputs) {
        output = second[at(output)] = add_like(output);
      }
      node.rerun = kAgain;
      const bool comes_after = node.group != Graph::kNone && node.group == loop;
      (comes_after ? behind : graph_.nodes).push_back(std::move(node));
    }
    std::move(behind.begin(), behind.end(), std::back_inserter(graph_.nodes));
  }

  Graph& graph_;
  const Units plan_;
  const std::vector<Unit>& units_ = plan_.units;
  const std::vector<std::int32_t>& maker_ = plan_.maker;
  const std::vector<std::size_t>& bytes_ = plan_.bytes;
  std::int32_t turn_ = 0;
  std::int32_t from_ = 0, to_ = 0;          // units between which the peak counts: other turns have their own
  std::vector<std::size_t> needs_;          // by unit: bytes while it runs
  std::vector<std::int32_t> last_, early_;  // by value: its last reader, and the last up to the turn
  std::vector<bool> pinned_;                // by value: a view that is read after the turn stays
  std::vector<Value> candidates_;
  std::vector<std::size_t> weight_;  // by unit: bytes that lead from what is made up to it to what is made after it
  std::vector<bool> kept_;           // by value
  std::vector<Entry> entries_;
  std::vector<bool> made_;  // by value, and by value of a second run: in these entries
  std::int32_t peak_unit_ = 0;
  std::int32_t groups_ = 0;
};

// Turn by turn. Ends with the graph that needs least, unless another needs hardly less. Returns whether that is little
// enough.
bool recompute(Graph& graph, std::size_t target) {
  Graph now = graph;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (int round = 0;; ++round) {
    Recomputation recomputation(now);
    const std::size_t peak = recomputation.find_turn();
    if (peak <= target || peak < least - least / 32) {
      least = peak;
      graph = now;
    }
    Choice choice;
    if (peak <= target) return true;
    if (round == kRounds || recomputation.choose(target, choice) >= peak) return false;
    recomputation.apply(choice);
  }
}

}  // namespace

void meet_budget(Graph& graph, std::size_t budget) {
  std::size_t least = arena_bytes_of(graph);
  const Graph before = graph;
  std::size_t target = budget;
  for (int measure = 0; measure < kMeasures && least > budget; ++measure) {
    Graph attempt = before;
    const bool suffices = recompute(attempt, target);
    const std::size_t bytes = arena_bytes_of(attempt);
    if (bytes < least) {
      least = bytes;
      graph = std::move(attempt);
    }
    if (!suffices) return;
    // Values do not always fit into the gaps that others leave.
    target = static_cast<std::size_t>(static_cast<double>(target) * 0.99 * static_cast<double>(budget) /
                                      static_cast<double>(std::max(bytes, budget)));
  }
}

}  // namespace capstan
