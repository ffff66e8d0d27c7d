// The layers of a model as a graph: Graphviz's text, and an SVG image.
#include "capstan/model_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/core/check.h"
#include "src/train/functional.h"
#include "src/train/layer_state.h"
#include "src/train/plots/svg.h"

namespace capstan {

using detail::FunctionalGraph;
using detail::LayerState;
using detail::SymbolicCall;
using detail::SymbolicValue;

namespace {

struct Node {
  Layer layer;
  int cluster;  // the model inside that it belongs to, or -1
};

struct Cluster {
  std::string name;
  int parent;
};

// Where the values of a layer come in and go out: one node, or several of a model that is expanded.
struct Ends {
  std::vector<std::size_t> in, out;
};

class Graph {
 public:
  Graph(const Model& model, bool expand_nested) : expands_(expand_nested) { add(model, -1, true); }

  std::vector<Node> nodes;
  std::vector<Cluster> clusters;
  std::vector<std::pair<std::size_t, std::size_t>> edges;

 private:
  Ends add(const Layer& layer, int cluster, bool expand) {
    if (expand && LayerState::of(layer).model != nullptr) {
      if (const auto functional = detail::functional_graph(layer)) return add_functional(layer, *functional, cluster);
      if (layer.type_name() == "Sequential" && !layer.sublayers().empty()) return add_chain(layer, cluster);
    }
    nodes.push_back({layer, cluster});
    return {{nodes.size() - 1}, {nodes.size() - 1}};
  }

  // A layer of a model.
  Ends add_inner(const Layer& layer, int cluster) {
    const bool expand = expands_ && LayerState::of(layer).model != nullptr;
    if (!expand) return add(layer, cluster, false);
    clusters.push_back({layer.name(), cluster});
    return add(layer, static_cast<int>(clusters.size()) - 1, true);
  }

  void connect(const std::vector<std::size_t>& from, const std::vector<std::size_t>& to) {
    for (const std::size_t a : from) {
      for (const std::size_t b : to) {
        if (std::find(edges.begin(), edges.end(), std::pair(a, b)) == edges.end()) edges.emplace_back(a, b);
      }
    }
  }

  Ends add_chain(const Layer& model, int cluster) {
    Ends all;
    for (const Layer& layer : model.sublayers()) {
      const Ends ends = add_inner(layer, cluster);
      if (all.in.empty()) all.in = ends.in;
      connect(all.out, ends.in);
      all.out = ends.out;
    }
    return all;
  }

  Ends add_functional(const Layer& model, const FunctionalGraph& functional, int cluster) {
    std::unordered_map<const LayerBase*, Ends> ends;
    for (const Layer& layer : model.sublayers()) ends[&LayerState::body_of(layer)] = add_inner(layer, cluster);
    // What gives a value; nothing for an input that is the value of another model.
    const auto source = [&](const Tensor& tensor) {
      const SymbolicValue* const value = detail::symbolic_value(tensor);
      const auto found = value == nullptr ? ends.end() : ends.find(&LayerState::body_of(value->call->layer));
      return found == ends.end() ? std::vector<std::size_t>() : found->second.out;
    };
    for (const std::shared_ptr<const SymbolicCall>& call : functional.calls) {
      const Ends& due = ends.at(&LayerState::body_of(call->layer));
      for (const Tensor& tensor : detail::arguments_of(*call)) connect(source(tensor), due.in);
    }
    Ends all;
    const auto collect = [&](std::vector<std::size_t>& list) {
      return [&](const Tensor& tensor) {
        const std::vector<std::size_t> more = source(tensor);
        list.insert(list.end(), more.begin(), more.end());
      };
    };
    detail::for_each_leaf(functional.inputs, collect(all.in));
    detail::for_each_leaf(functional.outputs, collect(all.out));
    return all;
  }

  bool expands_;
};

std::vector<std::string> lines_of(const Layer& layer, const ModelGraphOptions& options) {
  std::vector<std::string> lines;
  lines.push_back(options.show_layer_names ? layer.name() + " (" + layer.type_name() + ")" : layer.type_name());
  if (options.show_shapes) lines.push_back("Output shape: " + detail::output_shape_text(LayerState::of(layer)));
  return lines;
}

void check(const char* call, const ModelGraphOptions& options) {
  CAPSTAN_CHECK(options.rankdir == "TB" || options.rankdir == "LR", ValueError, call,
                ": rankdir must be \"TB\" or \"LR\", not \"", options.rankdir, "\"");
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

// The nodes of one cluster, and those of the clusters in it.
std::string cluster_text(const Graph& graph, int cluster, const ModelGraphOptions& options) {
  std::string text;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].cluster != cluster) continue;
    text += detail::join("  n", i, " [label=", in_quotes(joined(lines_of(graph.nodes[i].layer, options))), "];\n");
  }
  for (std::size_t i = 0; i < graph.clusters.size(); ++i) {
    if (graph.clusters[i].parent != cluster) continue;
    text += detail::join("  subgraph cluster_", i, " {\n  label=", in_quotes(graph.clusters[i].name), ";\n",
                         cluster_text(graph, static_cast<int>(i), options), "  }\n");
  }
  return text;
}

// Boxes in rows: each below all those that lead to it, in the order of the means of these.
struct Placed {
  double x = 0, y = 0, width = 0, height = 0;  // the middle of the box
};

std::vector<std::size_t> rows_of(const Graph& graph) {
  std::vector<std::size_t> row(graph.nodes.size()), waiting(graph.nodes.size()), ready;
  for (const auto& [from, to] : graph.edges) ++waiting[to];
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t node = ready.back();
    ready.pop_back();
    for (const auto& [from, to] : graph.edges) {
      if (from != node) continue;
      row[to] = std::max(row[to], row[node] + 1);
      if (--waiting[to] == 0) ready.push_back(to);
    }
  }
  return row;
}

constexpr double kLetter = 7, kLine = 18, kMargin = 12, kGap = 28, kRowGap = 36;

// `along`: from row to row, `across`: within one.
std::vector<Placed> placed(const Graph& graph, const ModelGraphOptions& options) {
  const bool is_down = options.rankdir == "TB";
  const std::vector<std::size_t> row = rows_of(graph);
  std::vector<Placed> boxes(graph.nodes.size());
  std::map<std::size_t, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const std::vector<std::string> lines = lines_of(graph.nodes[i].layer, options);
    std::size_t longest = 0;
    for (const std::string& line : lines) longest = std::max(longest, line.size());
    boxes[i].width = static_cast<double>(longest) * kLetter + 2 * kMargin;
    boxes[i].height = static_cast<double>(lines.size()) * kLine + kMargin;
    rows[row[i]].push_back(i);
  }
  const auto across = [&](Placed& box) -> double& { return is_down ? box.x : box.y; };
  const auto along = [&](Placed& box) -> double& { return is_down ? box.y : box.x; };
  double position = kMargin;
  for (auto& [number, list] : rows) {
    std::map<std::size_t, double> wish;
    for (const std::size_t i : list) {
      double sum = 0;
      int count = 0;
      for (const auto& [from, to] : graph.edges) {
        if (to != i) continue;
        sum += across(boxes[from]);
        ++count;
      }
      wish[i] = count == 0 ? 0 : sum / count;
    }
    std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) { return wish[a] < wish[b]; });
    double total = 0, deepest = 0;
    for (const std::size_t i : list) {
      total += (is_down ? boxes[i].width : boxes[i].height) + kGap;
      deepest = std::max(deepest, is_down ? boxes[i].height : boxes[i].width);
    }
    double place = -(total - kGap) / 2;
    for (const std::size_t i : list) {
      const double size = is_down ? boxes[i].width : boxes[i].height;
      across(boxes[i]) = place + size / 2;
      along(boxes[i]) = position + deepest / 2;
      place += size + kGap;
    }
    position += deepest + kRowGap;
  }
  double least = 0;
  for (Placed& box : boxes) least = std::min(least, across(box) - (is_down ? box.width : box.height) / 2);
  for (Placed& box : boxes) across(box) += kMargin - least;
  return boxes;
}

std::string arrow(const Placed& from, const Placed& to, bool is_down) {
  const double x1 = is_down ? from.x : from.x + from.width / 2, y1 = is_down ? from.y + from.height / 2 : from.y;
  const double x2 = is_down ? to.x : to.x - to.width / 2, y2 = is_down ? to.y - to.height / 2 : to.y;
  const double bend = (is_down ? y2 - y1 : x2 - x1) / 2;
  using plots::pixels;
  return detail::join("<path d=\"M ", pixels(x1), " ", pixels(y1), " C ", pixels(is_down ? x1 : x1 + bend), " ",
                      pixels(is_down ? y1 + bend : y1), " ", pixels(is_down ? x2 : x2 - bend), " ",
                      pixels(is_down ? y2 - bend : y2), " ", pixels(x2), " ", pixels(y2),
                      "\" fill=\"none\" stroke=\"black\" marker-end=\"url(#arrow)\"/>\n");
}

}  // namespace

std::string model_to_dot(const Model& model, const ModelGraphOptions& options) {
  check("model_to_dot", options);
  const Graph graph(model, options.expand_nested);
  std::string text = "digraph model {\n  rankdir=" + options.rankdir + ";\n  node [shape=box];\n";
  text += cluster_text(graph, -1, options);
  for (const auto& [from, to] : graph.edges) text += detail::join("  n", from, " -> n", to, ";\n");
  return text + "}\n";
}

std::vector<GraphNode> model_nodes(const Model& model) {
  const Graph graph(model, true);
  std::vector<GraphNode> nodes;
  std::set<std::string> names;  // layers of one model have different ones, unless a program gave them
  for (const Node& node : graph.nodes) {
    std::string name = node.layer.name();
    for (int i = node.cluster; i >= 0; i = graph.clusters[static_cast<std::size_t>(i)].parent) {
      name = detail::join(graph.clusters[static_cast<std::size_t>(i)].name, "/", name);
    }
    const std::string wish = name;
    for (int n = 1; !names.insert(name).second; ++n) name = detail::join(wish, "_", n);
    nodes.push_back({name, node.layer.type_name(), {}, {detail::output_shape_text(LayerState::of(node.layer))}});
  }
  for (const auto& [from, to] : graph.edges) nodes[to].inputs.push_back(nodes[from].name);
  return nodes;
}

std::string model_to_svg(const Model& model, const ModelGraphOptions& options) {
  check("model_to_svg", options);
  const Graph graph(model, options.expand_nested);
  const std::vector<Placed> boxes = placed(graph, options);
  double width = 0, height = 0;
  for (const Placed& box : boxes) {
    width = std::max(width, box.x + box.width / 2 + kMargin);
    height = std::max(height, box.y + box.height / 2 + kMargin);
  }
  std::string text = plots::svg_begin(width, height);
  text +=
      "<defs><marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" "
      "orient=\"auto\"><path d=\"M 0 0 L 10 5 L 0 10 z\"/></marker></defs>\n";
  for (const auto& [from, to] : graph.edges) text += arrow(boxes[from], boxes[to], options.rankdir == "TB");
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Placed& box = boxes[i];
    text += detail::join("<rect x=\"", plots::pixels(box.x - box.width / 2), "\" y=\"",
                         plots::pixels(box.y - box.height / 2), "\" width=\"", plots::pixels(box.width), "\" height=\"",
                         plots::pixels(box.height), "\" rx=\"4\" fill=\"#eef3fa\" stroke=\"black\"/>\n");
    double y = box.y - box.height / 2 + kMargin / 2 + 13;
    for (const std::string& line : lines_of(graph.nodes[i].layer, options)) {
      text += plots::svg_text(box.x, y, "middle", line);
      y += kLine;
    }
  }
  return text + "</svg>\n";
}

}  // namespace capstan
