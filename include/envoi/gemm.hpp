// A matrix product with an ending: A B is made tile by tile, and each tile goes through the ending while it is in the
// cache; the product itself is stored only where the ending stores it.
//
// fp32, bf16 and fp16 are summed in fp32, fp64 in fp64. The bits of a result depend on its own row of A, its own column
// of B, their depth and the instruction set; not on the other rows and columns, threads, strides or kind of source.
// bf16 and fp16 give the bits of the same numbers in fp32. A product with nothing to sum is 0. Every function throws
// Error (bad_argument) for shapes and types that do not fit, and takes the number of threads, 0 being the default
// (ENVOI_THREADS, else all processors). An ending of one's own: envoi/ending.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "envoi/ending/tile.hpp"
#include "envoi/operand.hpp"

namespace envoi::gemm {

enum class Activation { none, relu, silu, gelu };  // gelu in its tanh form

// product = A B.
ENVOI_API void store(const Operand& a, const Columns& b, MutableMatrix product, unsigned threads = 0);

// layer = activation(A B + bias), the bias 1 x columns.
ENVOI_API void bias_activation(const Operand& a, const Columns& b, Matrix bias, Activation activation,
                               MutableMatrix layer, unsigned threads = 0);

// scaled = A B with row m times scale[m], the scale rows x 1.
ENVOI_API void row_scale(const Operand& a, const Columns& b, Matrix scale, MutableMatrix scaled, unsigned threads = 0);

// sum = A B + residual; squares[m] = the sum over row m of sum^2, rows x 1. `sum` may be the residual itself.
ENVOI_API void residual_squares(const Operand& a, const Columns& b, Matrix residual, MutableMatrix sum,
                                MutableMatrix squares, unsigned threads = 0);

// With g and u the even and odd columns of A B: gated = g / (1 + exp(-g)) u, rows x columns / 2 (Shazeer 2020).
ENVOI_API void swiglu(const Operand& a, const Columns& b, MutableMatrix gated, unsigned threads = 0);
// gated = gelu(g) u, gelu(g) = g (1 + tanh(sqrt(2 / pi) (g + 0.044715 g^3))) / 2.
ENVOI_API void geglu(const Operand& a, const Columns& b, MutableMatrix gated, unsigned threads = 0);
// The same of p = A B with row m times scale[m], the scale rows x 1; `projected` keeps p, rows x columns. Matrix() is a
// scale of 1, MutableMatrix() keeps nothing.
ENVOI_API void swiglu(const Operand& a, const Columns& b, Matrix scale, MutableMatrix gated,
                      MutableMatrix projected = {}, unsigned threads = 0);
ENVOI_API void geglu(const Operand& a, const Columns& b, Matrix scale, MutableMatrix gated,
                     MutableMatrix projected = {}, unsigned threads = 0);

// Each pair of columns (x, y) of A B becomes (x cos - y sin, x sin + y cos); cosine and sine are rows x columns / 2
// (Su et al. 2021).
ENVOI_API void rope(const Operand& a, const Columns& b, Matrix cosine, Matrix sine, MutableMatrix turned,
                    unsigned threads = 0);

// lse[m] = log(sum over n of exp((A B)[m][n])), target[m] = (A B)[m][targets[m]]; both rows x 1.
ENVOI_API void cross_entropy(const Operand& a, const Columns& b, std::span<const std::int64_t> targets,
                             MutableMatrix lse, MutableMatrix target, unsigned threads = 0);

// Winners. Ties go to the lower index; NaN anywhere in the product throws Error (numerical) that names the first.
enum class Over { columns, rows };   // the best columns of each row, or the best rows of each column
enum class By { value, magnitude };  // by magnitude, a winner's value keeps its sign
ENVOI_API std::vector<Winner> argmax(const Operand& a, const Columns& b, Over over, By by, unsigned threads = 0);
// [row or column][k], best first. With k above the number of candidates the last ones have index -1.
ENVOI_API std::vector<Winner> top_k(const Operand& a, const Columns& b, Over over, By by, std::int64_t k,
                                    unsigned threads = 0);
// Of each row the k pairs of columns (x, y) with the largest x^2 + y^2; a winner's index is its pair's.
ENVOI_API std::vector<Winner> pair_energy(const Operand& a, const Columns& b, std::int64_t k = 1, unsigned threads = 0);

}  // namespace envoi::gemm
