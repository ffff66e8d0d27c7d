// The table of Model::summary, in Keras's layout at its full width.
#include <algorithm>
#include <cstdio>

#include "capstan/models.h"
#include "src/train/layer_state.h"

namespace capstan {

namespace {

using detail::LayerState;

constexpr int kWidths[] = {38, 29, 17};

std::string repeat(const char* text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

std::string rule(const char* left, const char* line, const char* middle, const char* right) {
  std::string text = left;
  for (int i = 0; i < 3; ++i) text += repeat(line, kWidths[i]) + (i < 2 ? middle : right);
  return text + "\n";
}

// Lines of at most `width` characters, broken at spaces.
std::vector<std::string> wrapped(const std::string& text, int width) {
  if (static_cast<int>(text.size()) <= width) return {text};
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return {text.substr(0, static_cast<std::size_t>(width) - 1) + "…"};
  return {text.substr(0, space), text.substr(space + 1)};
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

std::string total(const char* label, const std::vector<Variable>& variables) {
  std::int64_t count = 0;
  double bytes = 0;
  for (const Variable& variable : variables) {
    count += variable.size();
    bytes += static_cast<double>(variable.size()) * static_cast<double>(size_of(variable.dtype()));
  }
  return std::string(" ") + label + " params: " + with_commas(count) + " (" + bytes_text(bytes) + ")\n";
}

std::string shape_text(const LayerState& state) {
  std::string text;
  for (const Shape& shape : state.output_shapes) {
    text += text.empty() ? "(None" : ", (None";
    for (int i = 1; i < shape.rank(); ++i) text += ", " + std::to_string(shape[i]);
    text += shape.rank() == 1 ? ",)" : ")";
  }
  if (text.empty()) return "?";
  return state.output_shapes.size() == 1 ? text : "[" + text + "]";
}

std::string row(const std::string& name, const std::string& shape, const std::string& params, const char* edge) {
  std::string text;
  bool first = true;
  for (const std::string& line : wrapped(name, kWidths[0] - 2)) {
    const std::string cells[] = {line, first ? shape : "", first ? params : ""};
    for (int i = 0; i < 3; ++i) {
      // An ellipsis is three bytes but one character.
      const bool cut = cells[i].ends_with("…");
      const int used = static_cast<int>(cells[i].size()) - (cut ? 2 : 0);
      const std::string space(static_cast<std::size_t>(std::max(0, kWidths[i] - 2 - used)), ' ');
      text += edge;
      text += ' ' + (i < 2 ? cells[i] + space : space + cells[i]) + ' ';
    }
    text += edge;
    text += "\n";
    first = false;
  }
  return text;
}

}  // namespace

std::string Model::summary() const {
  std::string text = "Model: \"" + name() + "\"\n" + rule("┏", "━", "┳", "┓") +
                     row("Layer (type)", "Output Shape", "Param #", "┃") + rule("┡", "━", "╇", "┩");
  bool first = true;
  for (const Layer& layer : layers()) {
    if (!first) text += rule("├", "─", "┼", "┤");
    first = false;
    text += row(layer.name() + " (" + layer.type_name() + ")", shape_text(LayerState::of(layer)),
                layer.is_built() ? with_commas(layer.count_params()) : "0 (unbuilt)", "│");
  }
  text += rule("└", "─", "┴", "┘");
  text += total("Total", weights()) + total("Trainable", trainable_variables()) +
          total("Non-trainable", non_trainable_variables());
  return text;
}

}  // namespace capstan
