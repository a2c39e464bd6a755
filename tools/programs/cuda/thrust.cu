// SPDX-License-Identifier: Apache-2.0
// What Thrust and CUB launch: a sort, a scan, a reduction by key, a transformation with a lambda.
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include "common.cuh"

struct Mix {
  __host__ __device__ unsigned operator()(unsigned x) const { return (x * 2654435761u ^ x >> 7) % 1000; }
};

int main() {
  const int n = 500;
  unsigned *keys = on_gpu<unsigned>(n), *sums = on_gpu<unsigned>(n), *unique = on_gpu<unsigned>(n);
  thrust::transform(thrust::device, thrust::counting_iterator<unsigned>(0),
                    thrust::counting_iterator<unsigned>(n), keys, Mix());
  thrust::exclusive_scan(thrust::device, keys, keys + n, sums);
  report(sums, n);
  thrust::sort(thrust::device, keys, keys + n);
  report(keys, n);
  const auto end =
      thrust::reduce_by_key(thrust::device, keys, keys + n, thrust::make_constant_iterator(1u), unique, sums);
  report(unique, end.first - unique);
  std::printf("%u\n", thrust::reduce(thrust::device, sums, end.second));
}
