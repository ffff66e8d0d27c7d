// Confusion matrices, as SVG and as text.
#include <cstdio>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "capstan/plots.h"
#include "src/core/check.h"
#include "src/core/utf8.h"
#include "src/train/plots/svg.h"

namespace capstan::plots {

namespace {

struct Matrix {
  std::size_t classes = 0;
  std::vector<double> counts;
  std::vector<double> sums;  // of the rows
  std::vector<std::string> names;

  double at(std::size_t row, std::size_t column) const { return counts[row * classes + column]; }
  // 0 in a row without examples.
  double share(std::size_t row, std::size_t column) const { return sums[row] > 0 ? at(row, column) / sums[row] : 0; }
};

Matrix matrix_of(const char* call, const Tensor& matrix, const ConfusionOptions& options) {
  CAPSTAN_CHECK(matrix.rank() == 2 && matrix.dim(0) == matrix.dim(1) && matrix.dim(0) > 0, ShapeError, call,
                ": the matrix must be [classes, classes], not ", matrix.shape(), arguments({{"matrix", matrix}}));
  CAPSTAN_CHECK(!is_complex(matrix.dtype()) && matrix.dtype() != DType::kBool, DTypeError, call, ": dtype ",
                matrix.dtype(), " is not supported", arguments({{"matrix", matrix}}));
  Matrix result;
  result.classes = static_cast<std::size_t>(matrix.dim(0));
  result.counts = matrix.to_vector<double>();
  CAPSTAN_CHECK(options.classes.empty() || options.classes.size() == result.classes, ValueError, call, ": there are ",
                result.classes, " classes and ", options.classes.size(), " names of classes");
  for (std::size_t i = 0; i < result.counts.size(); ++i) {
    CAPSTAN_CHECK(std::isfinite(result.counts[i]) && result.counts[i] >= 0, ValueError, call, ": element [",
                  i / result.classes, ", ", i % result.classes, "] is ", result.counts[i], ", which is no count");
  }
  for (std::size_t row = 0; row < result.classes; ++row) {
    result.names.push_back(options.classes.empty() ? std::to_string(row) : options.classes[row]);
    double sum = 0;
    for (std::size_t column = 0; column < result.classes; ++column) sum += result.at(row, column);
    result.sums.push_back(sum);
  }
  return result;
}

std::string aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, utf8::count(text)), ' ') + text;
}

}  // namespace

std::string confusion_svg(const Tensor& matrix, const ConfusionOptions& options) {
  const Matrix m = matrix_of("confusion_svg", matrix, options);
  CAPSTAN_CHECK(options.cell >= 4 && options.cell <= 400, ValueError,
                "confusion_svg: cells must have at least 4 and at most 400 pixels, not ", options.cell);
  std::size_t longest = 0;
  for (const std::string& name : m.names) longest = std::max(longest, utf8::count(name));
  const auto cell = static_cast<double>(options.cell), classes = static_cast<double>(m.classes);
  const double left = 36 + 8 * static_cast<double>(longest), top = options.title.empty() ? 48 : 76;
  const double side = cell * classes;
  std::string text = svg_begin(left + side + 16, top + side + 16);
  if (!options.title.empty()) {
    text += svg_text(left + side / 2, 22, "middle", options.title, " font-size=\"16\"");
  }
  text += svg_text(left + side / 2, top - 28, "middle", "predicted");
  text += svg_text(16, top + side / 2, "middle", "true",
                   detail::join(" transform=\"rotate(-90 16 ", pixels(top + side / 2), ")\""));
  const double size = std::clamp(cell / 3.5, 2.0, 14.0);
  const std::string small = detail::join(" font-size=\"", pixels(size), "\"");
  for (std::size_t row = 0; row < m.classes; ++row) {
    const double y = top + cell * static_cast<double>(row);
    text += svg_text(left - 6, y + cell / 2 + 4, "end", m.names[row], small);
    text += svg_text(left + cell * (static_cast<double>(row) + 0.5), top - 8, "middle", m.names[row], small);
    for (std::size_t column = 0; column < m.classes; ++column) {
      const double x = left + cell * static_cast<double>(column), share = m.share(row, column);
      // From white to a dark blue.
      const auto mix = [&](double to) { return static_cast<int>(std::lround(255 + (to - 255) * share)); };
      text += detail::join("<rect x=\"", pixels(x), "\" y=\"", pixels(y), "\" width=\"", pixels(cell), "\" height=\"",
                           pixels(cell), "\" fill=\"rgb(", mix(8), ",", mix(48), ",", mix(107),
                           ")\" stroke=\"#cccccc\"/>\n");
      if (m.at(row, column) == 0) continue;
      text += svg_text(x + cell / 2, y + cell / 2 + size / 3, "middle", short_number(m.at(row, column), 6),
                       small + (share > 0.5 ? " fill=\"white\"" : ""));
    }
  }
  return text + "</svg>\n";
}

std::string confusion_text(const Tensor& matrix, const ConfusionOptions& options) {
  const Matrix m = matrix_of("confusion_text", matrix, options);
  CAPSTAN_CHECK(options.cell >= 4 && options.cell <= 400, ValueError,
                "confusion_text: cells must have at least 4 and at most 400 pixels, not ", options.cell);
  std::size_t name_width = utf8::count("true"), cell_width = 1;
  for (const std::string& name : m.names) {
    name_width = std::max(name_width, utf8::count(name));
    cell_width = std::max(cell_width, utf8::count(name));
  }
  for (const double count : m.counts) cell_width = std::max(cell_width, short_number(count, 6).size());
  std::string text = options.title.empty() ? "" : options.title + "\n";
  text += aligned("true", name_width) + " | predicted\n" + aligned("", name_width) + " |";
  for (const std::string& name : m.names) text += " " + aligned(name, cell_width);
  text += "\n" + std::string(name_width, '-') + "-+" + std::string((cell_width + 1) * m.classes, '-') + "\n";
  for (std::size_t row = 0; row < m.classes; ++row) {
    text += aligned(m.names[row], name_width) + " |";
    for (std::size_t column = 0; column < m.classes; ++column) {
      text += " " + aligned(short_number(m.at(row, column), 6), cell_width);
    }
    char right[24] = "      -";
    if (m.sums[row] > 0) std::snprintf(right, sizeof(right), "  %5.1f%%", 100 * m.share(row, row));
    text += std::string(right) + "\n";
  }
  return text;
}

}  // namespace capstan::plots
