// SPDX-License-Identifier: Apache-2.0
// The Mandelbrot set in f32: how many steps each point stays within a radius, and where it is then. A loop that
// lanes leave one by one; a point's path shows each rounding. Some steps are skipped for points that come back
// (continue).

extern "C" __global__ void mandelbrot_f32(int* steps, float* x_out, float* y_out, float left, float top,
                                          float width, int columns, int rows, int limit) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= columns || row >= rows) return;
  const float cx = left + width * column / columns, cy = top - width * row / columns;
  float x = 0, y = 0, seen = 0;
  int step = 0;
  while (step < limit) {
    const float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    ++step;
    if (step % 32 != 0) {
      if (x * x + y * y > 4) break;
      continue;
    }
    if (x == seen) {
      step = -step;  // the path is a cycle
      break;
    }
    seen = x;
  }
  const int at = row * columns + column;
  steps[at] = step;
  x_out[at] = x;
  y_out[at] = y;
}
