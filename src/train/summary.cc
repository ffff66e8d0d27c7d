// The table of Model::summary, in Keras's layout.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include "capstan/models.h"
#include "src/core/check.h"
#include "src/core/utf8.h"
#include "src/train/layer_state.h"

namespace capstan {

using detail::LayerState;

std::string detail::output_shape_text(const LayerState& state) {
  std::string text;
  for (const Shape& shape : state.output_shapes) {
    text += text.empty() ? "(None" : ", (None";
    for (int i = 1; i < shape.rank(); ++i) text += shape[i] < 0 ? ", None" : ", " + std::to_string(shape[i]);
    text += shape.rank() == 1 ? ",)" : ")";
  }
  if (text.empty()) return "?";
  return state.output_shapes.size() == 1 ? text : "[" + text + "]";
}

namespace {

std::string repeat(const char* text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

enum class Side : std::uint8_t { kLeft, kCenter, kRight };

struct Column {
  std::string title;
  Side side;
  int width = 0;  // of a cell, with a space on either side
};

// As rich's tables share out a line: each column wants its part and two more; what is too much is taken off from left
// to right.
void set_widths(std::vector<Column>& columns, int line_length, const std::vector<double>& edges) {
  const int count = static_cast<int>(columns.size());
  int before = 0, rest = 3 * count + 1;
  for (int i = 0; i < count; ++i) {
    const int raw = static_cast<int>(edges[static_cast<std::size_t>(i)] * line_length) - before;
    CAPSTAN_CHECK(raw >= 4, ValueError, "summary: a line of ", line_length, " characters is too short");
    before += raw;
    const int less = static_cast<int>(std::nearbyint(static_cast<double>(rest) / (count - i)));
    rest -= less;
    columns[static_cast<std::size_t>(i)].width = raw + 2 - less;
  }
}

std::string rule(const std::vector<Column>& columns, const char* left, const char* line, const char* middle,
                 const char* right) {
  std::string text = left;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    text += repeat(line, columns[i].width) + (i + 1 < columns.size() ? middle : right);
  }
  return text + "\n";
}

// Lines of at most `width` characters, broken at spaces; a word that is too long is cut.
std::vector<std::string> wrapped(const std::string& text, int width) {
  const auto room = static_cast<std::size_t>(width);
  std::vector<std::string> lines;
  std::string rest = text;
  while (utf8::count(rest) > room) {
    const std::size_t space = rest.rfind(' ', utf8::offset_of(rest, room));
    if (space == std::string::npos || space == 0) {
      const std::size_t end = rest.find(' ');
      lines.push_back(rest.substr(0, utf8::offset_of(rest, room - 1)) + "…");
      rest = end == std::string::npos ? "" : rest.substr(end + 1);
    } else {
      lines.push_back(rest.substr(0, space));
      rest = rest.substr(space + 1);
    }
  }
  if (!rest.empty() || lines.empty()) lines.push_back(rest);
  return lines;
}

std::string cell_text(const std::string& line, const Column& column) {
  const int room = std::max(0, column.width - 2 - static_cast<int>(utf8::count(line)));
  const int left = column.side == Side::kLeft ? 0 : column.side == Side::kRight ? room : room / 2;
  return " " + repeat(" ", left) + line + repeat(" ", room - left) + " ";
}

std::string with_commas(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 3) {
    bytes /= 1024;
    ++unit;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.2f %s", bytes, units[unit]);
  return text;
}

std::string total(const char* label, std::int64_t count, double bytes) {
  return std::string(" ") + label + " params: " + with_commas(count) + " (" + bytes_text(bytes) + ")\n";
}

void add_up(const std::vector<Variable>& variables, std::int64_t* count, double* bytes) {
  for (const Variable& variable : variables) {
    *count += variable.size();
    *bytes += static_cast<double>(variable.size()) * static_cast<double>(size_of(variable.dtype()));
  }
}

std::string total(const char* label, const std::vector<Variable>& variables) {
  std::int64_t count = 0;
  double bytes = 0;
  add_up(variables, &count, &bytes);
  return total(label, count, bytes);
}

std::string row(const std::vector<Column>& columns, const std::vector<std::string>& texts, const char* edge) {
  std::vector<std::vector<std::string>> cells;
  std::size_t lines = 1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    cells.push_back(wrapped(texts[i], columns[i].width - 2));
    lines = std::max(lines, cells.back().size());
  }
  std::string text;
  for (std::size_t line = 0; line < lines; ++line) {
    text += edge;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      text += cell_text(line < cells[i].size() ? cells[i][line] : "", columns[i]) + edge;
    }
    text += "\n";
  }
  return text;
}

std::string trainable_text(const Layer& layer) {
  if (layer.weights().empty()) return "-";
  return layer.trainable() ? "Y" : "N";
}

struct Table {
  std::vector<Column> columns;
  const LayerState& model;
  const SummaryOptions& options;
  std::string text;
  bool is_first = true;

  void add(const Layer& layer, const std::string& indent) {
    if (!std::exchange(is_first, false)) text += rule(columns, "├", "─", "┼", "┤");
    std::vector<std::string> cells = {indent + layer.name() + " (" + layer.type_name() + ")",
                                      detail::output_shape_text(LayerState::of(layer)),
                                      layer.is_built() ? with_commas(layer.count_params()) : "0 (unbuilt)"};
    if (!model.connections.empty()) {
      const auto found = model.connections.find(LayerState::of(layer).id);
      cells.push_back(found == model.connections.end() ? "-" : found->second);
    }
    if (options.show_trainable) cells.push_back(trainable_text(layer));
    text += row(columns, cells, "│");
    if (!options.expand_nested) return;
    for (const Layer& inner : layer.sublayers()) add(inner, indent.empty() ? "   └ " : "   " + indent);
  }
};

// The slots of the optimizer, with its count of updates and its rate.
std::string optimizer_total(const Optimizer& optimizer, std::int64_t* count, double* bytes) {
  add_up(optimizer.variables(), count, bytes);
  if (*count == 0 && optimizer.iterations() == 0) return {};
  *count += 2;
  *bytes += 12;
  return " Optimizer params: " + with_commas(*count) + " (" + bytes_text(*bytes) + ")\n";
}

// Positions as parts of the line.
std::vector<double> given_edges(const std::vector<double>& positions, std::size_t columns, int length) {
  CAPSTAN_CHECK(positions.size() == columns, ValueError, "summary: ", positions.size(), " positions for ", columns,
                " columns", help("give the end of each column"));
  std::vector<double> edges;
  for (const double position : positions) {
    const double edge = positions.back() <= 1 ? position : position / length;
    CAPSTAN_CHECK(edge > (edges.empty() ? 0 : edges.back()) && edge <= 1, ValueError, "summary: position ", position,
                  " is not between the one before and the end of a line of ", length, " characters");
    edges.push_back(edge);
  }
  return edges;
}

std::span<const Layer> shown_layers(const Model& model, const SummaryOptions& options) {
  const std::span<const Layer> layers = model.layers();
  if (!options.layer_range) return layers;
  const auto position = [&](const std::string& name) {
    const auto found = std::find_if(layers.begin(), layers.end(), [&](const Layer& l) { return l.name() == name; });
    CAPSTAN_CHECK(found != layers.end(), ValueError, "summary: ", model.name(), " has no layer with the name \"", name,
                  "\" to begin or end with");
    return static_cast<std::size_t>(found - layers.begin());
  };
  const auto& [first, last] = *options.layer_range;
  const std::size_t begin = position(first), end = position(last) + 1;
  CAPSTAN_CHECK(begin < end, ValueError, "summary: the layer \"", last, "\" stands before \"", first, "\"");
  return layers.subspan(begin, end - begin);
}

}  // namespace

std::string Model::summary(const SummaryOptions& options) const {
  const LayerState& state = LayerState::of(*this);
  const bool is_graph = !state.connections.empty();
  std::vector<Column> columns = {
      {"Layer (type)", Side::kLeft}, {"Output Shape", Side::kLeft}, {"Param #", Side::kRight}};
  std::vector<double> edges = {.45, .8, 1};
  if (is_graph) {
    columns.push_back({"Connected to", Side::kLeft});
    edges = {.3, .56, .74, 1};
  }
  int length = options.line_length.value_or((is_graph ? 108 : 88) + (options.show_trainable ? 12 : 0));
  if (options.show_trainable) {
    for (double& edge : edges) edge *= .9;
    columns.push_back({"Trainable", Side::kCenter});
    edges.push_back(1);
  }
  if (!options.positions.empty()) edges = given_edges(options.positions, columns.size(), length);
  set_widths(columns, length, edges);
  std::vector<std::string> titles;
  for (const Column& column : columns) titles.push_back(column.title);
  Table table{columns, state, options, {}};
  for (const Layer& layer : shown_layers(*this, options)) table.add(layer, "");
  std::int64_t optimizer_count = 0, count = 0;
  double optimizer_bytes = 0, bytes = 0;
  const std::string of_optimizer =
      is_compiled() ? optimizer_total(optimizer(), &optimizer_count, &optimizer_bytes) : std::string();
  add_up(weights(), &count, &bytes);
  return "Model: \"" + name() + "\"\n" + rule(columns, "┏", "━", "┳", "┓") + row(columns, titles, "┃") +
         rule(columns, "┡", "━", "╇", "┩") + table.text + rule(columns, "└", "─", "┴", "┘") +
         total("Total", count + optimizer_count, bytes + optimizer_bytes) + total("Trainable", trainable_variables()) +
         total("Non-trainable", non_trainable_variables()) + of_optimizer;
}

}  // namespace capstan
