// SPDX-License-Identifier: Apache-2.0
// Captures of digests: written here from sums of their own, verified, and where they differ, found again.
#include "warpbit/replay.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>  // std::memcpy
#include <map>

#include "tool.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/inputs/text.hpp"

namespace digest_test {

using namespace warpbit;
using archive::Directory;
using archive::Members;
namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 0xFEDCBA9876543210;

Instruction parse(const std::string& statement, const char* target) {
  const Result<Instruction> instruction = Instruction::parse(statement, *Target::find(target));
  INFO(statement << (instruction ? "" : ": " + instruction.error().message()));
  REQUIRE(instruction.ok());
  return *instruction;
}

// ---- The sum, from the page on the format: SplitMix64 of the word and its position, added up.

std::uint64_t split_mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

// Blocks of an array whose first extent counts cases. Bytes of memory go by fours.
std::vector<std::uint64_t> sums(const Array& results, std::uint64_t cases, std::uint64_t of_block = 4096) {
  const std::size_t bytes = results.header.name == "smem_out" ? 4 : results.header.item_bytes;
  const std::uint64_t words = results.data.size() / bytes;
  std::vector<std::uint64_t> out((cases + of_block - 1) / of_block);
  for (std::uint64_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, results.data.data() + i * bytes, bytes);
    out[i / (words / cases) / of_block] += split_mix(word + 0x9E3779B97F4A7C15u * (i + 1));
  }
  return out;
}

// ---- Files

std::string integers(const std::vector<std::uint64_t>& list, bool scalar) {
  std::string data(8 * list.size(), '\0');
  std::memcpy(data.data(), list.data(), data.size());
  return archive::npy(archive::dictionary("'<u8'", scalar ? "()" : fmt::format("({},)", list.size())), data);
}

Members file(const std::string& statement, const char* target, inputs::Profile profile, std::uint64_t cases,
             const std::vector<std::uint64_t>& digests) {
  using archive::text_npy;
  return {
      {"format.npy", text_npy("capture-1")},  {"statement.npy", text_npy(statement)},
      {"target.npy", text_npy(target)},       {"layout.npy", text_npy("digests")},
      {"source.npy", text_npy("model")},      {"provenance.npy", text_npy("{\"program\": \"digest_test\"}")},
      {"seed.npy", integers({kSeed}, true)},  {"profile.npy", text_npy(std::string(inputs::name(profile)))},
      {"count.npy", integers({cases}, true)}, {"digest.npy", integers(digests, false)}};
}

FileReport replayed(const Members& members, const ReplayOptions& options = {}) {
  const Directory directory;
  return replay(tool::write(directory.path / "some.npz", archive::zip_of(members)), options);
}

struct Subject {
  const char *target, *statement;
  std::uint64_t cases, elements;  // elements of a case
};
constexpr Subject kSubjects[] = {
    {"sm_90a", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};", 4096 + 77, 128},
    {"sm_90a", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {d}, {a}, {b}, {c};", 100, 128},
    {"sm_90a", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d}, {a}, {b}, {c};", 4096, 64},
    {"sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 1;", 300, 128},
    {"sm_120a",
     "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0 {d}, "
     "{a}, {b}, "
     "{c}, sfa, {0, 1}, sfb, {2, 0};",
     300, 128},
    {"sm_90a",
     "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {d}, desc_a, desc_b, scale_d, 1, -1, 0, 1;", 60,
     1024},
    {"sm_90a", "wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16 {d}, {a}, desc_b, e, 1, 1, 1, 1, 0;", 60,
     512},
    {"sm_90a", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {r}, [addr];", 200, 256},
    {"sm_90a", "stmatrix.sync.aligned.m8n8.x2.shared.b16 [addr], {r};", 200, 1024},
    {"sm_90a", "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {r}, [addr], stride;", 200, 512},
    {"sm_90a", "movmatrix.sync.aligned.m8n8.trans.b16 d, a;", 500, 64},
    {"sm_90a", "cvt.rn.satfinite.e4m3x2.f32 d, a, b;", 3 * 4096, 2},
    {"sm_100a", "cvt.rs.satfinite.e4m3x4.f32 d, {abcd}, rbits;", 5000, 4},
    {"sm_90a", "cvt.f64.f16 d, a;", 5000, 1},
};

std::vector<Array> capture_of(const Subject& s, std::uint64_t first, std::uint64_t cases) {
  auto arrays = generated_capture(parse(s.statement, s.target), {kSeed, inputs::Profile::mixed}, first, cases);
  INFO(s.statement << (arrays ? "" : ": " + arrays.error().message()));
  REQUIRE(arrays.ok());
  return std::move(*arrays);
}

std::vector<std::uint64_t> sums_of(const Subject& s, std::uint64_t of_block = 4096) {
  return sums(capture_of(s, 0, s.cases).back(), s.cases, of_block);
}

TEST_CASE("digests are those of the generated capture's results", "[quick][digest]") {
  for (const Subject& s : kSubjects) {
    INFO(s.statement);
    const FileReport report =
        replayed(file(s.statement, s.target, inputs::Profile::mixed, s.cases, sums_of(s)));
    INFO((report.error ? report.error->message() : ""));
    REQUIRE(report.status == FileStatus::replayed);
    CHECK(report.mismatches == 0);
    CHECK(report.cases == s.cases);
    CHECK(report.elements == s.cases * s.elements);
    CHECK(report.notes.empty());
    CHECK(report.details.empty());
    CHECK(report.target == s.target);
  }
}

TEST_CASE("a generated capture replays as an ordinary one, wherever it begins", "[quick][digest]") {
  const Directory directory;
  for (const Subject& s : kSubjects) {
    INFO(s.statement);
    const std::vector<Array> all = capture_of(s, 0, 50), part = capture_of(s, 40, 10);
    REQUIRE(all.size() == part.size());
    for (std::size_t i = 0; i < all.size(); ++i) {  // the last ten cases
      CHECK(all[i].header.name == part[i].header.name);
      const std::size_t bytes = part[i].data.size();
      CHECK(std::equal(part[i].data.begin(), part[i].data.end(),
                       all[i].data.end() - static_cast<std::ptrdiff_t>(bytes)));
    }
    CaptureHeader header{s.statement, s.target, CaptureLayout::registers, CaptureSource::model, "{}"};
    if (std::string_view(s.statement).starts_with("cvt")) header.layout = CaptureLayout::scalars;
    const fs::path path = directory.path / "capture.npz";
    REQUIRE(write_capture(path, header, part).ok());
    const FileReport report = replay(path);
    INFO((report.error ? report.error->message() : ""));
    REQUIRE(report.status == FileStatus::replayed);
    CHECK(report.mismatches == 0);
    CHECK(report.cases == 10);
    CHECK(report.notes.empty());
  }
}

TEST_CASE("digests depend on form, seed and profile, not on threads, kernel or selectors",
          "[quick][digest][once]") {
  const Instruction i = parse(kSubjects[0].statement, "sm_90a");
  const auto digest = [](const Instruction& instruction, std::uint64_t seed, inputs::Profile profile,
                         const ExecuteOptions& options = {}) {
    const std::vector<std::uint64_t> both = {0, 1};
    const auto list = digests(instruction, {seed, profile}, {5000}, both, options);
    REQUIRE(list.ok());
    CHECK(list->size() == 2);
    return *list;
  };
  const auto expected = digest(i, 1, inputs::Profile::mixed);
  CHECK(digest(i, 2, inputs::Profile::mixed) != expected);
  CHECK(digest(i, 1, inputs::Profile::narrow) != expected);
  for (const int threads : {1, 2, 3}) {
    ExecuteOptions options;
    options.threads = threads;
    CHECK(digest(i, 1, inputs::Profile::mixed, options) == expected);
  }
  for (const Kernel kernel : kernels()) {
    ExecuteOptions options;
    options.kernel = kernel;
    CHECK(digest(i, 1, inputs::Profile::mixed, options) == expected);
  }
  // The inputs of one form with two selectors are the same, the results are not.
  const std::string sparse = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, ";
  const auto first = generated_capture(parse(sparse + "0;", "sm_80"), {1}, 0, 10);
  const auto second = generated_capture(parse(sparse + "1;", "sm_80"), {1}, 0, 10);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  for (std::size_t m = 0; m < first->size(); ++m)
    CHECK(((*first)[m].data == (*second)[m].data) == ((*first)[m].header.name != "d"));
}

TEST_CASE("a flipped bit names its block, and bisecting writes a capture of it", "[quick][digest]") {
  for (const Subject& s :
       {Subject{"sm_90a", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};", 4096 + 10,
                128},
        Subject{"sm_90a", "cvt.rn.satfinite.e4m3x2.f32 d, a, b;", 3 * 4096 + 1, 2}})
    for (std::size_t block = 0; block <= (s.cases - 1) / 4096; ++block) {
      const Directory directory;
      std::vector<std::uint64_t> digests = sums_of(s);
      digests[block] ^= std::uint64_t{1} << 40;
      const fs::path path =
          tool::write(directory.path / "bulk.npz",
                      archive::zip_of(file(s.statement, s.target, inputs::Profile::mixed, s.cases, digests)));
      ReplayOptions options;
      options.block_folder = directory.path / "new" / "blocks";
      const FileReport report = replay(path, options);
      REQUIRE(report.status == FileStatus::replayed);
      CHECK(report.mismatches == 1);
      REQUIRE(report.details.size() == 1);
      const std::uint64_t first = 4096 * block, last = std::min(first + 4096, s.cases) - 1;
      CHECK(text(report.details[0]) == fmt::format("cases {} to {}: expected digest {:#018x}, got {:#018x}",
                                                   first, last, digests[block],
                                                   digests[block] ^ std::uint64_t{1} << 40));

      const fs::path capture = options.block_folder / fmt::format("bulk.case{}.npz", first);
      REQUIRE(report.notes.size() == 1);
      CHECK(report.notes[0] ==
            fmt::format("what was computed for the inputs from case {} on is in {}", first, capture.string()));
      const FileReport replayed_block = replay(capture);
      REQUIRE(replayed_block.status == FileStatus::replayed);
      CHECK(replayed_block.mismatches == 0);
      CHECK(replayed_block.cases == last - first + 1);
      CHECK(replayed_block.header.source == CaptureSource::model);
      CHECK(
          replayed_block.header.provenance ==
          fmt::format(R"({{"program":"warpbit","seed":{},"profile":"mixed","first_case":{}}})", kSeed, first));
    }
}

TEST_CASE("a file says how many cases a block has", "[quick][digest]") {
  const Subject& s = kSubjects[1];  // 100 cases
  for (const std::uint64_t of_block : {1, 7, 33, 99, 100, 101, 1 << 24}) {
    INFO(of_block);
    std::vector<std::uint64_t> digests = sums_of(s, of_block);
    const auto report = [&] {
      Members members = file(s.statement, s.target, inputs::Profile::mixed, s.cases, digests);
      members.emplace_back("block.npy", integers({of_block}, true));
      return replayed(members);
    };
    const FileReport good = report();
    INFO((good.error ? good.error->message() : ""));
    REQUIRE(good.status == FileStatus::replayed);
    CHECK(good.mismatches == 0);
    CHECK(good.cases == s.cases);
    CHECK(good.notes.empty());
    digests.back() ^= 1;
    const FileReport bad = report();
    CHECK(bad.mismatches == 1);
    REQUIRE(bad.details.size() == 1);
    CHECK(bad.details[0].index == (digests.size() - 1) * of_block);
    CHECK(bad.details[0].cases == s.cases - bad.details[0].index);
  }
}

TEST_CASE("shards have each block once, whatever the file is called", "[quick][digest]") {
  const Subject& s = kSubjects[1];
  std::vector<std::uint64_t> digests = sums_of(s, 3);
  for (std::uint64_t& digest : digests) digest ^= 1;  // so that the details name each block
  Members members = file(s.statement, s.target, inputs::Profile::mixed, s.cases, digests);
  members.emplace_back("block.npy", integers({3}, true));
  const Directory directory;
  const fs::path one = tool::write(directory.path / "one.npz", archive::zip_of(members)),
                 other = tool::write(directory.path / "other.npz", archive::zip_of(members));
  constexpr std::uint64_t kCount = 64;
  std::map<std::uint64_t, int> times;
  std::uint64_t cases = 0, elements = 0, elsewhere = 0;
  ReplayOptions options;
  options.details = digests.size();
  for (options.shard = {1, kCount}; options.shard.number <= kCount; ++options.shard.number) {
    const FileReport report = replay(one, options), same = replay(other, options);
    CHECK(report.status == same.status);
    CHECK(report.cases == same.cases);
    CHECK(report.mismatches == report.details.size());
    for (const Mismatch& m : report.details) ++times[m.index];
    cases += report.cases;
    elements += report.elements;
    elsewhere += report.status == FileStatus::other_shard;
  }
  CHECK(times.size() == digests.size());
  for (const auto& [block, count] : times) CHECK(count == 1);
  CHECK(cases == s.cases);
  CHECK(elements == s.cases * s.elements);
  CHECK(elsewhere > 0);
  CHECK(elsewhere < kCount);
}

TEST_CASE("what is wrong with a file of digests is said", "[quick][digest]") {
  const Subject& s = kSubjects[1];
  const Members good = file(s.statement, s.target, inputs::Profile::mixed, s.cases, sums_of(s));
  const auto message = [&](const std::string& member, const std::string& content,
                           FileStatus status = FileStatus::unreadable) {
    const FileReport report = replayed(tool::with(good, member + ".npy", content));
    CHECK(report.status == status);
    REQUIRE(report.error);
    return report.error->message();
  };
  CHECK(message("seed", "") == "member 'seed' is missing; expected uint64 ()");
  CHECK(message("digest", "") == "member 'digest' is missing; expected uint64 (blocks,)");
  CHECK(message("profile", archive::text_npy("random")) ==
        "member 'profile': it is 'random'; expected uniform, ordinary, narrow, wide, underflow, overflow, "
        "specials, "
        "cancellation, alignment, mixed, exhaustive");
  CHECK(message("profile", integers({1}, true)).find("uint64") != std::string::npos);
  CHECK(message("seed", integers({1}, false)).find("(1,)") != std::string::npos);
  CHECK(message("seed", archive::npy(archive::dictionary("'<u4'", "()"), "1234")).find("uint32") !=
        std::string::npos);
  CHECK(message("count", integers({0}, true)).find("no cases") != std::string::npos);
  CHECK(message("count", integers({4097}, true)).find("(2,), one digest for each 4096 of 4097 cases") !=
        std::string::npos);
  CHECK(message("count", integers({UINT64_MAX}, true)).find("(4503599627370496,)") != std::string::npos);
  for (const std::uint64_t of_block : {std::uint64_t{0}, std::uint64_t{1} << 25, UINT64_MAX}) {
    Members members = good;
    members.emplace_back("block.npy", integers({of_block}, true));
    const FileReport report = replayed(members);
    REQUIRE(report.error);
    CHECK(report.error->message() == fmt::format("member 'block': {} cases; expected 1 to 16777216", of_block));
  }
  CHECK(message("statement", archive::text_npy("wgmma.fence.sync.aligned;")).find("without results") !=
        std::string::npos);
  CHECK(message("statement",
                archive::text_npy("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {r}, [addr], stride;"))
            .find("global memory") != std::string::npos);
  CHECK(message("statement", archive::text_npy("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [addr+16];")) ==
        "of cases 0 to 99, case 2, lane 6: 16 bytes from 0x400 of the shared space are out of bounds; there is "
        "shared memory at 0x0 to 0x3ff");
  CHECK(message("target", archive::text_npy("sm_70"), FileStatus::unsupported).find("sm_70") !=
        std::string::npos);

  const FileReport extra = replayed(tool::with(good, "more.npy", integers({1}, true)));
  CHECK(extra.status == FileStatus::replayed);
  CHECK(extra.notes == std::vector<std::string>{"member 'more' is ignored"});
}

TEST_CASE("a small file does not state any amount of work", "[quick][digest]") {
  const Subject& s = kSubjects[1];
  constexpr std::uint64_t kCount = std::uint64_t{1} << 40, kBlock = std::uint64_t{1} << 24;
  Members members =
      file(s.statement, s.target, inputs::Profile::mixed, kCount, std::vector<std::uint64_t>(kCount / kBlock));
  members.emplace_back("block.npy", integers({kBlock}, true));
  const FileReport refused = replayed(members);
  CHECK(refused.status == FileStatus::unreadable);
  REQUIRE(refused.error);
  CHECK(refused.error->message() ==
        "member 'count': 1099511627776 cases with 1024 products each; at most 1099511627776 "
        "products are computed for a file");

  const Directory directory;
  const std::string path = (directory.path / "bulk.npz").string();
  tool::write(path, archive::zip_of(file(s.statement, s.target, inputs::Profile::mixed, s.cases, sums_of(s))));
  const auto products = [&](std::uint64_t n) {
    return tool::run({"verify", path, "--max-products", std::to_string(n)});
  };
  CHECK(products(1024 * s.cases).status == 0);
  CHECK(products(1024 * s.cases - 1).status == 2);
}

TEST_CASE("warpbit verify reads digests", "[quick][digest]") {
  const Subject& s = kSubjects[1];
  const Directory directory;
  std::vector<std::uint64_t> digests = sums_of(s);
  const std::string path = (directory.path / "bulk.npz").string();
  tool::write(path, archive::zip_of(file(s.statement, s.target, inputs::Profile::mixed, s.cases, digests)));
  const tool::Output good = tool::run({"verify", path});
  CHECK(good.status == 0);
  CHECK(good.lines().at(0).ends_with("100 cases, 12800 elements, 0 mismatches, model"));

  digests[0] += 1;
  tool::write(path, archive::zip_of(file(s.statement, s.target, inputs::Profile::mixed, s.cases, digests)));
  const std::string folder = (directory.path / "blocks").string();
  const tool::Output bad = tool::run({"verify", "--bisect", folder, path});
  CHECK(bad.status == 1);
  REQUIRE(bad.lines().size() == 4);
  CHECK(bad.lines()[0].ends_with("1 mismatches, model"));
  CHECK(bad.lines()[1] ==
        "  note: what was computed for the inputs from case 0 on is in " + folder + "/bulk.case0.npz");
  CHECK(bad.lines()[2].starts_with("  cases 0 to 99: expected digest 0x"));
  CHECK(tool::run({"verify", folder}).status == 0);
  const tool::Output json = tool::run({"verify", "--json", path});
  CHECK(json.status == 1);
  CHECK(json.out.find("\"cases\": 100,\n          \"expected\": \"0x") != std::string::npos);
}

}  // namespace digest_test
