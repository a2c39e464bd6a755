// SPDX-License-Identifier: Apache-2.0
// Products that cuBLAS computed on CUDA cores of an H200 (golden/products/, recorded with tools/capture/cuda_core_products.py)
// come out bit for bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "warpbit/verify.hpp"

namespace cuda_core_products_test {

using namespace warpbit;

TEST_CASE("products of cuBLAS on CUDA cores come out", "[capture]") {
  const std::filesystem::path file = "golden/products/sm_90a_cuda_cores.zip";
  const std::vector<Verifiable> all = find_verifiable(std::span(&file, 1));
  REQUIRE(all.size() == 105);
  std::size_t told = 0;
  for (const Verifiable& one : all) {
    REQUIRE(!one.error);
    const FileReport report = verify(one);
    INFO(one.record().name);
    REQUIRE(report.status == FileStatus::replayed);
    CHECK(report.elements > 0);
    CHECK(report.mismatches == 0);
    CHECK(!report.inferred);
    told += std::ranges::any_of(report.notes,
                                [](const std::string& note) { return note.ends_with("told by its kernels"); });
  }
  CHECK(told == 105);
}

}  // namespace cuda_core_products_test
