// B as the main loop reads it. Columns stand in tiles of kTileColumns, within a tile even ones before odd ones, in
// panels of kPanel (then 2, then 1): [step of k][column][lane]. Each column is filled up with zeros to whole steps.
#pragma once

#include <memory>
#include <optional>

#include "envoi/operand.hpp"

namespace envoi::core {
class ThreadPool;
}

namespace envoi::gemm {

struct Packed::Data {
  std::int64_t rows = 0, columns = 0;
  DType dtype = DType::f32;  // of B; fp16 is kept as fp32
  int lanes = 0;
  std::int64_t padded = 0;  // rows, filled up
  std::unique_ptr<std::byte[]> memory;
  void* first = nullptr;  // aligned to 64 bytes

  template <class T>
  const T* tile(std::int64_t column) const {  // a multiple of kTileColumns
    return static_cast<const T*>(first) + column * padded;
  }
};

std::shared_ptr<const Packed::Data> pack(const Operand& b, core::ThreadPool& pool);

// B if it is packed, else what this pool packs it into, which `own` then holds.
const Columns& packed(const Columns& b, core::ThreadPool& pool, std::optional<Columns>& own);

}  // namespace envoi::gemm
