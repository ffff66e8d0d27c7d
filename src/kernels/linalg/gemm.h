// Matrix products of float and double.
//
//     C[m, n] (+)= A[m, k] * B[k, n]
//
// All matrices are stored by rows; A and B may be stored transposed. Every element of C is one
// chain of fused multiply-adds in the order of k, whatever the size, the blocks, the number of
// threads, and whichever of AVX2 and AVX-512 runs it (the portable code rounds each product). The
// exception are products of one row or column whose sums run along stored rows; those have a fixed
// number of partial sums. So the bits depend on the shape only.
#pragma once

#include <cstdint>
#include <span>

#include "src/core/execution.h"

namespace capstan {

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  // Elements from one stored row to the next.
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  bool transpose_a = false;  // A is stored as [k, m]
  bool transpose_b = false;  // B is stored as [n, k]
  bool accumulate = false;   // add to C instead of replacing it
  // Steps along k that the next product takes, after those of this one: fetched while this one is computed.
  std::int64_t following = 0;
};

// Below this many multiply-adds the pool costs more than it gains, and a product runs on one thread.
inline constexpr std::int64_t kGemmParallelWork = 1'000'000;

// C must not overlap A or B. With k = 0, C becomes zero, or stays when accumulating. Large products
// run on the thread pool.
void gemm(const GemmShape& shape, const float* a, const float* b, float* c, const Execution& execution = kAlone);
void gemm(const GemmShape& shape, const double* a, const double* b, double* c, const Execution& execution = kAlone);

// The same bits without the thread pool, for callers that run many products in parallel themselves.
void gemm_serial(const GemmShape& shape, const float* a, const float* b, float* c);
void gemm_serial(const GemmShape& shape, const double* a, const double* b, double* c);

// Products of which all read one A or one B, stored alike. Each has the bits of a product by itself; their parts are
// tasks of one job, so several of medium size wait for each other once, and a part of a B that has to be packed is
// packed once for all.
struct GemmItem {
  GemmShape shape;
  const void* a;
  const void* b;
  void* c;
};
template <class T>  // float or double
void gemm_together(std::span<const GemmItem> items);

// For tests: as above, with an instruction set that this processor has, see InstructionSet.
void gemm_with(int instruction_set, bool parallel, const GemmShape& shape, const float* a, const float* b, float* c);
void gemm_with(int instruction_set, bool parallel, const GemmShape& shape, const double* a, const double* b, double* c);

}  // namespace capstan
