// Drawing with Cairo for PNG; for SVG as text, so that labels stay text and fonts are the viewer's.
#include "results/canvas.hpp"

#include <cairo.h>
#include <openssl/evp.h>

#include <cstdio>
#include <cstring>

#include "envoi/error.hpp"

namespace envoi::results {
namespace {

struct SurfaceDeleter {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};
struct ContextDeleter {
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using Surface = std::unique_ptr<cairo_surface_t, SurfaceDeleter>;
using Context = std::unique_ptr<cairo_t, ContextDeleter>;

void require(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  const bool memory = status == CAIRO_STATUS_NO_MEMORY;
  throw Error(
      memory ? ErrorKind::out_of_memory : ErrorKind::bad_argument,
      std::string("the picture cannot be drawn: ") + cairo_status_to_string(status) + "; ask for a smaller size");
}

std::string png_bytes(cairo_surface_t* surface) {
  std::string bytes;
  const auto append = [](void* to, const unsigned char* data, unsigned int count) {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), count);
    return CAIRO_STATUS_SUCCESS;
  };
  require(cairo_surface_write_to_png_stream(surface, append, &bytes));
  return bytes;
}

// A surface that holds the pixels, row after row from above.
Surface surface_of(const std::vector<Color>& pixels, std::size_t columns) {
  const std::size_t rows = pixels.size() / columns;
  Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(columns), static_cast<int>(rows)));
  require(cairo_surface_status(surface.get()));
  cairo_surface_flush(surface.get());
  unsigned char* const data = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  for (std::size_t y = 0; y < rows; ++y)
    for (std::size_t x = 0; x < columns; ++x) {
      const Color& c = pixels[y * columns + x];
      const std::uint32_t word = (std::uint32_t{c[0]} << 16) | (std::uint32_t{c[1]} << 8) | c[2];
      std::memcpy(data + y * stride + 4 * x, &word, sizeof word);
    }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

class PngCanvas final : public Canvas {
 public:
  PngCanvas(unsigned width, unsigned height)
      : surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height))) {
    require(cairo_surface_status(surface_.get()));
    context_.reset(cairo_create(surface_.get()));
    require(cairo_status(context_.get()));
  }

  void fill(Point at, double width, double height, const std::string& color) override {
    set(color, 1);
    cairo_rectangle(context_.get(), at.x, at.y, width, height);
    cairo_fill(context_.get());
  }

  void line(const std::vector<Point>& points, const Stroke& stroke, Point low, Point high) override {
    cairo_t* const c = context_.get();
    cairo_save(c);
    cairo_rectangle(c, low.x, low.y, high.x - low.x, high.y - low.y);
    cairo_clip(c);
    set(stroke.color, stroke.opacity);
    cairo_set_line_width(c, stroke.width);
    for (const Point& point : points) cairo_line_to(c, point.x, point.y);
    cairo_stroke(c);
    cairo_restore(c);
  }

  void text(Point at, const std::string& text, double size, Align align, const std::string& color, bool bold,
            bool turned) override {
    cairo_t* const c = context_.get();
    cairo_save(c);
    set(color, 1);
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, size);
    cairo_text_extents_t extents;
    cairo_text_extents(c, text.c_str(), &extents);
    const double shift = align == Align::start ? 0 : align == Align::middle ? 0.5 : 1;
    cairo_translate(c, at.x, at.y);
    if (turned) cairo_rotate(c, -1.5707963267948966);
    cairo_move_to(c, -shift * extents.x_advance, 0.35 * size);
    cairo_show_text(c, text.c_str());
    cairo_restore(c);
  }

  void image(Point at, double width, double height, const std::vector<Color>& pixels, std::size_t columns) override {
    const Surface picture = surface_of(pixels, columns);
    cairo_t* const c = context_.get();
    cairo_save(c);
    cairo_translate(c, at.x, at.y);
    cairo_scale(c, width / static_cast<double>(columns), height / static_cast<double>(pixels.size() / columns));
    cairo_set_source_surface(c, picture.get(), 0, 0);
    cairo_pattern_set_filter(cairo_get_source(c), CAIRO_FILTER_NEAREST);
    cairo_paint(c);
    cairo_restore(c);
  }

  std::string bytes() override {
    require(cairo_status(context_.get()));
    return png_bytes(surface_.get());
  }

 private:
  void set(const std::string& color, double opacity) {
    const auto part = [&](std::size_t at) { return std::stoi(color.substr(at, 2), nullptr, 16) / 255.0; };
    cairo_set_source_rgba(context_.get(), part(1), part(3), part(5), opacity);
  }

  Surface surface_;
  Context context_;
};

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// Text of an element or an attribute; what XML cannot hold becomes a blank.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

class SvgCanvas final : public Canvas {
 public:
  SvgCanvas(unsigned width, unsigned height, const std::string& title) {
    const std::string w = std::to_string(width), h = std::to_string(height);
    text_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w +
            "\" height=\"" + h + "\" viewBox=\"0 0 " + w + " " + h +
            "\" role=\"img\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<title>" + escaped(title) +
            "</title>\n";
  }

  void fill(Point at, double width, double height, const std::string& color) override {
    text_ += "<rect" + box(at, width, height) + " fill=\"" + color + "\"/>\n";
  }

  void line(const std::vector<Point>& points, const Stroke& stroke, Point low, Point high) override {
    const std::string clip = number(low.x) + "," + number(low.y) + "," + number(high.x) + "," + number(high.y);
    if (clip != clip_) {
      clip_ = clip;
      ++clips_;
      text_ += "<clipPath id=\"clip" + std::to_string(clips_) + "\"><rect" + box(low, high.x - low.x, high.y - low.y) +
               "/></clipPath>\n";
    }
    text_ += "<polyline points=\"";
    for (const Point& point : points) text_ += number(point.x) + "," + number(point.y) + " ";
    text_ += "\" fill=\"none\" stroke=\"" + stroke.color + "\" stroke-width=\"" + number(stroke.width) + "\"";
    if (stroke.opacity < 1) text_ += " stroke-opacity=\"" + number(stroke.opacity) + "\"";
    text_ += " clip-path=\"url(#clip" + std::to_string(clips_) + ")\"/>\n";
  }

  void text(Point at, const std::string& text, double size, Align align, const std::string& color, bool bold,
            bool turned) override {
    const char* const anchor = align == Align::start ? "start" : align == Align::middle ? "middle" : "end";
    text_ += "<text transform=\"translate(" + number(at.x) + " " + number(at.y) + ")" + (turned ? " rotate(-90)" : "") +
             "\" y=\"" + number(0.35 * size) + "\" font-size=\"" + number(size) + "\" text-anchor=\"" + anchor +
             "\" fill=\"" + color + "\"" + (bold ? " font-weight=\"bold\"" : "") + ">" + escaped(text) + "</text>\n";
  }

  void image(Point at, double width, double height, const std::vector<Color>& pixels, std::size_t columns) override {
    const std::string png = png_bytes(surface_of(pixels, columns).get());
    std::string base64(png.size() / 3 * 4 + 8, '\0');
    const int written =
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()),
                        reinterpret_cast<const unsigned char*>(png.data()), static_cast<int>(png.size()));
    base64.resize(static_cast<std::size_t>(written));
    text_ += "<image" + box(at, width, height) +
             " preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64," +
             base64 + "\"/>\n";
  }

  std::string bytes() override { return text_ + "</svg>\n"; }

 private:
  static std::string box(Point at, double width, double height) {
    return " x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" width=\"" + number(width) + "\" height=\"" +
           number(height) + "\"";
  }

  std::string text_, clip_;
  int clips_ = 0;
};

}  // namespace

std::unique_ptr<Canvas> png_canvas(unsigned width, unsigned height) {
  return std::make_unique<PngCanvas>(width, height);
}
std::unique_ptr<Canvas> svg_canvas(unsigned width, unsigned height, const std::string& title) {
  return std::make_unique<SvgCanvas>(width, height, title);
}

}  // namespace envoi::results
