// Texts of SVG images.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

#include "src/core/check.h"

namespace capstan::plots {

// What may be in XML. Control characters may not, in any spelling, and become spaces.
inline std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  return result;
}

// A number with up to `digits` significant digits.
inline std::string short_number(double x, int digits = 4) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", digits, x == 0 ? 0.0 : x);
  return text;
}

// A coordinate, to a hundredth of a pixel.
inline std::string pixels(double x) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.2f", x);
  return text;
}

// <text>
inline std::string svg_text(double x, double y, std::string_view anchor, std::string_view text,
                            std::string_view more = "") {
  return detail::join("<text x=\"", pixels(x), "\" y=\"", pixels(y), "\" text-anchor=\"", anchor, "\"", more, ">",
                      escaped(text), "</text>\n");
}

inline std::string svg_line(double x1, double y1, double x2, double y2, std::string_view color) {
  return detail::join("<line x1=\"", pixels(x1), "\" y1=\"", pixels(y1), "\" x2=\"", pixels(x2), "\" y2=\"", pixels(y2),
                      "\" stroke=\"", color, "\"/>\n");
}

inline std::string svg_begin(double width, double height) {
  return detail::join("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", pixels(width), "\" height=\"",
                      pixels(height), "\" font-family=\"sans-serif\" font-size=\"12\">\n",
                      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
}

}  // namespace capstan::plots
