// SPDX-License-Identifier: Apache-2.0
// Scalar instructions are what a GPU made of them: golden-digests/scalar/, made by tools/capture/record_scalar.py.
#include "scalar_cases.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/ptx.hpp"

namespace scalar_test {

using namespace warpbit;
using namespace scalar_cases;

struct Recorded {
  Form form;
  std::uint64_t elements;
  Values digests;

  bool is_exhaustive() const { return elements > ones(32); }
};

/// The rows; the header says which GPU it was.
std::vector<Recorded> recorded() {
  std::ifstream in("golden-digests/scalar/sm_90a.tsv");
  std::vector<Recorded> out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#') || line.starts_with("form\t")) continue;
    const std::vector<std::string> cells = isa_table::cells(line);
    REQUIRE(cells.size() == 4);
    Recorded& one = out.emplace_back(form(cells[0], cells[1]), std::stoull(cells[2]), Values());
    for (const std::string& digest : scalar_table::split(cells[3], ','))
      one.digests.push_back(std::stoull(digest, nullptr, 16));
  }
  REQUIRE_FALSE(out.empty());
  return out;
}

std::uint64_t word(const scalar::Results& got, bool is_carry, std::size_t i) {
  return i == 0 ? got.value : is_carry ? got.carry : got.second;
}

/// The digests of a row, computed here; `elements` becomes the number of words.
Values digests(const Form& form, std::uint64_t& elements) {
  const scalar::Operation operation = scalar_cases::operation(form);
  if (operation.execute == nullptr) return {};
  const std::vector<Values> in = scalar_cases::inputs(form);
  const Reading sources(form, in);
  std::vector<bool> is_carry;
  for (const std::string& type : form.results) is_carry.push_back(type == "carry");
  Values out;
  elements = 0;
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    if (i % kBlock == 0) out.push_back(0);
    const scalar::Results got = scalar::execute(operation, sources(i));
    for (std::size_t j = 0; j < form.results.size(); ++j)
      out.back() += warpbit::inputs::mix(elements++, word(got, is_carry[j], j));
  }
  return out;
}

/// The digest of one block of all inputs of 32 bits.
std::uint64_t large_digest(const Form& form, std::uint64_t block) {
  const scalar::Operation operation = scalar_cases::operation(form);
  scalar::Sources sources;
  sources.count = 1;
  std::uint64_t out = 0;
  for (std::uint64_t x = block * kLargeBlock; x < (block + 1) * kLargeBlock; ++x) {
    sources.value[0] = x;
    out += warpbit::inputs::mix(x, scalar::execute(operation, sources).value);
  }
  return out;
}

TEST_CASE("every form of scalar.tsv that computes is what a GPU made of it", "[golden]") {
  const std::vector<Recorded> rows = recorded();
  const std::set<std::string> without = undocumented();
  std::vector<std::string> differences;
  std::set<std::string> skipped;
  std::size_t forms = 0;
  std::uint64_t elements = 0;
#pragma omp parallel for schedule(dynamic, 8) reduction(+ : forms, elements)
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Recorded& row = rows[i];
    if (row.is_exhaustive()) continue;
    if (without.contains(row.form.name)) {
#pragma omp critical
      skipped.insert(row.form.name);
      continue;
    }
    std::uint64_t count = 0;
    const Values got = digests(row.form, count);
    ++forms;
    elements += count;
    if (got == row.digests && count == row.elements) continue;
    const auto first = std::ranges::mismatch(got, row.digests).in1 - got.begin();
#pragma omp critical
    differences.push_back(fmt::format("{} {}: {} elements, recorded {}; block {} of {} differs first",
                                      row.form.name, row.form.operands, count, row.elements, first,
                                      row.digests.size()));
  }
  fmt::print("{} forms, {} elements: {} forms differ; {} forms are not in the manual\n", forms, elements,
             differences.size(), skipped.size());
  std::ranges::sort(differences);
  INFO(fmt::format("{}", fmt::join(differences, "\n")));
  CHECK(differences.empty());
  CHECK(forms >= 7000);
  CHECK(elements >= 103000000);
  CHECK(skipped == without);  // each of them is recorded
}

/// Some blocks of every function whose 2^32 inputs are recorded.
void require_blocks(std::uint64_t first, std::uint64_t step, const std::string& only = "") {
  std::vector<Recorded> rows = recorded();
  std::erase_if(rows, [&](const Recorded& row) {
    return !row.is_exhaustive() || row.form.name.find(only) == row.form.name.npos;
  });
  struct Task {
    const Recorded* row;
    std::uint64_t block;
  };
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    REQUIRE(rows[i].digests.size() == 256);
    for (std::uint64_t block = (first + 37 * i) % step; block < 256; block += step)
      tasks.push_back({&rows[i], block});
  }
  std::vector<std::string> differences;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    if (large_digest(task.row->form, task.block) == task.row->digests[task.block]) continue;
#pragma omp critical
    differences.push_back(
        fmt::format("{}: inputs {:#010x} and up", task.row->form.name, task.block * kLargeBlock));
  }
  fmt::print("{} functions, {} blocks of 2^24 inputs: {} differ\n", rows.size(), tasks.size(),
             differences.size());
  std::ranges::sort(differences);
  INFO(fmt::format("{}", fmt::join(differences, "\n")));
  CHECK(differences.empty());
  CHECK(!tasks.empty());
}

TEST_CASE("so is a block of all inputs of each approximate function", "[blocks]") {
  require_blocks(63, 256);
}

TEST_CASE("so are all of their inputs", "[.][exhaustive]") {
  const char* const only = std::getenv("WARPBIT_SCALAR_FUNCTION");
  require_blocks(0, 1, only == nullptr ? "" : only);
}

}  // namespace scalar_test
