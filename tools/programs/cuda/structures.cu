// SPDX-License-Identifier: Apache-2.0
// Memory full of pointers: a list, a tree, a sparse matrix in a structure; managed and pinned memory.
#include "common.cuh"

struct Node {
  Node *left, *right;
  int key;
  float weight;
};

__global__ void look_up(const Node* root, const int* keys, float* found, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (const Node* node = root; node; node = keys[i] < node->key ? node->left : node->right)
    sum += node->weight;
  found[i] = sum;
}

struct Sparse {
  const int *starts, *columns;
  const float* values;
  int rows;
};

/// A warp a row.
__global__ void multiply(const Sparse* matrix, const float* x, float* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= matrix->rows) return;
  float sum = 0;
  for (int i = matrix->starts[row] + lane; i < matrix->starts[row + 1]; i += 32)
    sum += matrix->values[i] * x[matrix->columns[i]];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (lane == 0) y[row] = sum;
}

__global__ void double_all(float* managed, const float* pinned, int n) {
  const int i = threadIdx.x;
  if (i < n) managed[i] = 2 * managed[i] + pinned[i];
}

int main() {
  Numbers numbers;
  const int n = 63;
  Node* nodes = on_gpu<Node>(n);
  std::vector<Node> tree(n);
  for (int i = 0; i < n; ++i) {
    const int depth = 31 - __builtin_clz(i + 1), at = i + 1 - (1 << depth);
    tree[i] = {2 * i + 1 < n ? nodes + 2 * i + 1 : nullptr, 2 * i + 2 < n ? nodes + 2 * i + 2 : nullptr,
               (2 * at + 1) << (6 - depth), static_cast<float>(numbers.next())};
  }
  CHECK(cudaMemcpy(nodes, tree.data(), n * sizeof(Node), cudaMemcpyHostToDevice));
  std::vector<int> keys(200);
  for (int& key : keys) key = static_cast<int>((numbers.next() + 1) * 64);
  float* found = on_gpu<float>(200);
  look_up<<<2, 128>>>(nodes, on_gpu(keys), found, 200);
  report(found, 200);

  std::vector<int> starts(41), columns;
  for (int row = 0; row < 40; ++row) {
    for (int column = row % 3; column < 60; column += 1 + row % 7) columns.push_back(column);
    starts[row + 1] = static_cast<int>(columns.size());
  }
  const Sparse matrix = {on_gpu(starts), on_gpu(columns), on_gpu(numbers.draw<float>(columns.size())), 40};
  float* y = on_gpu<float>(40);
  multiply<<<10, 128>>>(on_gpu(std::vector<Sparse>{matrix}), on_gpu(numbers.draw<float>(60)), y);
  report(y, 40);

  float *managed = nullptr, *pinned = nullptr;
  CHECK(cudaMallocManaged(&managed, 100 * sizeof(float)));
  CHECK(cudaMallocHost(&pinned, 100 * sizeof(float)));
  for (int i = 0; i < 100; ++i)
    managed[i] = static_cast<float>(numbers.next()), pinned[i] = static_cast<float>(i);
  double_all<<<1, 128>>>(managed, pinned, 100);
  report(managed, 100);
}
