// Curves of a history, as SVG and as text.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "capstan/plots.h"
#include "src/core/check.h"
#include "src/train/plots/svg.h"

namespace capstan::plots {

namespace {

constexpr std::string_view kValidation = "val_";

// One line of a panel. What is not drawn is NaN.
struct Curve {
  std::string name;
  std::vector<double> y;
  bool is_validation = false;
};

// One value of the history over the epochs, and what its axes show.
struct Panel {
  std::string name;
  std::vector<Curve> curves;
  double lowest = 0, highest = 1;  // of the axis, in its scale
};

struct Figure {
  std::vector<Panel> panels;
  double first_epoch = 1, last_epoch = 1;
  // Of the i-th number of a curve.
  std::vector<double> epochs;
};

bool is_validation(std::string_view name) { return name.substr(0, kValidation.size()) == kValidation; }

std::vector<std::string> names_of(const char* call, const History& history, const CurveOptions& options) {
  std::vector<std::string> names = options.names;
  if (!names.empty()) {
    for (const std::string& name : names) {
      CAPSTAN_CHECK(history.history.contains(name), ValueError, call, ": the history has no \"", name, "\"");
    }
    return names;
  }
  for (const auto& [name, values] : history.history) {
    const bool has_partner = is_validation(name) && history.history.contains(name.substr(kValidation.size()));
    if (!has_partner) names.push_back(name);
  }
  CAPSTAN_CHECK(!names.empty(), ValueError, call, ": the history has no values",
                help("fit() fills it, one number for each epoch"));
  return names;
}

Curve curve_of(const std::string& name, const std::vector<double>& values, bool log_scale, bool validation) {
  Curve curve{name, values, validation};
  for (double& y : curve.y) {
    if (log_scale) y = y > 0 ? std::log10(y) : NAN;
    if (!std::isfinite(y)) y = NAN;
  }
  return curve;
}

Figure figure_of(const char* call, const History& history, const CurveOptions& options) {
  Figure figure;
  std::size_t longest = 0;
  for (const std::string& name : names_of(call, history, options)) {
    Panel panel{.name = name, .curves = {}};
    panel.curves.push_back(curve_of(name, history.history.at(name), options.log_scale, is_validation(name)));
    const auto partner = history.history.find(std::string(kValidation) + name);
    if (partner != history.history.end()) {
      panel.curves.push_back(curve_of(partner->first, partner->second, options.log_scale, true));
    }
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const Curve& curve : panel.curves) {
      longest = std::max(longest, curve.y.size());
      for (const double y : curve.y) {
        if (std::isnan(y)) continue;
        low = std::min(low, y);
        high = std::max(high, y);
      }
    }
    CAPSTAN_CHECK(low <= high, ValueError, call, ": \"", name, "\" has no number that can be drawn",
                  options.log_scale ? " on a logarithmic scale" : "");
    // Half of it each, as the difference of large numbers may be infinite.
    const double margin = high > low ? (high / 2 - low / 2) * 0.1 : std::max(std::abs(high) * 0.05, 1e-3);
    panel.lowest = std::max(low - margin, -std::numeric_limits<double>::max());
    panel.highest = std::min(high + margin, std::numeric_limits<double>::max());
    figure.panels.push_back(std::move(panel));
  }
  // Keras counts epochs from 0, and people from 1.
  for (std::size_t i = 0; i < longest; ++i) {
    const bool is_known = history.epoch.size() == longest;
    figure.epochs.push_back(is_known ? static_cast<double>(history.epoch[i]) + 1 : static_cast<double>(i) + 1);
  }
  const auto [first, last] = std::minmax_element(figure.epochs.begin(), figure.epochs.end());
  figure.first_epoch = *first;
  figure.last_epoch = *last;
  return figure;
}

// Where in [0, 1] a number lies between two; in the middle if these are one.
double share(double x, double low, double high) {
  const double range = high / 2 - low / 2;
  return range > 0 ? (x / 2 - low / 2) / range : 0.5;
}

std::string axis_number(double y, bool log_scale) { return short_number(log_scale ? std::pow(10, y) : y); }

std::int64_t length_of(const char* call, const char* what, std::int64_t given, std::int64_t normal, std::int64_t least,
                       std::int64_t most) {
  const std::int64_t length = given == 0 ? normal : given;
  CAPSTAN_CHECK(length >= least && length <= most, ValueError, call, ": the ", what, " of a panel must be at least ",
                least, " and at most ", most, ", not ", given);
  return length;
}

// --- SVG ---

constexpr double kLeft = 64, kRight = 16, kAbove = 28, kBelow = 40;
constexpr std::string_view kColors[] = {"#1f77b4", "#d95f02"};
constexpr int kTicks = 4;

std::string polylines(const Curve& curve, const std::vector<double>& xs, const std::vector<double>& ys) {
  const std::string_view color = kColors[curve.is_validation ? 1 : 0];
  std::string points, text;
  const auto end_line = [&] {
    if (!points.empty()) {
      text += detail::join("<polyline fill=\"none\" stroke=\"", color, "\" stroke-width=\"2\"",
                           curve.is_validation ? " stroke-dasharray=\"6 4\"" : "", " points=\"", points, "\"/>\n");
    }
    points.clear();
  };
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    if (std::isnan(curve.y[i])) {
      end_line();
      continue;
    }
    points += (points.empty() ? "" : " ") + pixels(xs[i]) + "," + pixels(ys[i]);
    text += detail::join("<circle cx=\"", pixels(xs[i]), "\" cy=\"", pixels(ys[i]), "\" r=\"2.5\" fill=\"", color,
                         "\"/>\n");
  }
  end_line();
  return text;
}

std::string panel_svg(const Figure& figure, const Panel& panel, const CurveOptions& options, double top, double width,
                      double height) {
  const double inner_width = width - kLeft - kRight, inner_height = height - kAbove - kBelow;
  const double bottom = top + kAbove + inner_height;
  const auto x_of = [&](double epoch) {
    return kLeft + inner_width * share(epoch, figure.first_epoch, figure.last_epoch);
  };
  const auto y_of = [&](double y) { return bottom - inner_height * share(y, panel.lowest, panel.highest); };
  std::string text;
  for (int i = 0; i <= kTicks; ++i) {
    const double part = static_cast<double>(i) / kTicks;
    const double y = panel.lowest * (1 - part) + panel.highest * part;
    text += svg_line(kLeft, y_of(y), width - kRight, y_of(y), "#dddddd");
    text += svg_text(kLeft - 6, y_of(y) + 4, "end", axis_number(y, options.log_scale));
  }
  // Whole epochs only.
  const double epochs = figure.last_epoch - figure.first_epoch, step = std::max(1.0, std::ceil(epochs / 8));
  for (int i = 0; i <= static_cast<int>(epochs / step); ++i) {
    const double epoch = figure.first_epoch + i * step;
    text += svg_text(x_of(epoch), bottom + 16, "middle", short_number(epoch, 12));
  }
  text += svg_line(kLeft, bottom, width - kRight, bottom, "#888888");
  text += svg_text(kLeft + inner_width / 2, bottom + 32, "middle", "epoch");
  double legend = kLeft;
  for (const Curve& curve : panel.curves) {
    std::vector<double> xs, ys;
    for (std::size_t i = 0; i < curve.y.size(); ++i) {
      xs.push_back(x_of(figure.epochs[i]));
      ys.push_back(y_of(curve.y[i]));
    }
    text += polylines(curve, xs, ys);
    text += svg_text(legend, top + 18, "start", curve.name,
                     detail::join(" fill=\"", kColors[curve.is_validation ? 1 : 0], "\" font-weight=\"bold\""));
    legend += 16 + 8 * static_cast<double>(curve.name.size());
  }
  return text;
}

// --- Text ---

// A field of characters; rows from above.
class Field {
 public:
  Field(std::int64_t width, std::int64_t height)
      : rows_(static_cast<std::size_t>(height), std::string(static_cast<std::size_t>(width), ' ')) {}
  // Where two curves meet there is '@'.
  void put(double x, double y, char c) {
    const auto place = [](double part, std::size_t length) {
      return static_cast<std::size_t>(std::lround(part * static_cast<double>(length - 1)));
    };
    char& at = rows_[rows_.size() - 1 - place(y, rows_.size())][place(x, rows_[0].size())];
    at = at == ' ' || at == c ? c : '@';
  }
  const std::string& row(std::size_t i) const { return rows_[i]; }

 private:
  std::vector<std::string> rows_;
};

std::string panel_text(const Figure& figure, const Panel& panel, const CurveOptions& options, std::int64_t width,
                       std::int64_t height) {
  constexpr std::int64_t kNumbers = 11;
  const std::int64_t inner = width - kNumbers - 1;
  Field field(inner, height);
  for (const Curve& curve : panel.curves) {
    const char mark = curve.is_validation ? 'o' : '*';
    const auto x_of = [&](std::size_t i) { return share(figure.epochs[i], figure.first_epoch, figure.last_epoch); };
    const auto y_of = [&](std::size_t i) { return share(curve.y[i], panel.lowest, panel.highest); };
    for (std::size_t i = 0; i < curve.y.size(); ++i) {
      if (std::isnan(curve.y[i])) continue;
      field.put(x_of(i), y_of(i), mark);
      if (i + 1 == curve.y.size() || std::isnan(curve.y[i + 1])) continue;
      for (std::int64_t k = 1; k < inner; ++k) {
        const double part = static_cast<double>(k) / static_cast<double>(inner);
        field.put(x_of(i) * (1 - part) + x_of(i + 1) * part, y_of(i) * (1 - part) + y_of(i + 1) * part, mark);
      }
    }
  }
  const auto padded = [](const std::string& number) {
    const std::size_t room = static_cast<std::size_t>(kNumbers) - 1;
    return std::string(room - std::min(room, number.size()), ' ') + number + " ";
  };
  std::string text;
  for (const Curve& curve : panel.curves) {
    text += (text.empty() ? "" : ", ") + std::string(curve.is_validation ? "o " : "* ") + curve.name;
  }
  text += "\n";
  const auto rows = static_cast<std::size_t>(height);
  for (std::size_t i = 0; i < rows; ++i) {
    const double part = 1 - static_cast<double>(i) / static_cast<double>(rows - 1);
    const double y = panel.lowest * (1 - part) + panel.highest * part;
    const bool is_named = i == 0 || i + 1 == rows || i == rows / 2;
    std::string line = (is_named ? padded(axis_number(y, options.log_scale)) : padded("")) + "|" + field.row(i);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  const std::string first = short_number(figure.first_epoch, 12), last = short_number(figure.last_epoch, 12);
  text += padded("") + "+" + std::string(static_cast<std::size_t>(inner), '-') + "\n" + padded("epoch") + " " + first;
  const std::size_t used = first.size() + last.size();
  if (figure.last_epoch > figure.first_epoch && used < static_cast<std::size_t>(inner)) {
    text += std::string(static_cast<std::size_t>(inner) - used, ' ') + last;
  }
  return text + "\n";
}

}  // namespace

std::string curves_svg(const History& history, const CurveOptions& options) {
  const auto width = static_cast<double>(length_of("curves_svg", "width", options.width, 640, 160, 10000));
  const auto height = static_cast<double>(length_of("curves_svg", "height", options.height, 320, 120, 10000));
  const Figure figure = figure_of("curves_svg", history, options);
  const double head = options.title.empty() ? 0 : 28;
  std::string text = svg_begin(width, head + height * static_cast<double>(figure.panels.size()));
  if (head > 0) text += svg_text(width / 2, 20, "middle", options.title, " font-size=\"16\"");
  double top = head;
  for (const Panel& panel : figure.panels) {
    text += panel_svg(figure, panel, options, top, width, height);
    top += height;
  }
  return text + "</svg>\n";
}

std::string curves_text(const History& history, const CurveOptions& options) {
  const std::int64_t width = length_of("curves_text", "width", options.width, 72, 24, 1000);
  const std::int64_t height = length_of("curves_text", "height", options.height, 16, 4, 1000);
  const Figure figure = figure_of("curves_text", history, options);
  std::string text = options.title.empty() ? "" : options.title + "\n";
  for (const Panel& panel : figure.panels) text += panel_text(figure, panel, options, width, height);
  return text;
}

}  // namespace capstan::plots
