// SPDX-License-Identifier: Apache-2.0
// Functions that are called: recursive ones, structs by value, pointers to functions and to strings in tables,
// a switch, an assertion that holds, memory from malloc, and printf by one thread with most of its formats.
#include <cassert>
#include <cstdio>

namespace kernel {

struct Fraction {
  int above, below;
};

__device__ __noinline__ int divisor(int a, int b) {
  return b == 0 ? a : divisor(b, a % b);
}
__device__ __noinline__ Fraction sum(Fraction x, Fraction y) {
  const Fraction all = {x.above * y.below + y.above * x.below, x.below * y.below};
  const int common = divisor(all.above, all.below);
  return {all.above / common, all.below / common};
}
// 1/2 + 1/6 + ... + 1/(n (n + 1)) = n / (n + 1)
__device__ __noinline__ Fraction series(int n) {
  return n == 0 ? Fraction{0, 1} : sum(series(n - 1), {1, n * (n + 1)});
}

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}
__device__ __noinline__ int fibonacci(int n, int) {
  return n < 2 ? n : fibonacci(n - 1, 0) + fibonacci(n - 2, 0);
}
__device__ __noinline__ int collatz(int n, int limit) {
  if (n == 1 || limit == 0) return 0;
  return 1 + collatz(n % 2 == 0 ? n / 2 : 3 * n + 1, limit - 1);
}
__device__ __noinline__ int difference(int a, int b) {
  return a - b;
}

using Function = int (*)(int, int);

__device__ int chosen(int which, int x) {
  switch (which) {
    case 0: return x + 100;
    case 1: return x * x;
    case 2: return x ^ 0x55;
    case 3: return divisor(x + 12, 30);
    case 5: return -x;
    case 6: return fibonacci(x % 7, 0);
    case 9: return x << 3;
    default: return 7;
  }
}

// A list in memory of the heap, each number the sum of all before it and one more.
__device__ int sum_on_heap(int n) {
  int* const list = static_cast<int*>(malloc(n * sizeof(int)));
  assert(list != nullptr);
  for (int i = 0; i < n; ++i) {
    list[i] = 1;
    for (int j = 0; j < i; ++j) list[i] += list[j];
  }
  const int last = list[n - 1];
  free(list);
  return last;
}

__device__ Function functions[] = {ackermann, fibonacci, collatz, difference};
__device__ const char* names[] = {"ackermann", "fibonacci", "collatz", "difference"};

__device__ __noinline__ void print_all(int block, float x, double y) {
  for (int i = 0; i < 4; ++i) printf("%s(2, %d) = %d\n", names[i], i, functions[i](2, i));
  printf("block %d of %u: [%5d] [%-5d] [%05d] [%+d] %i\n", block, gridDim.x, 42, 42, 42, 42, -42);
  printf("%x %X %#x %o %c%c %% %hd %lu %lld %llx\n", 48879u, 48879u, 255u, 8u, 'o', 'k', short{-3}, 1ul << 40,
         -1ll << 40, 1ull << 63);
  printf("%f %.3f %8.2f %e %.2E %g %g %a\n", x, x, x, y, y, y, 1e-10, y);
  const float infinity = __int_as_float(0x7f800000);
  printf("%f %f %g %f %g\n", infinity, -infinity, __int_as_float(0x7fffffff), -0.0, 5e-324);
  printf("[%8s] [%-8s] [%.2s] nothing more\n", "right", "left", "cut");
}

extern "C" __global__ void recursion(const int* x, int* results, int2* fractions, float third, double large) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  const int mine = x[i];
  assert(mine >= 0 && mine < 64);
  results[i] = functions[mine % 4](mine % 3, mine % 4);
  results[n + i] = collatz(mine + 1, 15);
  results[2 * n + i] = chosen(mine % 11, mine);
  results[3 * n + i] = sum_on_heap(mine % 8 + 1);
  const Fraction f = series(mine % 8);
  fractions[i] = make_int2(f.above, f.below);
  if (i == n - 1) print_all(blockIdx.x, third, large);
}

}  // namespace kernel
