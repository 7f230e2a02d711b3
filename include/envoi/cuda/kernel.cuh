// The kernel of a product on Hopper: one warpgroup has the copy engine (TMA) fill a ring of shared memory with steps of
// 128 bytes of the depth, the others multiply from there (wgmma) and put each finished tile through the ending. Blocks
// stay for many tiles (persistent grid); the blocks of a cluster take neighbouring rows and share B by multicast.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cfloat>
#include <climits>
#include <cstdint>
#include <type_traits>

#include "envoi/cuda/arguments.hpp"
#include "envoi/cuda/ptx/barrier.cuh"
#include "envoi/cuda/ptx/copy.cuh"
#include "envoi/cuda/ptx/multiply.cuh"
#include "envoi/ending/function.hpp"

namespace envoi::cuda {

using gemm::FinishedTile;
using gemm::OperandPort;
using gemm::Port;
using gemm::PortState;
using gemm::ResultPort;
using gemm::SelectPort;
using gemm::WinnersPort;

#define ENVOI_ENDING_ON_GPU
#include "envoi/cuda/lanes.cuh"
// After the lanes.
#include "envoi/ending/ports.inl"
#undef ENVOI_ENDING_ON_GPU

// A tile: rows x columns of one block, each consumer warpgroup having 64 of the rows.
template <int rows, int columns, int stages, int cluster, bool three_terms = false>
struct TileShape {
  static constexpr int kRows = rows, kColumns = columns, kStages = stages, kCluster = cluster;
  static constexpr bool kThreeTerms = three_terms;
  static constexpr int kConsumers = rows / 64;
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kSums = columns / 2;  // of a thread
  static constexpr int kParts = three_terms ? 2 : 1;
  static constexpr int kBytesA = rows * kStepBytes, kBytesB = columns * kStepBytes;  // of one part
  static constexpr int kStageBytes = (kBytesA + kBytesB) * kParts;
  static constexpr int kRingBytes = kStageBytes * stages;
  static constexpr int kSharedBytes = 1024 + kRingBytes + 4 * kConsumers * kStagingBytes + 16 * stages;
  static_assert(kSharedBytes <= 232448, "a block of Hopper has 227 KiB of shared memory");
  static_assert(columns % (64 * cluster) == 0);
};
using LargeTile = TileShape<128, 256, 4, 2>;
using MediumTile = TileShape<128, 128, 5, 1>;
using SmallTile = TileShape<64, 64, 12, 1>;
using ThreeTermTile = TileShape<128, 128, 2, 2, true>;

// Which of its ring's stages a warpgroup is at, and the parity of that stage's phase.
template <int stages>
struct RingPlace {
  int stage = 0;
  std::uint32_t phase = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, phase ^= 1;
  }
};

// Tiles in the order in which clusters take them: `raster` rows of tiles at a time, down before across, so that what
// runs at the same time shares rows of A and columns of B in the cache.
struct TilePlace {
  int row, column;
};
__device__ __forceinline__ TilePlace tile_place(const Arguments& arguments, int number) {
  const int in_group = arguments.raster * arguments.column_tiles;
  const int group = number / in_group, within = number - group * in_group;
  const int first = group * arguments.raster;
  const int height = min(arguments.raster, arguments.row_tiles - first);
  const int column = within / height;
  return {first + within - column * height, column};
}

// Loads of one step. Operands by depth: boxes of the whole height; by vectors: boxes of 64 vectors.
template <class Shape>
__device__ __forceinline__ void load_step(unsigned char* stage, std::uint64_t* full, const CUtensorMap* map_a,
                                          const CUtensorMap* map_b, int loop, bool has_rows, int row, int column,
                                          int depth, std::uint32_t rank) {
  const bool a_by_vectors = loop & 2, b_by_vectors = loop & 1;
  if (!has_rows) {  // filling them with zeros would take long, and nothing comes of them
  } else if (a_by_vectors) {
#pragma unroll
    for (int i = 0; i < Shape::kRows / 64; ++i) ptx::load_box(stage + 8192 * i, map_a, row + 64 * i, depth, full);
  } else {
    ptx::load_box(stage, map_a, depth, row, full);
  }
  unsigned char* b = stage + Shape::kBytesA * Shape::kParts;
  constexpr int kShare = Shape::kColumns / Shape::kCluster;  // what this block brings for all of the cluster
  constexpr std::uint16_t kAll = (1 << Shape::kCluster) - 1;
  const int first = kShare * static_cast<int>(rank);
  if (b_by_vectors) {
#pragma unroll
    for (int i = 0; i < kShare / 64; ++i) {
      unsigned char* to = b + (first / 64 + i) * 8192;
      if constexpr (Shape::kCluster > 1) {
        ptx::load_box_to_blocks(to, map_b, column + first + 64 * i, depth, full, kAll);
      } else {
        ptx::load_box(to, map_b, column + first + 64 * i, depth, full);
      }
    }
  } else if constexpr (Shape::kCluster > 1) {
    ptx::load_box_to_blocks(b + first * kStepBytes, map_b, depth, column + first, full, kAll);
  } else {
    ptx::load_box(b, map_b, depth, column, full);
  }
}

template <class Shape>
__device__ __forceinline__ void produce(const Arguments& arguments, unsigned char* ring, std::uint64_t* full,
                                        std::uint64_t* empty, std::uint32_t rank) {
  RingPlace<Shape::kStages> at;
  const int tiles = arguments.row_tiles * arguments.column_tiles;
  const int step_depth = arguments.loop / 4 == static_cast<int>(Element::tf32) ? 32 : 64;
  for (int t = blockIdx.x / Shape::kCluster; t < tiles; t += gridDim.x / Shape::kCluster) {
    const TilePlace place = tile_place(arguments, t);
    const int row =
        static_cast<int>(arguments.first_row) + (place.row * Shape::kCluster + static_cast<int>(rank)) * Shape::kRows;
    const int column = place.column * Shape::kColumns;
    const bool has_rows = row < arguments.rows;
    const std::uint32_t bytes = has_rows ? arguments.step_bytes : Shape::kBytesB * Shape::kParts;
    for (int step = 0; step < arguments.steps; ++step) {
      ptx::barrier_wait(&empty[at.stage], at.phase ^ 1);
      ptx::barrier_arrive_expecting(&full[at.stage], bytes);
      unsigned char* stage = ring + at.stage * Shape::kStageBytes;
      load_step<Shape>(stage, &full[at.stage], &arguments.a, &arguments.b, arguments.loop, has_rows, row, column,
                       step * step_depth, rank);
      if constexpr (Shape::kThreeTerms) {
        // [A high, A low, B high, B low]; the low parts lie one operand further.
        if (has_rows) ptx::load_box(stage + Shape::kBytesA, &arguments.a_low, step * step_depth, row, &full[at.stage]);
        constexpr int kShare = Shape::kColumns / Shape::kCluster;
        const int first = kShare * static_cast<int>(rank);
        unsigned char* b_low = stage + 2 * Shape::kBytesA + Shape::kBytesB;
        ptx::load_box_to_blocks(b_low + first * kStepBytes, &arguments.b_low, step * step_depth, column + first,
                                &full[at.stage], (1 << Shape::kCluster) - 1);
      }
      at.advance();
    }
  }
}

// What consumers know of the ring: addresses in shared memory.
struct Ring {
  std::uint32_t stages, full;
  std::uint32_t empty;  // in the block of the cluster that this thread tells
  bool tells;           // each warp tells every block that a stage may be filled again, since each fills all of them
};
template <class Shape>
__device__ __forceinline__ Ring ring_of(const unsigned char* stages, const std::uint64_t* full,
                                        const std::uint64_t* empty) {
  const std::uint32_t lane = threadIdx.x % 32;
  Ring ring{ptx::shared_address(stages), ptx::shared_address(full), ptx::shared_address(empty), lane < Shape::kCluster};
  if (Shape::kCluster > 1 && ring.tells) ring.empty = ptx::address_in_block(ring.empty, lane);
  return ring;
}
template <class Shape>
__device__ __forceinline__ void release(const Ring& ring, int stage) {
  if (ring.tells) ptx::barrier_arrive_in_block(ring.empty + 8 * stage);
}

// Keeps the compiler from reading sums before the tensor cores have written them.
template <int count>
__device__ __forceinline__ void settle(float (&sums)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

template <Element element, bool a_by_vectors, bool b_by_vectors, int count>
__device__ __forceinline__ void multiply(float (&sums)[count], std::uint64_t a, std::uint64_t b, int add) {
  if constexpr (element == Element::bf16) {
    ptx::multiply_bf16<a_by_vectors, b_by_vectors>(sums, a, b, add);
  } else if constexpr (element == Element::f16) {
    ptx::multiply_f16<a_by_vectors, b_by_vectors>(sums, a, b, add);
  } else {
    ptx::multiply_tf32(sums, a, b, add);
  }
}

// The sums of one tile, 32 bytes of the depth an instruction; one step's instructions are at work while the next one's
// are issued.
template <class Shape, Element element, bool a_by_vectors, bool b_by_vectors, class Operands>
__device__ __forceinline__ void multiply_steps(float (&sums)[Shape::kSums], int steps, const Ring& ring,
                                               RingPlace<Shape::kStages>& at, int warpgroup, Operands& operands) {
  // In the descriptors' unit of 16 bytes: from one instruction's depth to the next, by depth 32 bytes, by vectors 16
  // rows of 128.
  constexpr int kNextA = a_by_vectors ? 128 : 2, kNextB = b_by_vectors ? 128 : 2;
  const std::uint32_t rows = ring.stages + warpgroup * 8192, columns = ring.stages + Shape::kBytesA;
  const std::uint64_t first_a = a_by_vectors ? ptx::describe_by_vectors(rows, 8192) : ptx::describe_by_depth(rows);
  const std::uint64_t first_b =
      b_by_vectors ? ptx::describe_by_vectors(columns, 8192) : ptx::describe_by_depth(columns);
  int before = 0;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ptx::barrier_wait(ring.full + 8 * at.stage, at.phase);
    const std::uint64_t a = first_a + static_cast<std::uint32_t>(at.stage * (Shape::kStageBytes / 16));
    const std::uint64_t b = first_b + static_cast<std::uint32_t>(at.stage * (Shape::kStageBytes / 16));
    ptx::multiply_begin();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      multiply<element, a_by_vectors, b_by_vectors>(sums, a + i * kNextA, b + i * kNextB, step | i);
    }
    ptx::multiply_commit();
    ptx::multiply_wait<1>();
    if (step > 0) release<Shape>(ring, before);
    operands.prefetch(step, steps);
    before = at.stage;
    at.advance();
  }
  operands.begin();
  ptx::multiply_wait<0>();
  release<Shape>(ring, before);
  settle(sums);
}

// fp32 as high + low parts of TF32: low x high + high x low + high x high. Each step's sums start anew and are added
// to the others in fp32, since the tensor cores' own additions lose more than the dropped low x low.
template <class Shape, class Operands>
__device__ __forceinline__ void multiply_steps_in_terms(float (&sums)[Shape::kSums], int steps, const Ring& ring,
                                                        RingPlace<Shape::kStages>& at, int warpgroup,
                                                        Operands& operands) {
#pragma unroll
  for (int i = 0; i < Shape::kSums; ++i) sums[i] = 0;
  for (int step = 0; step < steps; ++step) {
    float part[Shape::kSums];
    ptx::barrier_wait(ring.full + 8 * at.stage, at.phase);
    const std::uint32_t stage = ring.stages + at.stage * Shape::kStageBytes;
    const std::uint64_t a = ptx::describe_by_depth(stage + warpgroup * 8192);
    const std::uint64_t b = ptx::describe_by_depth(stage + 2 * Shape::kBytesA);
    constexpr int kLowA = Shape::kBytesA / 16, kLowB = Shape::kBytesB / 16;
    ptx::multiply_begin();
#pragma unroll
    for (int i = 0; i < 4; ++i) ptx::multiply_tf32(part, a + kLowA + 2 * i, b + 2 * i, i);
#pragma unroll
    for (int i = 0; i < 4; ++i) ptx::multiply_tf32(part, a + 2 * i, b + kLowB + 2 * i, 1);
#pragma unroll
    for (int i = 0; i < 4; ++i) ptx::multiply_tf32(part, a + 2 * i, b + 2 * i, 1);
    ptx::multiply_commit();
    ptx::multiply_wait<0>();
    settle(part);
    release<Shape>(ring, at.stage);
#pragma unroll
    for (int i = 0; i < Shape::kSums; ++i) sums[i] = rounded_sum(sums[i], part[i]);
    operands.prefetch(step, steps);
    at.advance();
  }
  operands.begin();
}

// Which main loops a kernel has. Each costs compile time; where A is by vectors and there is no loop for it, A is
// turned on the way into the workspace.
enum class Loops { a_by_depth, all };
ENVOI_FN constexpr unsigned loops_of(Loops loops, bool three_terms) {
  return three_terms ? 0x100u : loops == Loops::all ? 0x1FFu : 0x133u;  // bit 4 * element + 2 * A + B
}

template <class Shape, Loops loops, class Operands>
__device__ __forceinline__ void multiply_any(float (&sums)[Shape::kSums], const Arguments& arguments, const Ring& ring,
                                             RingPlace<Shape::kStages>& at, int warpgroup, Operands& operands) {
  const int steps = arguments.steps;  // at least 1
  if constexpr (Shape::kThreeTerms) {
    multiply_steps_in_terms<Shape>(sums, steps, ring, at, warpgroup, operands);
  } else {
#define ENVOI_LOOP(number, element, a_by_vectors, b_by_vectors)                                                    \
  if constexpr (loops_of(loops, false) >> number & 1) {                                                            \
    if (arguments.loop == number) {                                                                                \
      return multiply_steps<Shape, Element::element, a_by_vectors, b_by_vectors>(sums, steps, ring, at, warpgroup, \
                                                                                 operands);                        \
    }                                                                                                              \
  }
    ENVOI_LOOP(0, bf16, false, false)
    ENVOI_LOOP(1, bf16, false, true)
    ENVOI_LOOP(2, bf16, true, false)
    ENVOI_LOOP(3, bf16, true, true)
    ENVOI_LOOP(4, f16, false, false)
    ENVOI_LOOP(5, f16, false, true)
    ENVOI_LOOP(6, f16, true, false)
    ENVOI_LOOP(7, f16, true, true)
    ENVOI_LOOP(8, tf32, false, false)
#undef ENVOI_LOOP
  }
}

struct BeginOperand {
  const Spot& spot;
  template <class Field>
  __device__ __forceinline__ void operator()(Field& field, int i) const {
    field.begin(spot, spot.arguments->operands[i]);
  }
};
struct BeginResult {
  const Spot& spot;
  template <class Field>
  __device__ __forceinline__ void operator()(Field& field, int i) const {
    field.begin(spot, spot.arguments->results[i]);
  }
};
template <TileWay way>
struct BeginLoads {
  int chunk;
  template <class Field>
  __device__ __forceinline__ void operator()(Field& field, int) const {
    field.template begin_chunk<way>(chunk);
  }
};
struct BeginChunk {
  int chunk;
  template <class Field>
  __device__ __forceinline__ void operator()(Field& field, int) const {
    field.begin_chunk(chunk);
  }
};
struct EndChunk {
  int chunk;
  template <class Field>
  __device__ __forceinline__ void operator()(Field& field, int) const {
    field.end_chunk(chunk);
  }
};
struct EndKeeping {
  template <class Field>
  __device__ __forceinline__ void operator()(Field& field, int) const {
    field.end();
  }
};
template <TileWay way>
struct LoadPair {
  int h, j;
  template <class Loader, class Value>
  __device__ __forceinline__ void operator()(const Loader& loader, Value& value) const {
    loader.template load<way>(h, j, value);
  }
};
template <bool whole>
struct KeepPair {
  int h, j;
  template <class Keeper, class Value>
  __device__ __forceinline__ void operator()(Keeper& keeper, const Value& value) const {
    keeper.template put<whole>(h, j, value.x);
  }
};

// How many matrices are among an ending's operands.
struct CountTiles {
  int& count;
  bool and_halves;
  template <class Field>
  ENVOI_FN constexpr void operator()(const Field&, int) const {
    if (std::is_same_v<Field, Tile<Counted>> || (and_halves && std::is_same_v<Field, HalfTile<Counted>>)) ++count;
  }
};
template <class Ending>
ENVOI_FN constexpr int tiles_of(bool and_halves = false) {
  typename Ending::template In<Counted> in{};
  int count = 0;
  each_field<operands_of<Ending>>(in, CountTiles{count, and_halves});
  return count;
}

struct Prefetch {
  const Spot& spot;
  template <class Field>
  __device__ __forceinline__ void operator()(Field&, int i) const {
    Field::prefetch(spot, spot.arguments->operands[i]);
  }
};

// A tile's operands, and when they are asked for.
template <class Shape, class Ending>
struct Operands {
  static constexpr int kPrefetchSteps = 16;  // before the last: earlier, and the cache has lost it again
  typename Ending::template In<Loading<Shape>> loaders;
  const Spot& spot;
  __device__ __forceinline__ void prefetch(int step, int steps) {
    if constexpr (tiles_of<Ending>(true) > 0) {
      if (step == max(0, steps - kPrefetchSteps)) each_field<operands_of<Ending>>(loaders, Prefetch{spot});
    }
  }
  __device__ __forceinline__ void begin() { each_field<operands_of<Ending>>(loaders, BeginOperand{spot}); }
};

// A chunk of a finished tile through the ending.
template <class Shape, class Ending, TileWay way, bool whole, class Loaders, class Keepers>
__device__ __forceinline__ void end_chunk(float (&sums)[Shape::kSums], const Ending& end, Loaders& loaders,
                                          Keepers& keepers, int chunk) {
  using V = Lanes<float>;
  constexpr int ins = operands_of<Ending>, outs = results_of<Ending>;
  each_field<ins>(loaders, BeginLoads<way>{chunk});
#pragma unroll
  for (int j = 8 * chunk; j < 8 * chunk + 8; ++j) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      typename Ending::template In<V> values;
      both_fields<ins>(loaders, values, LoadPair<way>{h, j});
      const typename Ending::template Out<V> kept =
          end(Pair<V>{V::of(sums[4 * j + 2 * h]), V::of(sums[4 * j + 2 * h + 1])}, values);
      both_fields<outs>(keepers, kept, KeepPair<whole>{h, j});
    }
  }
}

// Whether results of an ending ask of each column whether it is there. Then tiles that have all of theirs are compiled
// for themselves.
struct CountAsking {
  int& count;
  template <class Field>
  ENVOI_FN constexpr void operator()(const Field&, int) const {
    if (std::is_same_v<Field, SumN<Counted>> || std::is_same_v<Field, MaxN<Counted>> ||
        std::is_same_v<Field, MaxAbsN<Counted>> || std::is_same_v<Field, LseN<Counted>>) {
      ++count;
    }
  }
};
template <class Ending>
ENVOI_FN constexpr bool asks_for_columns() {
  typename Ending::template Out<Counted> out{};
  int count = 0;
  each_field<results_of<Ending>>(out, CountAsking{count});
  return count > 0;
}

// A finished tile through the ending, whose operands have begun to come.
template <class Shape, class Ending, TileWay way, bool whole, class Loaders>
__device__ __forceinline__ void end_tile(float (&sums)[Shape::kSums], Loaders& loaders, const Spot& spot) {
  static_assert(check_ending<Ending>());
  constexpr int outs = results_of<Ending>;
  const Ending& end = *reinterpret_cast<const Ending*>(spot.arguments->ending);
  typename Ending::template Out<Keeping<Shape>> keepers;
  each_field<outs>(keepers, BeginResult{spot});
#pragma unroll
  for (int chunk = 0; chunk < Shape::kColumns / kChunkColumns; ++chunk) {
    each_field<outs>(keepers, BeginChunk{chunk});
    end_chunk<Shape, Ending, way, whole>(sums, end, loaders, keepers, chunk);
    each_field<outs>(keepers, EndChunk{chunk});
  }
  each_field<outs>(keepers, EndKeeping{});
}
template <class Shape, class Ending, class Loaders>
__device__ __forceinline__ void end_tile(float (&sums)[Shape::kSums], Loaders& loaders, const Spot& spot) {
  const bool whole = spot.arguments->columns - spot.column_block * Shape::kColumns >= Shape::kColumns;
  const int way = spot.arguments->tile_way;
  constexpr bool kFewer = asks_for_columns<Ending>();  // questions in a whole tile
  if constexpr (tiles_of<Ending>() > 0) {
    if (way == static_cast<int>(TileWay::bf16) && whole) {
      end_tile<Shape, Ending, TileWay::bf16, kFewer>(sums, loaders, spot);
    } else if (way == static_cast<int>(TileWay::bf16)) {
      end_tile<Shape, Ending, TileWay::bf16, false>(sums, loaders, spot);
    } else if (way == static_cast<int>(TileWay::f16)) {
      end_tile<Shape, Ending, TileWay::f16, false>(sums, loaders, spot);
    } else {
      end_tile<Shape, Ending, TileWay::other, false>(sums, loaders, spot);
    }
  } else if constexpr (kFewer) {
    if (whole) {
      end_tile<Shape, Ending, TileWay::other, true>(sums, loaders, spot);
    } else {
      end_tile<Shape, Ending, TileWay::other, false>(sums, loaders, spot);
    }
  } else {
    end_tile<Shape, Ending, TileWay::other, false>(sums, loaders, spot);
  }
}

template <class Shape, class Ending, Loops loops>
__device__ __forceinline__ void consume(const Arguments& arguments, unsigned char* ring, std::uint64_t* full,
                                        std::uint64_t* empty, std::uint32_t rank, int warpgroup) {
  RingPlace<Shape::kStages> at;
  const Ring places = ring_of<Shape>(ring, full, empty);
  const int tiles = arguments.row_tiles * arguments.column_tiles;
  const int thread = threadIdx.x % 128;
  for (int t = blockIdx.x / Shape::kCluster; t < tiles; t += gridDim.x / Shape::kCluster) {
    const TilePlace place = tile_place(arguments, t);
    Spot spot;
    spot.block_row = arguments.first_row + 64 * warpgroup +
                     (static_cast<std::int64_t>(place.row) * Shape::kCluster + rank) * Shape::kRows;
    spot.row = spot.block_row + thread / 32 * 16 + thread % 32 / 4;
    spot.column_block = place.column;
    spot.column = static_cast<std::int64_t>(place.column) * Shape::kColumns + 2 * (thread % 4);
    spot.rows_left = static_cast<int>(max(min(arguments.rows - spot.row, std::int64_t{INT_MAX}), std::int64_t{0}));
    spot.columns_left =
        static_cast<int>(max(min(arguments.columns - spot.column, std::int64_t{INT_MAX}), std::int64_t{0}));
    spot.thread = thread;
    spot.warpgroup = warpgroup;
    spot.staging = ring + Shape::kRingBytes + (4 * warpgroup + thread / 32) * kStagingBytes;
    spot.arguments = &arguments;
    Operands<Shape, Ending> operands{{}, spot};
    float sums[Shape::kSums];
    multiply_any<Shape, loops>(sums, arguments, places, at, warpgroup, operands);
    end_tile<Shape, Ending>(sums, operands.loaders, spot);
  }
  if (thread % 32 == 0) ptx::wait_stores_read<0>();
}

template <class Shape, class Ending, Loops loops>
__global__ void __launch_bounds__(Shape::kThreads, 1) product_kernel(const __grid_constant__ Arguments arguments) {
  extern __shared__ unsigned char shared[];
  unsigned char* ring = shared + ((1024 - (ptx::shared_address(shared) & 1023)) & 1023);
  std::uint64_t* full =
      reinterpret_cast<std::uint64_t*>(ring + Shape::kRingBytes + 4 * Shape::kConsumers * kStagingBytes);
  std::uint64_t* empty = full + Shape::kStages;
  const std::uint32_t rank = Shape::kCluster > 1 ? ptx::cluster_rank() : 0;
  const int warpgroup = __shfl_sync(0xFFFFFFFFu, threadIdx.x / 128, 0);  // uniform, as the compiler then knows
  if (threadIdx.x == 0) {
    ptx::prefetch_map(&arguments.a);
    ptx::prefetch_map(&arguments.b);
    for (int s = 0; s < Shape::kStages; ++s) {
      ptx::barrier_init(&full[s], 1);
      ptx::barrier_init(&empty[s], 4 * Shape::kConsumers * Shape::kCluster);
    }
    ptx::fence_barrier_init();
  }
  if constexpr (Shape::kCluster > 1) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  } else {
    __syncthreads();
  }
  constexpr bool kMoves = Shape::kConsumers == 2;  // registers between the warpgroups
  if (warpgroup == 0) {
    if constexpr (kMoves) ptx::fewer_registers<40>();
    if (threadIdx.x < 32 && ptx::elected()) produce<Shape>(arguments, ring, full, empty, rank);
    __syncwarp();
  } else {
    if constexpr (kMoves) ptx::more_registers<232>();
    consume<Shape, Ending, loops>(arguments, ring, full, empty, rank, warpgroup - 1);
  }
  if constexpr (Shape::kCluster > 1) {  // another block may still write here or arrive at these barriers
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
}

// --- For the host --------------------------------------------------------------------------------------------------

template <class Shape>
cudaLaunchConfig_t configuration(int blocks, cudaStream_t stream, cudaLaunchAttribute* attribute) {
  attribute->id = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim.x = Shape::kCluster, attribute->val.clusterDim.y = 1, attribute->val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks), config.blockDim = dim3(Shape::kThreads);
  config.dynamicSmemBytes = Shape::kSharedBytes, config.stream = stream;
  config.attrs = attribute, config.numAttrs = 1;
  return config;
}
template <class Shape, class Ending, Loops loops>
cudaError_t prepare_kernel(int* clusters) {
  const cudaError_t error = cudaFuncSetAttribute(product_kernel<Shape, Ending, loops>,
                                                 cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attribute;
  const cudaLaunchConfig_t config = configuration<Shape>(Shape::kCluster, nullptr, &attribute);
  return cudaOccupancyMaxActiveClusters(clusters, product_kernel<Shape, Ending, loops>, &config);
}
template <class Shape, class Ending, Loops loops>
cudaError_t launch_kernel(const Arguments& arguments, int blocks, cudaStream_t stream) {
  cudaLaunchAttribute attribute;
  const cudaLaunchConfig_t config = configuration<Shape>(blocks, stream, &attribute);
  return cudaLaunchKernelEx(&config, product_kernel<Shape, Ending, loops>, arguments);
}
template <class Shape, class Ending, Loops loops = Loops::a_by_depth>
Kernel kernel_of() {
  Kernel kernel;
  kernel.rows = Shape::kRows, kernel.columns = Shape::kColumns, kernel.cluster = Shape::kCluster;
  kernel.threads = Shape::kThreads, kernel.stages = Shape::kStages, kernel.three_terms = Shape::kThreeTerms;
  kernel.loops = loops_of(loops, Shape::kThreeTerms);
  kernel.shared_bytes = Shape::kSharedBytes;
  kernel.prepare = &prepare_kernel<Shape, Ending, loops>, kernel.launch = &launch_kernel<Shape, Ending, loops>;
  return kernel;
}

}  // namespace envoi::cuda
