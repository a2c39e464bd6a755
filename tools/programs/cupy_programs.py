# SPDX-License-Identifier: Apache-2.0
"""Programs in CuPy: kernels in CUDA C++ that NVRTC compiles, kernels that CuPy writes, array code.

CuPy loads machine code; with CUPY_COMPILE_WITH_PTX=1 it loads PTX, which can be run elsewhere."""
import cupy
import numpy

from common import program

random = numpy.random.default_rng(5)


def normal(*shape, dtype=numpy.float32):
    return cupy.asarray(random.standard_normal(shape).astype(dtype))


@program
def raw_kernel():
    """A reduction in shared memory, and its last step by shuffles."""
    kernel = cupy.RawKernel(r"""
extern "C" __global__ void block_sums(const float* x, float* y, int n) {
  extern __shared__ float part[];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i] * x[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s >= 32; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    sum = part[threadIdx.x];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x == 0) y[blockIdx.x] = sqrtf(sum);
  }
}""", "block_sums")
    x, y = normal(3000), cupy.empty(5, numpy.float32)
    kernel((5,), (128,), (x, y, numpy.int32(x.size)), shared_mem=512)
    return [y]


@program
def elementwise_kernel():
    logistic = cupy.ElementwiseKernel("T x, float64 k, raw T table", "T y, bool large", """
        T t = table[i % table.size()];
        y = t / (T(1) + exp(T(-k) * x));
        large = y > T(0.5);
    """, "logistic")
    found = []
    for dtype in (numpy.float32, numpy.float64):
        found += logistic(normal(40, 9, dtype=dtype), 1.5, normal(7, dtype=dtype))
    return found


@program
def reduction_kernel():
    distance = cupy.ReductionKernel("T x, T y", "T z", "(x - y) * (x - y)", "a + b", "z = sqrt(a)", "0", "distance")
    longest = cupy.ReductionKernel("T x", "int64 z", "x > 0 ? _j : -1", "max(a, b)", "z = a", "-1", "last_positive",
                                   reduce_type="long long")
    x, y = normal(30, 70), normal(30, 70)
    return [distance(x, y, axis=1), distance(x, y), distance(x, y, axis=0), longest(x, axis=1)]


@program
def array_code():
    """What NumPy's users write: CuPy's own kernels, and products of cuBLAS."""
    x, y = normal(24, 40), normal(40, 16)
    z = cupy.maximum(x @ y, 0) ** 2
    mean = z.mean(axis=0)
    standard = (z - mean) / (z.std(axis=0) + 1e-3)
    order = cupy.arange(24)[::-1] * 5 % 24
    picked = cupy.where(standard > 0, standard, standard * 0.1)[order]
    return [picked, cupy.cumsum(picked, axis=1), picked.argmax(axis=1), cupy.clip(picked, -1, 1).sum(),
            cupy.einsum("ij,ik->jk", picked, x), cupy.concatenate([picked, z]).T.copy(), cupy.tanh(picked.astype("d")),
            cupy.linalg.norm(x), (picked * 100).astype(numpy.int32) % 7]


@program
def raw_module():
    """Templates by their names in C++; constant memory and a variable of the module."""
    module = cupy.RawModule(code=r"""
__constant__ float taps[5];
__device__ int calls = 3;
template <class T, int N> __global__ void smooth(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) ++calls;
  if (i >= n) return;
  T sum = 0;
  #pragma unroll
  for (int k = 0; k < N; ++k) sum += T(taps[k]) * x[min(max(i + k - N / 2, 0), n - 1)];
  y[i] = sum + T(n % 2);
}""", options=("-std=c++17",), name_expressions=["smooth<float, 5>", "smooth<double, 3>"])
    taps = cupy.ndarray(5, numpy.float32, module.get_global("taps"))
    taps[...] = cupy.asarray(numpy.array([0.1, 0.2, 0.4, 0.2, 0.1], numpy.float32))
    found = []
    for name, dtype in (("smooth<float, 5>", numpy.float32), ("smooth<double, 3>", numpy.float64)):
        x, y = normal(301, dtype=dtype), cupy.empty(301, dtype)
        module.get_function(name)((3,), (128,), (x, y, numpy.int32(301)))
        found.append(y)
    return [*found, cupy.ndarray(1, numpy.int32, module.get_global("calls"))]


@program
def fused():
    @cupy.fuse(kernel_name="gelu_and_more")
    def gelu(x, scale):
        t = x * 0.7978845608 * (1 + 0.044715 * x * x)
        return x * 0.5 * (1 + cupy.tanh(t)) * scale, cupy.sum(x * scale)

    return list(gelu(normal(33, 21), cupy.float32(0.5)))


@program
def cooperative():
    """A wave equation: all blocks meet after each step."""
    kernel = cupy.RawKernel(r"""
#include <cooperative_groups.h>
extern "C" __global__ void wave(float* now, float* before, int n, int steps) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  int i = grid.thread_rank();
  for (int step = 0; step < steps; ++step) {
    float next = 0;
    if (i > 0 && i < n - 1) next = 2 * now[i] - before[i] + 0.25f * (now[i - 1] - 2 * now[i] + now[i + 1]);
    grid.sync();
    if (i < n) { before[i] = now[i]; now[i] = next; }
    grid.sync();
  }
}""", "wave", enable_cooperative_groups=True)
    now, before = normal(500), cupy.zeros(500, numpy.float32)
    kernel((4,), (128,), (now, before, numpy.int32(500), numpy.int32(6)))
    return [now, before]


@program
def jit():
    """Python that cupyx compiles."""
    from cupyx import jit as compiler

    @compiler.rawkernel()
    def transpose(x, y, rows, columns):
        tile = compiler.shared_memory(numpy.float32, 16 * 17)
        i = compiler.blockIdx.y * 16 + compiler.threadIdx.y
        j = compiler.blockIdx.x * 16 + compiler.threadIdx.x
        if i < rows and j < columns:
            tile[compiler.threadIdx.y * 17 + compiler.threadIdx.x] = x[i * columns + j]
        compiler.syncthreads()
        i = compiler.blockIdx.x * 16 + compiler.threadIdx.y
        j = compiler.blockIdx.y * 16 + compiler.threadIdx.x
        if i < columns and j < rows:
            y[i * rows + j] = tile[compiler.threadIdx.x * 17 + compiler.threadIdx.y]

    x, y = normal(50, 39), cupy.empty((39, 50), numpy.float32)
    transpose((3, 4), (16, 16), (x.ravel(), y.ravel(), numpy.uint32(50), numpy.uint32(39)))
    return [y]


@program
def half_precision():
    """Vectors of two halves, and a matrix product by mma in assembly, as a RawModule."""
    module = cupy.RawModule(code=r"""
#include <cuda_fp16.h>
extern "C" __global__ void axpy(const __half2* x, __half2* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(__float2half2_rn(a), x[i], h2exp(y[i]));
}
extern "C" __global__ void product(const unsigned* a, const unsigned* b, float2* c) {  // 16 x 8 of pairs; K 64
  int row = threadIdx.x / 4, pair = threadIdx.x % 4;
  float2 low = {0.5f, 0.5f}, high = {-0.5f, -0.5f};
  for (int k = 0; k < 32; k += 8) {
    const unsigned *p = a + row * 32 + k + pair, *q = b + row * 32 + k + pair;
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(low.x), "+f"(low.y), "+f"(high.x), "+f"(high.y)
        : "r"(p[0]), "r"(p[8 * 32]), "r"(p[4]), "r"(p[8 * 32 + 4]), "r"(q[0]), "r"(q[4]));
  }
  c[row * 4 + pair] = low;
  c[(row + 8) * 4 + pair] = high;
}""", options=("-std=c++17",), backend="nvrtc")
    x, y = normal(400, dtype=numpy.float16), normal(400, dtype=numpy.float16)
    module.get_function("axpy")((2,), (128,), (x, y, numpy.float32(0.3), numpy.int32(200)))
    a, b = normal(16, 64, dtype=numpy.float16), normal(8, 64, dtype=numpy.float16)
    c = cupy.empty((16, 8), numpy.float32)
    module.get_function("product")((1,), (32,), (a, b, c))
    return [y, c]
