// SPDX-License-Identifier: Apache-2.0
// The Mandelbrot set, in f32 and f64: loops of different lengths in a warp. Built without PTX.
#include "common.cuh"

template <class T>
__global__ void mandelbrot(unsigned short* steps, int width, int height, T x0, T y0, T size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const T a = x0 + size * x / width, b = y0 + size * y / height;
  T u = 0, v = 0;
  int step = 0;
  for (; step < 200 && u * u + v * v < 4; ++step) {
    const T next = u * u - v * v + a;
    v = 2 * u * v + b;
    u = next;
  }
  steps[y * width + x] = static_cast<unsigned short>(step);
}

int main() {
  const int width = 60, height = 40;
  unsigned short* steps = on_gpu<unsigned short>(width * height);
  mandelbrot<float><<<dim3(8, 5), dim3(8, 8)>>>(steps, width, height, -2.0f, -1.0f, 2.5f);
  report(steps, width * height);
  mandelbrot<double><<<dim3(8, 5), dim3(8, 8)>>>(steps, width, height, -0.7463, 0.1102, 0.005);
  report(steps, width * height);
}
