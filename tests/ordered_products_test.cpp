// SPDX-License-Identifier: Apache-2.0
// Products whose order is known, since the loops are ours (golden/products/sm_90a_triton.zip): they come out, and D alone tells the
// order, or says that it cannot.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "warpbit/find_order.hpp"
#include "warpbit/verify.hpp"

namespace ordered_products_test {

using namespace warpbit;

const std::filesystem::path kRecording = "golden/products/sm_90a_triton.zip";

TEST_CASE("products in known orders come out", "[capture]") {
  std::size_t equal = 0;
  for (const FileReport& one : verify_all(find_verifiable(std::span(&kRecording, 1)))) {
    INFO(one.record);
    CHECK(one.status == FileStatus::replayed);
    CHECK(one.mismatches == 0);
    equal += one.elements == 64 * 128;
  }
  CHECK(equal == 57);
}

/// A row-major matrix of a record.
struct Items {
  Items(const Recording& recording, const RecordedMatrix& of)
      : bytes(recording.data(of.data).value()), columns(static_cast<std::ptrdiff_t>(of.shape[1])) {}
  MatrixView view() const { return {bytes.data(), columns, 1}; }
  std::vector<std::byte> bytes;
  std::ptrdiff_t columns;
};

TEST_CASE("D tells the order that made it", "[capture]") {
  const Recording recording = Recording::open(kRecording).value();
  std::size_t certain = 0;
  for (const Record& record : recording.records()) {
    INFO(record.name);
    const RecordedProduct r = read_product(record).value();
    const Items a(recording, r.a), b(recording, r.b), d(recording, r.d);
    const std::string type = r.a.format == "f32" ? "tf32" : r.a.format;
    const std::vector<Instruction> instructions =
        instructions_of_products(type, type, Target::find("sm_90a").value()).value();
    FoundProduct product{{64, 128, r.a.shape[1], a.view(), b.view(), {}, {}}};
    product.product.d = {const_cast<std::byte*>(d.bytes.data()), d.columns, 1};
    FindOrderOptions options;
    if (r.d.format != "f32") options.known.store = r.d.format;
    const OrderSearch search = find_order(instructions, product, options).value();
    const SumOrder made = SumOrder::parse(r.order).value();
    const bool is_told = std::ranges::any_of(search.found, [&](const FoundOrder& one) {
      return one.order == made || std::ranges::find(one.same, made, &SameSum::order) != one.same.end();
    });
    CHECK(is_told);
    const std::string_view split = name(search.split_k());
    CHECK(split != (made.split_k > 1 ? "no" : "yes"));
    certain += split != "cannot be told";
  }
  CHECK(certain >= 40);
}

}  // namespace ordered_products_test
