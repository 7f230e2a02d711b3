#include "gemm/cuda/ports.hpp"

#include <algorithm>

#include "envoi/error.hpp"
#include "gemm/cuda/tensor_map.hpp"
#include "gemm/results.hpp"

namespace envoi::cuda {
namespace {

bool left_out(const gemm::BoundPort& port) {
  const bool may_be =
      port.kind == PortKind::column || port.kind == PortKind::store || port.kind == PortKind::store_half;
  return may_be && !port.port.data && port.port.rows == 0 && port.port.columns == 0;
}

void want_gpu_type(const gemm::BoundPort& port) {
  if (port.port.dtype == DType::f64) {
    throw Error(ErrorKind::bad_argument, port.name + " is fp64; on a GPU operands and results are fp32, bf16 or fp16");
  }
}

// What all ports have of their matrix.
DevicePort device_port(const gemm::BoundPort& bound) {
  DevicePort port;
  port.data = const_cast<void*>(bound.port.data);
  port.row_stride = bound.port.row_stride, port.column_stride = bound.port.column_stride;
  port.dtype = bound.port.dtype;
  port.targets = bound.port.targets;
  return port;
}

constexpr int kChunkBytes = 16 * kChunkColumns * 2;  // of a warp, in 16-bit numbers

// Whether its rows can be read and written 16 bytes at a time.
bool is_aligned(const DevicePort& port, std::int64_t rows) {
  return reinterpret_cast<std::uintptr_t>(port.data) % 16 == 0 && port.column_stride == 1 &&
         (rows == 1 || (port.row_stride > 0 && port.row_stride * size_of(port.dtype) % 16 == 0));
}

std::int64_t blocks_of(std::int64_t count, int width) { return (count + width - 1) / width; }

}  // namespace

std::vector<gemm::BoundPort> named(const std::string& what, const detail::BoundPorts& ports) {
  std::vector<gemm::BoundPort> all;
  for (const auto& [kind, port] : ports) {
    all.push_back({kind, port, what + std::to_string(all.size() + 1) + " (" + gemm::kind_name(kind) + ")"});
  }
  return all;
}

void check_ports(const Matrix& a, const Matrix& b, const std::vector<gemm::BoundPort>& operands,
                 const std::vector<gemm::BoundPort>& results) {
  gemm::Shape shape;
  shape.rows = a.rows, shape.columns = b.columns;
  shape.row_blocks = blocks_of(shape.rows, kBlockRows), shape.column_blocks = blocks_of(shape.columns, kBlockColumns);
  std::vector<gemm::BoundPort> bound_operands, bound_results;
  for (const gemm::BoundPort& port : operands) {
    if (left_out(port)) continue;
    check_operand(port, shape);
    want_gpu_type(port);
    bound_operands.push_back(port);
  }
  for (const gemm::BoundPort& port : results) {
    if (left_out(port)) continue;
    const std::int64_t k = check_result(port, shape);
    want_gpu_type(port);
    if (k > (1 << 20)) throw Error(ErrorKind::bad_argument, port.name + " wants more than 2^20 winners of each");
    bound_results.push_back(port);
  }
  check_overlaps(&a, "A", bound_operands, bound_results);
  check_overlaps(&b, "B", {}, bound_results);
}

void place_operands(const std::vector<gemm::BoundPort>& operands, std::int64_t rows, Arguments& arguments,
                    int& staged) {
  DType type = DType::f32;
  bool all = true;  // matrices go through shared memory if all of them can, in one type
  int bytes = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    DevicePort& port = arguments.operands[i];
    port = device_port(operands[i]);
    if (operands[i].kind != PortKind::tile) continue;
    all = all && port.dtype != DType::f32 && (type == DType::f32 || type == port.dtype) && is_aligned(port, rows);
    type = port.dtype;
    port.staging = bytes, bytes += kChunkBytes;
  }
  all = all && bytes > 0 && bytes < kStagingBytes;
  for (DevicePort& port : arguments.operands) {
    if (!all) port.staging = -1;
  }
  arguments.tile_way = !all ? 0 : type == DType::bf16 ? 1 : 2;
  staged = all ? bytes : 0;
}

void place_results(const std::vector<gemm::BoundPort>& results, const Kernel& kernel, std::int64_t rows,
                   std::int64_t columns, int staged, Arguments& arguments, std::vector<PartialResult>& partials,
                   std::vector<Finish>& finishes) {
  std::int64_t stores = 0;
  for (const gemm::BoundPort& result : results) {
    stores += (result.kind == PortKind::store || result.kind == PortKind::store_half) && !left_out(result);
  }
  int copied = 0;  // results that the copy engine stores
  for (std::size_t i = 0; i < results.size(); ++i) {
    const gemm::BoundPort& result = results[i];
    DevicePort& port = arguments.results[i];
    port = device_port(result);
    const gemm::PortFacts about = gemm::facts(result.kind);
    if (result.kind == PortKind::store || result.kind == PortKind::store_half) {
      const int size = size_of(port.dtype), per_pair = result.kind == PortKind::store_half ? 1 : 2;
      const int chunk_bytes = 16 * kChunkColumns / 2 * per_pair * size;
      if (!port.data || rows == 0 || columns == 0 || !is_aligned(port, rows) || staged + chunk_bytes > kStagingBytes) {
        continue;
      }
      const bool by_copy = per_pair == 2 && size == 2;
      if (by_copy) {
        // The copy engine stores whole pieces of 16 bytes, also where only some of one are inside of the matrix.
        if (copied == kMaxCopied || columns % 8 != 0 || rows >= (std::int64_t{1} << 31)) continue;
        if (stores == 1 && staged == kChunkBytes) {  // one matrix comes, one goes: they share both slots
          staged = 0;
          for (DevicePort& operand : arguments.operands) {
            if (operand.staging == 0) operand.slots = 2;
          }
        }
        BoxedMatrix boxes;
        boxes.data = port.data, boxes.dtype = port.dtype, boxes.rows = rows, boxes.columns = columns;
        boxes.stride = port.row_stride, boxes.box_rows = 16;
        arguments.copied[copied] = tensor_map(boxes);
        port.map = copied++;
        port.slots = stores == 1 && staged + 2 * chunk_bytes <= kStagingBytes ? 2 : 1;
      }
      port.staging = staged, staged += chunk_bytes * std::max(1, port.slots);
      continue;
    }
    if (result.kind == PortKind::select_n && columns > 0) continue;  // the kernel writes it, or there is none to choose
    Finish job;
    job.kind = result.kind;
    PartialResult partial;
    partial.result = static_cast<int>(i);
    job.slots = about.along_m ? columns : rows;
    // A warp's 16 rows are a block; a warpgroup's four are always there.
    job.blocks = about.along_m ? 4 * blocks_of(rows, kBlockRows) : blocks_of(columns, kernel.columns);
    job.block_width = about.along_m ? 16 : about.half ? kernel.columns / 2 : kernel.columns;
    job.joined = about.along_m ? 1 : kBlockColumns / kernel.columns;
    partial.elements = job.blocks * job.slots;
    port.partial_stride = job.slots;
    if (about.winners) {
      job.k = job.slots > 0 ? std::max<std::int64_t>(1, result.port.winner_count / job.slots) : 1;
      port.k = static_cast<std::int32_t>(std::min<std::int64_t>(job.k, job.block_width));
      port.data = result.port.winners;
      partial.elements *= port.k;
      partial.size = sizeof(Candidate);
    } else {
      partial.size = result.kind == PortKind::lse_n ? 2 * sizeof(float) : sizeof(float);
      job.slot_stride = about.along_m ? port.column_stride : port.row_stride;
      if (result.kind == PortKind::max_abs_m) job.k = result.port.rows;
    }
    job.port = port;
    partials.push_back(partial);
    finishes.push_back(job);
  }
}

}  // namespace envoi::cuda
