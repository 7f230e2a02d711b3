// Makes a product: checks, tiles, loads and stores, partial results; and runs it.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <limits>
#include <string>

#include "envoi/cuda/plan.hpp"
#include "gemm/cuda/check.hpp"
#include "gemm/cuda/ports.hpp"
#include "gemm/cuda/schedule.hpp"
#include "gemm/cuda/steps.hpp"
#include "gemm/cuda/tensor_map.hpp"
#include "gemm/results.hpp"
#include "gemm/vectors.hpp"

namespace envoi::cuda {

// One side of the product on its way to the copy engine.
struct Side {
  Source source;
  bool by_vectors = false;
  bool packed = false, split = false;
  std::int64_t stride = 0;                      // of what the copy engine reads
  std::size_t high_offset = 0, low_offset = 0;  // of what is packed, in the workspace
};

// Rows of the product, made by one kernel.
struct Part {
  Kernel kernel;
  int blocks = 0;
  int box_rows_a = 0, box_rows_b = 0;
  Arguments arguments;
};

struct Product::Data {
  int device = 0;
  bool tf32 = false;
  Side a, b;
  std::vector<Part> parts;  // none: nothing to multiply
  std::vector<PartialResult> partials;
  std::vector<Finish> finishes;
  std::size_t workspace_bytes = 0;
  std::string name;  // of its ending, as profilers show it
  std::string words;
};

namespace detail {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::bad_argument, what); }

std::string shape_of(const Matrix& m) { return std::to_string(m.rows) + " x " + std::to_string(m.columns); }

const char* name_of(DType dtype) {
  return dtype == DType::bf16 ? "bf16" : dtype == DType::f16 ? "fp16" : dtype == DType::f32 ? "fp32" : "fp64";
}

void check_sides(const Matrix& a, const Matrix& b) {
  for (const auto& [side, m] : {std::pair{"A", &a}, std::pair{"B", &b}}) {
    gemm::check_matrix(*m, side);
    if (m->rows >= INT_MAX - 512 || m->columns >= INT_MAX - 512) {
      refuse(std::string(side) + " is " + shape_of(*m) + ": a GPU's product has sides below 2^31 - 512");
    }
    if (m->dtype == DType::f64) {
      refuse(std::string(side) + " is fp64; a GPU multiplies bf16, fp16 and fp32 (the CPU engine takes fp64)");
    }
  }
  if (a.columns != b.rows) {
    refuse("A is " + shape_of(a) + " and B is " + shape_of(b) + ": A's columns must be as many as B's rows");
  }
  if (a.dtype != b.dtype) {
    refuse(std::string("A is ") + name_of(a.dtype) + " and B is " + name_of(b.dtype) + ": on a GPU both are the same");
  }
}

int usable_device() {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) {
    if (const std::string why = why_no_device(); !why.empty()) throw Error(ErrorKind::no_device, why);
  }
  check(error, "asking for the current GPU");
  static std::vector<std::string> refusals = [] {
    std::vector<std::string> all;
    for (const Device& d : devices()) {
      all.resize(static_cast<std::size_t>(d.index) + 1);
      all.back() = d.refusal.empty() ? "" : d.name + " has " + d.refusal;
    }
    return all;
  }();
  const auto i = static_cast<std::size_t>(device);
  if (i >= refusals.size()) throw Error(ErrorKind::no_device, "the current GPU tells nothing about itself");
  if (!refusals[i].empty()) throw Error(ErrorKind::no_device, refusals[i]);
  return device;
}

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Adds room to a workspace.
std::size_t reserve(std::size_t& workspace, std::int64_t elements, std::size_t size) {
  const std::size_t offset = workspace;
  if (elements < 0 || static_cast<std::size_t>(elements) > (std::numeric_limits<std::size_t>::max() >> 8) / size) {
    throw Error(ErrorKind::out_of_memory, "the workspace of this product does not fit into any memory");
  }
  workspace = aligned(workspace + static_cast<std::size_t>(elements) * size);
  return offset;
}

// How the copy engine reads one side where it lies; packed where it cannot.
Side side_of(const Matrix& m, bool is_b, bool split) {
  Side side;
  side.source = {m.data, m.dtype, m.rows, m.columns, m.row_stride, m.column_stride};
  if (is_b) side.source = {m.data, m.dtype, m.columns, m.rows, m.column_stride, m.row_stride};
  const Source& s = side.source;
  side.split = split;
  const bool depth_is_one = s.depth_stride == 1 || s.depth == 1;
  const bool vector_is_one = s.vector_stride == 1 || s.vectors == 1;
  if (split || s.depth == 0) {  // the kernel takes a step at least: of zeros
    side.packed = true;
  } else if (depth_is_one && can_be_boxed(s.data, s.dtype, s.vectors, s.depth, s.vector_stride)) {
    side.stride = s.vector_stride;
  } else if (vector_is_one && s.dtype != DType::f32 &&
             can_be_boxed(s.data, s.dtype, s.depth, s.vectors, s.depth_stride)) {
    side.stride = s.depth_stride, side.by_vectors = true;
  } else {
    side.packed = true;
  }
  return side;
}

// Gives it its place in the workspace.
void pack_side(Side& side, std::size_t& workspace) {
  const int size = size_of(side.source.dtype);
  const std::int64_t unit = 16 / size;
  side.packed = true, side.by_vectors = false;
  side.stride = std::max(unit, (side.source.depth + unit - 1) / unit * unit);
  const std::int64_t elements = side.source.vectors * side.stride;
  side.high_offset = reserve(workspace, elements, static_cast<std::size_t>(size));
  if (side.split) side.low_offset = reserve(workspace, elements, static_cast<std::size_t>(size));
}

CUtensorMap map_of(const Side& side, const void* data, int box_rows, bool tf32) {
  BoxedMatrix matrix;
  matrix.data = data, matrix.dtype = side.source.dtype, matrix.stride = side.stride;
  matrix.rows = side.by_vectors ? side.source.depth : side.source.vectors;
  matrix.columns = side.by_vectors ? side.source.vectors : std::max<std::int64_t>(side.source.depth, 1);
  matrix.box_rows = box_rows;
  matrix.tf32 = tf32;
  return tensor_map(matrix);
}

// A strip of the product with its tiles; operands and results come later.
Part part_of(const Strip& strip, const Product::Data& d, const Arguments& common, std::int64_t columns) {
  Part part;
  part.kernel = *strip.kernel;
  const Kernel& kernel = part.kernel;
  Arguments& arguments = part.arguments;
  arguments = common;
  arguments.first_row = strip.first_row;
  arguments.row_tiles = static_cast<std::int32_t>(tiles_down(kernel, strip.rows));
  arguments.column_tiles = static_cast<std::int32_t>(tiles_across(kernel, columns));
  arguments.raster = 8;
  // Rows of A that are not there are not brought either: filling them with zeros takes longer than real ones. What the
  // tensor cores find in their place goes into sums of rows that no ending keeps.
  const auto rows = static_cast<int>(std::min<std::int64_t>(kernel.rows, (strip.rows + 7) / 8 * 8));
  const int by_vectors = kStepBytes / size_of(d.a.source.dtype);
  part.box_rows_a = d.a.by_vectors ? by_vectors : rows;
  part.box_rows_b = d.b.by_vectors ? by_vectors : kernel.columns / kernel.cluster;
  arguments.step_bytes =
      (kernel.three_terms ? 2 : 1) * kStepBytes * (kernel.columns + (d.a.by_vectors ? kernel.rows : rows));
  int clusters = 0;
  check(kernel.prepare(&clusters), "loading a kernel");
  if (clusters < 1) throw Error(ErrorKind::no_device, "this GPU has no room for a block of the kernel");
  const std::int64_t tiles = static_cast<std::int64_t>(arguments.row_tiles) * arguments.column_tiles;
  part.blocks = static_cast<int>(std::min<std::int64_t>(tiles, clusters)) * kernel.cluster;
  if (!d.a.packed) arguments.a = map_of(d.a, d.a.source.data, part.box_rows_a, d.tf32);
  if (!d.b.packed) arguments.b = map_of(d.b, d.b.source.data, part.box_rows_b, d.tf32);
  return part;
}

std::string words_of(const Product::Data& d, const Arguments& arguments, const std::vector<gemm::BoundPort>& results) {
  std::string words;
  for (const Part& part : d.parts) {
    const Kernel& k = part.kernel;
    words += (words.empty() ? "tiles of " : ", then ") + std::to_string(k.rows) + " x " + std::to_string(k.columns) +
             " (" + std::to_string(part.blocks) + " blocks, clusters of " + std::to_string(k.cluster) + ", " +
             std::to_string(k.stages) + " stages)";
  }
  const auto way = [](const Side& side) {
    return side.split ? "split into two parts" : side.packed ? "packed" : side.by_vectors ? "by vectors" : "by depth";
  };
  words = (words.empty() ? "nothing to multiply" : words) + ", A " + way(d.a) + ", B " + way(d.b);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].kind != PortKind::store && results[i].kind != PortKind::store_half) continue;
    words += arguments.results[i].slots > 0      ? ", stored in boxes"
             : arguments.results[i].staging >= 0 ? ", stored by lines"
             : arguments.results[i].data         ? ", stored element by element"
                                                 : ", not stored";
  }
  return words;
}

}  // namespace

Product make_product(const Matrix& a, const Matrix& b, Fp32 fp32, std::span<const Kernel> kernels, const char* name,
                     const void* ending, std::size_t ending_bytes, const BoundPorts& operands,
                     const BoundPorts& results) {
  check_sides(a, b);
  const std::int64_t rows = a.rows, columns = b.columns, depth = a.columns;
  const std::vector<gemm::BoundPort> ins = named("operand ", operands), outs = named("result ", results);
  check_ports(a, b, ins, outs);
  auto data = std::make_shared<Product::Data>();
  data->name = std::string("envoi ") + name;
  data->device = usable_device();
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, data->device),
        "asking a GPU its size");
  const bool three_terms = a.dtype == DType::f32 && fp32 == Fp32::exact;
  data->tf32 = a.dtype == DType::f32 && !three_terms;
  data->a = side_of(a, false, three_terms), data->b = side_of(b, true, three_terms);
  const int element = a.dtype == DType::bf16 ? 0 : a.dtype == DType::f16 ? 1 : 2;
  const auto loop = [&] { return 4 * element + 2 * data->a.by_vectors + data->b.by_vectors; };

  Arguments arguments;
  arguments.rows = rows, arguments.columns = columns;
  const int step_depth = kStepBytes / size_of(a.dtype);
  arguments.steps = static_cast<std::int32_t>(std::max<std::int64_t>(1, (depth + step_depth - 1) / step_depth));
  if (ending_bytes > sizeof arguments.ending) refuse("an ending on a GPU has at most 128 bytes of its own");
  std::memcpy(arguments.ending, ending, ending_bytes);
  int staged = 0;
  place_operands(ins, rows, arguments, staged);

  Work work{rows, columns, arguments.steps, three_terms, loop(), true, multiprocessors};
  // Partial results of columns are laid out by the tiles' width, and a product has one layout.
  for (const gemm::BoundPort& out : outs) {
    work.may_split = work.may_split && (out.kind == PortKind::store || out.kind == PortKind::store_half ||
                                        out.kind == PortKind::select_n || gemm::facts(out.kind).along_m);
  }
  const std::vector<Strip> strips = schedule(kernels, work);
  if (strips.empty()) {
    refuse(std::string("there is no kernel for ") + name +
           (three_terms ? " of fp32 in full precision: use Fp32::tf32, bf16 or fp16, or compile it for ThreeTermTile "
                          "(docs/endings.md)"
                        : ": compile it for a tile (docs/endings.md)"));
  }
  for (const Strip& strip : strips) {  // A gives way where there is no loop for it
    if ((strip.kernel->loops >> loop() & 1) == 0) data->a.packed = true, data->a.by_vectors = false;
    if ((strip.kernel->loops >> loop() & 1) == 0) data->b.packed = true, data->b.by_vectors = false;
    if (static_cast<double>(tiles_down(*strip.kernel, strip.rows)) *
            static_cast<double>(tiles_across(*strip.kernel, columns)) >
        2e8) {
      refuse("a product of " + std::to_string(rows) + " x " + std::to_string(columns) +
             " has too many tiles: split it");
    }
  }
  arguments.loop = loop();
  std::size_t workspace = 0;
  for (Side* side : {&data->a, &data->b}) {
    if (!side->packed) continue;
    pack_side(*side, workspace);
    check(load_pack(), "loading a kernel");
  }
  place_results(outs, *strips.front().kernel, rows, columns, staged, arguments, data->partials, data->finishes);
  for (PartialResult& partial : data->partials) partial.offset = reserve(workspace, partial.elements, partial.size);
  if (!data->finishes.empty()) check(load_finish(), "loading a kernel");
  data->workspace_bytes = workspace;
  if (rows > 0 && columns > 0) {
    for (const Strip& strip : strips) data->parts.push_back(part_of(strip, *data, arguments, columns));
  }
  data->words = words_of(*data, arguments, outs);
  return Product(std::move(data));
}

}  // namespace detail

std::size_t Product::workspace_bytes() const { return data_->workspace_bytes; }
std::string Product::describe() const { return data_->words; }

namespace {

// What the calling thread does meanwhile, as profilers show it (NVTX; without a profiler next to nothing).
class ProfilerRange {
 public:
  explicit ProfilerRange(const std::string& name) { nvtxRangePushA(name.c_str()); }
  ~ProfilerRange() { nvtxRangePop(); }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace

void Product::run(Stream stream_handle, void* workspace, std::size_t bytes) const {
  const Data& d = *data_;
  const ProfilerRange range(d.name);
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current GPU");
  if (device != d.device) {
    throw Error(ErrorKind::bad_argument, "this product was made for GPU " + std::to_string(d.device) +
                                             " and the current one is " + std::to_string(device) +
                                             ": make it current with cudaSetDevice");
  }
  if (bytes < d.workspace_bytes || (d.workspace_bytes > 0 && !workspace)) {
    throw Error(ErrorKind::bad_argument, "this product needs a workspace of " + std::to_string(d.workspace_bytes) +
                                             " bytes and was given " + std::to_string(workspace ? bytes : 0));
  }
  if (d.workspace_bytes > 0 && reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) {
    throw Error(ErrorKind::bad_argument, "a workspace begins at a multiple of 256 bytes, as cudaMalloc's memory does");
  }
  auto* base = static_cast<unsigned char*>(workspace);
  if (!d.parts.empty()) {
    for (const Side* side : {&d.a, &d.b}) {
      if (!side->packed) continue;
      void* low = side->split ? base + side->low_offset : nullptr;
      check(pack(side->source, base + side->high_offset, low, side->stride, stream), "packing an operand");
    }
  }
  for (const Part& part : d.parts) {
    Arguments arguments = part.arguments;
    for (const PartialResult& partial : d.partials) {
      arguments.results[partial.result].partials = base + partial.offset;
    }
    const auto map_packed = [&](const Side& side, int box_rows, CUtensorMap& map, CUtensorMap& low_map) {
      if (!side.packed) return;
      map = detail::map_of(side, base + side.high_offset, box_rows, d.tf32);
      if (side.split) low_map = detail::map_of(side, base + side.low_offset, box_rows, false);
    };
    map_packed(d.a, part.box_rows_a, arguments.a, arguments.a_low);
    map_packed(d.b, part.box_rows_b, arguments.b, arguments.b_low);
    check(part.kernel.launch(arguments, part.blocks, stream), "starting a product");
  }
  for (std::size_t i = 0; i < d.finishes.size(); ++i) {
    Finish job = d.finishes[i];
    job.port.partials = base + d.partials[i].offset;
    check(finish(job, stream), "finishing the results of a product");
  }
}

}  // namespace envoi::cuda
