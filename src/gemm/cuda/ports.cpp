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
  const auto address = reinterpret_cast<std::uintptr_t>(port.data);
  port.paired = port.column_stride == 1 && (port.row_stride % 2 == 0 || bound.port.rows == 1) &&
                address % static_cast<std::uintptr_t>(2 * size_of(port.dtype)) == 0;
  return port;
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

DevicePort operand_port(const gemm::BoundPort& operand) { return device_port(operand); }

void place_results(const std::vector<gemm::BoundPort>& results, const Kernel& kernel, std::int64_t rows,
                   std::int64_t columns, Arguments& arguments, std::vector<PartialResult>& partials,
                   std::vector<Finish>& finishes) {
  int staged = 0;  // bytes of a warp's staging that are taken
  for (std::size_t i = 0; i < results.size(); ++i) {
    const gemm::BoundPort& result = results[i];
    DevicePort& port = arguments.results[i];
    port = device_port(result);
    const gemm::PortFacts about = gemm::facts(result.kind);
    if (result.kind == PortKind::store || result.kind == PortKind::store_half) {
      const int size = size_of(port.dtype), per_pair = result.kind == PortKind::store_half ? 1 : 2;
      const int chunk_bytes = 16 * kChunkColumns / 2 * per_pair * size;
      const bool aligned = reinterpret_cast<std::uintptr_t>(port.data) % 16 == 0 && port.column_stride == 1 &&
                           (port.row_stride * size % 16 == 0 || rows == 1);
      if (port.data && aligned && staged + chunk_bytes <= kStagingBytes) port.staging = staged, staged += chunk_bytes;
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
