// SPDX-License-Identifier: Apache-2.0
// --shard I/N --part FILE and warpbit merge: several machines give the answer of one, to the byte.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tool.hpp"
#include "warpbit/inputs.hpp"

namespace parts_cli_test {

using namespace tool;
using archive::zip_of;
using Catch::Contains;
namespace fs = std::filesystem;

using Words = std::vector<std::string>;

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The files of all parts, each computed once.
Words parts_of(const Words& command, int count, const fs::path& folder) {
  Words out;
  for (int i = 1; i <= count; ++i) {
    out.push_back((folder / fmt::format("{}.json", i)).string());
    const Words shard = joined(command, {"--shard", fmt::format("{}/{}", i, count)});
    const Output alone = run(shard), kept = run(joined(shard, {"--part", out.back()})),
                 again = run(joined(shard, {"--part", out.back()}));
    CHECK(kept.out == alone.out);
    CHECK(kept.status == alone.status);
    CHECK(again.out == alone.out);
    CHECK(again.status == alone.status);
  }
  return out;
}

void check_same(const Output& merged, const Output& whole) {
  CHECK(merged.out == whole.out);
  CHECK(merged.err == whole.err);
  CHECK(merged.status == whole.status);
}

constexpr const char* kForm = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
Words comparison(const Words& more, const std::string& cases = "7", const std::string& seed = "7") {
  return joined({"compare", kForm, "--random", "mixed", "--cases", cases, "--seed", seed}, more);
}

TEST_CASE("parts of a comparison make the whole", "[quick][cli][once]") {
  for (const Words& of :
       {Words{"--targets", "sm_80,sm_90"}, Words{"--targets", "sm_90", "--order", "ascending,split_k=2"},
        Words{"--targets", "sm_90,sm_90a"},
        Words{"--targets", "sm_80,sm_90", "--depth", "16,48", "--zero-c"}}) {
    const Words command = comparison(of);
    const Directory directory;
    Words parts = parts_of(command, 3, directory.path);
    std::ranges::reverse(parts);
    parts.push_back(parts[1]);
    for (const Words& how : {Words{}, Words{"--json"}, Words{"--csv"}, Words{"--explain"}})
      check_same(run(joined(joined({"merge"}, how), parts)), run(joined(command, how)));
  }
}

// A matrix of numbers as text, whose products have other exponents and no sum along K without roundings.
std::string text_matrix(int rows, int columns, int seed) {
  std::string out;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      out += fmt::format("{}{}", ((i * 37 + j * 211 + seed) * 1031 % 1999 - 999) / 16.0 / (1 << (i + j) % 6),
                         j + 1 < columns ? "," : "\n");
  return out;
}

TEST_CASE("parts of a search for an order make the whole", "[quick][cli]") {
  const Directory directory;
  const auto path = [&](const char* name) { return (directory.path / name).string(); };
  write(path("a.csv"), text_matrix(4, 90, 1));
  write(path("b.csv"), text_matrix(90, 5, 2));
  const Words product = {"--target", "sm_90", "--a", path("a.csv"), "--b", path("b.csv")};
  for (const char* order : {"split_k=3 unit=8 merge_order=descending", "ascending"}) {
    INFO(order);
    Output d = run(joined({"run", kForm, "--order", order}, product));
    REQUIRE(d.status == 0);
    const bool is_wrong = std::string_view(order) == "ascending";
    if (is_wrong) d.out.replace(0, d.out.find_first_of(" ,\t\n"), "1");
    write(path("d.csv"), d.out);
    const Words command = joined(
        {"order", "--types", "f16", "--top", "2", "--limit", is_wrong ? "1e6" : "1e8", "--d", path("d.csv")},
        product);
    const Directory kept;
    const Words parts = parts_of(command, 3, kept.path);
    CHECK(run(command).status == (is_wrong ? 1 : 0));
    // Notes about the numbers in the files are of each search.
    for (const Words& how : {Words{}, {"--json"}}) {
      const Output merged = run(joined(joined({"merge"}, how), parts)), whole = run(joined(command, how));
      CHECK(merged.out == whole.out);
      CHECK(merged.status == whole.status);
    }
    if (is_wrong) continue;
    // Elements say the same as all of D.
    std::string row = d.out.substr(0, d.out.find('\n')), elements = "# row, column, value\n";
    for (int column = 0; column < 5; ++column) {
      const std::size_t end = std::min(row.find_first_of(", \t"), row.size());
      elements += fmt::format("0,{},{}\n", column, row.substr(0, end));
      row.erase(0, std::min(row.find_first_not_of(", \t", end), row.size()));
    }
    write(path("e.csv"), elements);
    Words some = {"order", "--types", "f16", "--elements", path("e.csv")};
    const Output found = run(joined(some, product));
    CHECK(found.status == 0);
    CHECK_THAT(found.out, Contains("all 5 elements come out with"));
    write(path("e.csv"), "0,0,1e-9x\n");
    CHECK_THAT(run(joined(some, product)).err, Contains("e.csv:1: ") && Contains("1e-9x"));
    write(path("e.csv"), "0;1\n");
    CHECK_THAT(run(joined(some, product)).err, Contains("e.csv:1: 0;1; expected row,column,value"));
  }
}

TEST_CASE("kernels' names come first in a search for an order", "[quick][cli]") {
  const Directory directory;
  const auto path = [&](const char* name) { return (directory.path / name).string(); };
  write(path("a.csv"), text_matrix(4, 160, 1));
  write(path("b.csv"), text_matrix(160, 5, 2));
  const Words product = {"--target", "sm_90a", "--a", path("a.csv"), "--b", path("b.csv")};
  const Output d = run(joined({"run", kForm, "--order", "split_k=2 unit=64"}, product));
  write(path("d.csv"), d.out);
  // D is one tile of 64 x 8; the grid has so many blocks as runs.
  const std::string kernel = "nvjet_sm90_hss_64x8_64x16_1x1_h_bz_splitK_TNT@";
  const Words types = {"--types", "f16"};
  const auto searched = [&](const std::string& grid) {
    return run(joined(joined({"order", "--top", "1", "--d", path("d.csv"), "--kernel", kernel + grid}, types),
                      product));
  };
  const Output right = searched("1,2,1"), wrong = searched("1x1x3");
  CHECK_THAT(right.out,
             Contains("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16: split_k=2 unit=64 spread=cut") &&
                 Contains("the kernel's name says so, too"));
  CHECK_THAT(wrong.out, Contains("but the kernel's name says") && Contains("which D contradicts"));
  const Words alone = {"order",   "--target",  "sm_90",   "--types",   "f16",
                       "--order", "store=f16", "--shape", "64x64x4096"};
  const Output printed = run(joined(alone, {"--kernel", "nvjet_sm90_hsh_32x64_64x16_2x1_v_bz_splitK_NTN@2,3,1",
                                            "--kernel", "splitKreduce_kernel@2,4"}));
  CHECK(printed.status == 0);
  CHECK_THAT(
      printed.out,
      Contains("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16: split_k=3 unit=64 spread=cut store=f16"));
  const std::pair<Words, const char*> refused[] = {
      {joined(alone, {"--kernel", "gemv"}), "the kernel gemv"},
      {joined(alone, {"--kernel", "nvjet@0,1"}), "the grid 0,1"},
      {joined(alone, {"--kernel", "nvjet@"}), "no grid behind the @"},
      {{"order", "--target", "sm_90a", "--types", "f16", "--kernel", "nvjet", "--shape", "64x64"},
       "--shape: 64x64; expected MxNxK"},
      {{"order", "--target", "sm_90a", "--types", "f16", "--kernel", "nvjet"}, "no --shape"}};
  for (const auto& [command, message] : refused) {
    const Output out = run(command);
    CHECK(out.status == 2);
    CHECK_THAT(out.err, Contains(message));
  }
}

// More parts than cases: some have none.
TEST_CASE("parts without a case", "[quick][cli]") {
  const Words command = comparison({"--targets", "sm_80,sm_90"}, "2");
  const Directory directory;
  const Output whole = run(command);
  Words parts;
  for (const int i : {1, 2, 3}) {
    parts.push_back((directory.path / fmt::format("{}.json", i)).string());
    run(joined(command, {"--part", parts.back(), "--shard", fmt::format("{}/3", i)}));
  }
  check_same(run(joined({"merge"}, parts)), whole);
}

// Of five blocks, each with another sum than that of its results.
Members false_digests() {
  using archive::text_npy;
  const auto integers = [](const std::string& shape, std::vector<std::uint64_t> list) {
    return archive::npy(archive::dictionary("'<u8'", shape),
                        {reinterpret_cast<const char*>(list.data()), 8 * list.size()});
  };
  return {{"format.npy", text_npy("capture-1")},
          {"statement.npy", text_npy("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")},
          {"target.npy", text_npy("sm_90a")},
          {"layout.npy", text_npy("digests")},
          {"source.npy", text_npy("model")},
          {"provenance.npy", text_npy("{\"program\": \"parts_cli_test\"}")},
          {"seed.npy", integers("()", {1})},
          {"profile.npy", text_npy("ordinary")},
          {"count.npy", integers("()", {4 * warpbit::inputs::kBlockCases + 7})},
          {"digest.npy", integers("(5,)", {1, 2, 3, 4, 5})}};
}

TEST_CASE("parts of a replay make the whole", "[quick][cli]") {
  const Directory directory;
  write(directory.path / "a.npz", zip_of(good()));
  write(directory.path / "b.npz", zip_of(with(good(), "d.npy", registers(2, 4, 0x41000001))));
  write(directory.path / "c.npz", zip_of(with(good(), "target.npy", archive::text_npy("sm_70"))));
  write(directory.path / "d.npz", "no archive");
  write(directory.path / "e.npz", zip_of(false_digests()));
  const std::string folder = directory.path.string();
  for (const Words& command :
       {Words{"verify", "--details", "3", folder},
        Words{"verify", "--target", "sm_80", folder, "golden-digests/sm_90a/cvt/cvt_bf16_bf16.digests.npz"}}) {
    const Directory kept;
    const Words parts = parts_of(command, 3, kept.path);
    for (const Words& how : {Words{}, Words{"--json"}, Words{"--quiet"}})
      check_same(run(joined(joined({"merge"}, how), parts)), run(joined(command, how)));
  }
}

TEST_CASE("a part that is there is not computed again", "[quick][cli]") {
  const Directory directory;
  const std::string file = (directory.path / "1.json").string();
  const Words command = comparison({"--targets", "sm_80,sm_90", "--shard", "1/2", "--part", file});
  run(command);
  auto part = nlohmann::ordered_json::parse(archive::bytes_of(file));
  part["answer"][0]["results"][1]["most_codes"] = 12345;
  write(file, part.dump());
  CHECK_THAT(run(command).out, Contains("12345 codes"));
  CHECK(nlohmann::ordered_json::parse(archive::bytes_of(file)) == part);
}

TEST_CASE("what is no part of the work is refused", "[quick][cli]") {
  const Directory directory;
  const auto path = [&](const std::string& name) { return (directory.path / name).string(); };
  const Words targets = {"--targets", "sm_80,sm_90"};
  const auto part = [&](const std::string& shard, const std::string& file, const std::string& cases = "7",
                        const std::string& seed = "7") {
    return run(comparison(joined(targets, {"--shard", shard, "--part", path(file)}), cases, seed));
  };
  CHECK(part("1/3", "1").status == 1);
  CHECK(part("2/3", "2").status == 1);
  CHECK(part("3/3", "other", "7", "8").status == 1);
  write(path("a.npz"), zip_of(good()));
  CHECK(run({"verify", path("a.npz"), "--shard", "1/1", "--part", path("verified")}).status == 0);
  auto json = nlohmann::ordered_json::parse(archive::bytes_of(path("1")));
  write(path("short"), json.dump().substr(0, 100));
  json["answer"][0]["results"][0]["errors"] = "123";
  write(path("no doubles"), json.dump());
  json["warpbit"] = "0.0.1";
  write(path("old"), json.dump());
  write(path("no part"), "{}");

  const std::string expected = "; expected a file that --part has written\n";
  const auto merge = [&](const Words& names) {
    Words words = {"merge"};
    for (const std::string& name : names) words.push_back(path(name));
    const Output output = run(words);
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    return output.err;
  };
  CHECK(merge({"1", "2"}) == "warpbit: merge: 2 of 3 parts, without 3; expected all of them\n");
  CHECK(merge({"nothing"}) == fmt::format("warpbit: {}: no such file{}", path("nothing"), expected));
  CHECK_THAT(merge({"1", "other"}),
             Contains("a part of another work, with seed 8; expected 7, as " + path("1")));
  CHECK_THAT(merge({"1", "verified"}),
             Contains("a part of another work, by warpbit verify; expected compare, as "));
  CHECK_THAT(merge({"old"}), Contains("a part that warpbit 0.0.1 has computed; expected parts of warpbit "));
  for (const char* name : {"short", "no part"})
    CHECK_THAT(merge({name}), Contains(path(name) + ": ") && Contains(expected));
  CHECK_THAT(merge({"no doubles", "2"}), Contains("parts, without 3"));
  CHECK_THAT(part("1/3", "no doubles").err, Contains("errors that are no doubles" + expected));
  CHECK_THAT(part("2/3", "1").err, Contains("part 1 of 3; expected part 2, or a file that is not there"));
  CHECK_THAT(part("1/3", "1", "9").err, Contains("with cases 7; expected 9, as asked"));
  CHECK_THAT(part("1/3", "nowhere/1").err, Contains("nowhere/1: cannot be written: No such file or directory"));
  CHECK_THAT(run({"merge", path("verified"), "--csv"}).err,
             Contains("--csv for parts of warpbit verify; expected it with those of warpbit compare"));
  CHECK_THAT(run({"compare", kForm, "--targets", "sm_80,sm_90", "--a", "1", "--part", path("x")}).err,
             Contains("--part: a comparison without generated inputs; expected it with --random PROFILE"));
}

}  // namespace parts_cli_test
