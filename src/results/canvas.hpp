// A drawing of lines, text and one kind of picture, in pixels from the top left, that becomes a PNG or an SVG.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "results/map.hpp"

namespace envoi::results {

enum class Align { start, middle, end };

struct Point {
  double x = 0, y = 0;
};

struct Stroke {
  std::string color = "#000000";  // #rrggbb
  double width = 1;
  double opacity = 1;
};

class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void fill(Point at, double width, double height, const std::string& color) = 0;
  // Lines from point to point; only what lies in the rectangle [low, high].
  virtual void line(const std::vector<Point>& points, const Stroke& stroke, Point low, Point high) = 0;
  // y is the middle of the letters; turned: read from below to above.
  virtual void text(Point at, const std::string& text, double size, Align align, const std::string& color, bool bold,
                    bool turned) = 0;
  virtual void image(Point at, double width, double height, const std::vector<Color>& pixels, std::size_t columns) = 0;
  virtual std::string bytes() = 0;  // of the file; once, last
};

std::unique_ptr<Canvas> png_canvas(unsigned width, unsigned height);
std::unique_ptr<Canvas> svg_canvas(unsigned width, unsigned height, const std::string& title);

}  // namespace envoi::results
