// A finished tile through its ending: operands that come in time, chunks of 64 columns, results that are kept.
#pragma once

#include "envoi/cuda/ports.cuh"
#include "envoi/cuda/tile.cuh"

namespace envoi::cuda {

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

}  // namespace envoi::cuda
