// SPDX-License-Identifier: Apache-2.0
// Files that cannot be judged: each gives one line that says what is wrong, and the others are still replayed.
#include <catch2/catch.hpp>

#include "tool.hpp"

namespace cli_malformed_test {

using namespace tool;
using archive::dictionary;
using archive::npy;
using archive::text_npy;
using archive::zip_of;
namespace fs = std::filesystem;

constexpr const char* kForm = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";

// The content of a bad file, and what must be said about it: its beginning, behind the path.
struct Bad {
  std::string content, said;
};

// Replays the bad file between two good ones.
void require_named(const Bad& bad, const std::vector<std::string>& options = {}) {
  const Directory directory;
  write(directory.path / "a.npz", zip_of(good(), true));
  const std::string path = write(directory.path / "b.npz", bad.content);
  write(directory.path / "c.npz", zip_of(good()));
  std::vector<std::string> arguments{"verify", directory.path.string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Output output = run(arguments);
  INFO(output.out << output.err);
  CHECK(output.status == 2);
  CHECK(output.err.empty());
  REQUIRE(output.lines().size() == 4);
  CHECK_THAT(output.lines()[1], Catch::StartsWith(path + ": " + bad.said));
  const bool unsupported = bad.said.starts_with("unsupported: ");
  CHECK(output.lines()[3] == std::string("total: 3 files, 4 cases, 512 elements, 0 mismatches, ") +
                                 (unsupported ? "1 unsupported, 0 unreadable" : "0 unsupported, 1 unreadable"));
}

Bad member(const std::string& name, const std::string& content, const std::string& said) {
  return {zip_of(with(name + ".npy", content), true), said};
}

Bad statement(const std::string& text, const std::string& said) {
  return member("statement", text_npy(text), said);
}

TEST_CASE("files that are no archive of arrays", "[quick][cli]") {
  const std::string whole = zip_of(good(), true);
  std::string damaged = zip_of(good());
  damaged[damaged.find("d.npy") + 200] ^= 1;
  const std::string start = npy(dictionary("'<u4'", "(2, 32, 4)"), "");
  const Bad rows[] = {
      {"", "unreadable: "},
      {"a text", "unreadable: "},
      {whole.substr(0, whole.size() / 2), "unreadable: "},
      {whole.substr(0, whole.size() - 1), "unreadable: "},
      {damaged, "unreadable: member 'd': "},
      // Zip bombs: a directory that promises almost 4 GiB, and data that is more than its header says.
      {archive::patched(whole, "d.npy", archive::kSize, 0xFFFFFFF0),
       "unreadable: with member 'd' (4294967280 bytes) its uncompressed size is too large"},
      {archive::patched(zip_of(with("d.npy", start + std::string(1 << 24, '\0')), true), "d.npy",
                        archive::kSize, start.size() + 1024),
       "unreadable: member 'd': "}};
  for (const Bad& bad : rows) require_named(bad);
  require_named(
      {zip_of(with("more.npy", npy(dictionary("'|u1'", "(67108864,)"), std::string(1 << 26, '\0'))), true),
       "unreadable: with member 'more' (67108939 bytes) its uncompressed size is too large; at most 1000000 "},
      {"--max-bytes", "1000000"});
}

TEST_CASE("members that are not what they should be", "[quick][cli]") {
  const std::string data = words(256, 0);
  const auto d = [&](const std::string& type, const std::string& shape) {
    return npy(dictionary(type, shape), data);
  };
  require_named(member("d", "x" + d("'<u4'", "(2, 32, 4)"), "unreadable: member 'd': "));
  for (const std::string type : {"'<f4'", "'<i4'", "'>u4'", "'|O'", "'<U1'", "[('x', '<u4')]"})
    require_named(member("d", d(type, "(2, 32, 4)"), "unreadable: member 'd' has dtype "));
  require_named(
      member("d", d("'<u8'", "(2, 32, 2)"), "unreadable: member 'd' has dtype uint64; expected uint32"));
  for (const std::string shape :
       {"(-2, 32, 4)", "(18446744073709551615, 32, 4)", "(4294967296, 4294967296, 4)"})
    require_named(member("d", d("'<u4'", shape), "unreadable: member 'd' has shape "));
  require_named(member("d", d("'<u4'", "(4294967296, 32, 4)"), "unreadable: member 'd': "));
  require_named(member("d", d("'<u4'", "(2, 4, 32)"),
                       "unreadable: member 'd' has shape (2, 4, 32); expected (cases, 32, 4)"));
  require_named(
      member("b", registers(3, 1, 0), "unreadable: member 'b' has shape (3, 32, 1); expected (2, 32, 1)"));
  require_named(member("d", registers(0, 4, 0), "unreadable: "));
  require_named(member("mask", npy(dictionary("'|u1'", "(2, 32)"), std::string(64, '\1')),
                       "unreadable: member 'mask' has shape (2, 32); expected (2, 32, 4)"));
  require_named(
      member("mask", registers(2, 4, 1), "unreadable: member 'mask' has dtype uint32; expected uint8"));
  for (const std::string name :
       {"a", "b", "c", "d", "format", "statement", "target", "layout", "source", "provenance"})
    require_named({zip_of(with(name + ".npy", "")), "unreadable: member '" + name + "' is missing; expected "});
}

TEST_CASE("descriptions that do not hold", "[quick][cli]") {
  require_named(
      member("format", text_npy("capture-2"), "unreadable: member 'format': it is 'capture-2'; expected "));
  require_named(
      member("target", text_npy("sm_91"), "unreadable: 'sm_91' is not a known target; known are sm_70, "));
  require_named(member("layout", text_npy("scalars"), "unreadable: member 'layout': scalars; expected "));
  require_named(
      member("layout", text_npy("elements"), "unreadable: member 'd' has shape (2, 32, 4); expected (n,)"));
  require_named(member("source", text_npy("rumour"), "unreadable: member 'source': it is 'rumour'; expected "));
  require_named(member("provenance", text_npy("none"), "unreadable: member 'provenance': "));
}

TEST_CASE("statements that cannot be replayed", "[quick][cli]") {
  const std::string form = kForm;
  const Bad rows[] = {
      statement(form + " {d}, {a}, {b}, {c}",
                "unreadable: member 'statement': the closing ';' is missing; expected "),
      statement(form + ";", "unreadable: member 'statement': no operands; expected "),
      statement(form + " {d}, {a}, {b}, {x};", "unreadable: member 'x' is missing; expected uint32 (2, 32, 4)"),
      statement(form + " {d}, {a}, {a}, {c};",
                "unreadable: member 'statement': the name a stands twice; expected "),
      statement(form + " {d}, {a}, {b}, {%f0, %f1, %f2, %f3};",
                "unreadable: member 'statement': operand c is "),
      statement(form + " {d}, {a}, {b};", "unreadable: " + form + ": operand c is missing; expected "),
      statement(form + " {d}, {a}, {b}, {c}; " + form + ";", "unreadable: column "),
      statement(form + "\n{d}, {a}, {b, {c};", "unreadable: column "),
      statement("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};",
                "unreadable: member 'a' has shape (2, 32, 2); expected (2, 32, 4)"),
      statement("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, desc_a, desc_b, scale_d, 1, 1, 0, 0;",
                "unreadable: member 'd' has shape (2, 32, 4); expected (cases, 128, 4)"),
      statement("tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, p;",
                "unsupported: tcgen05.mma.cta_group::1.kind::f16 does not exist on sm_90a; it exists on "),
      statement("tcgen06.mma {d}, {a};",
                "unsupported: tcgen06.mma: 'tcgen06' is not an instruction of this library; it has "),
      statement("wgmma.wait_group.sync.aligned 0;",
                "unreadable: member 'statement': an instruction without results; expected one with results"),
      statement("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r}, [addr];",
                "unreadable: member 'r' is missing; expected uint32 (cases, 32, 4)"),
      statement("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {d}, [addr];",
                "unreadable: member 'addr' is missing; expected uint32 (2, 32)"),
      statement("cvt.rn.f16x2.f32 d, a, b;", "unreadable: member 'layout': registers; expected scalars for "),
      statement("wmma.load.c.sync.aligned.row.m8n8k32.shared.s32 {d}, [addr], stride;",
                "unreadable: member 'd' has shape (2, 32, 4); expected (cases, 32, 2)"),
      statement("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f16 {d}, {a}, {b}, {c};",
                "unsupported: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f16: the type of D is .f32; "),
      statement(
          "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {d}, {a}, {b}, {c};",
          "unsupported: mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 does not exist on "
          "sm_90a; it exists on ")};
  for (const Bad& bad : rows) require_named(bad);
}

// Two cases of ldmatrix in which lane i gives line i of an image of zeros.
Members loads(std::uint32_t bytes, std::uint32_t wrong_lane = 32, std::uint32_t wrong_address = 0) {
  std::string addresses;
  for (std::uint32_t i = 0; i < 64; ++i)
    addresses += words(1, i == 32 + wrong_lane ? wrong_address : i % 8 * 16);
  Members out = with("statement.npy", text_npy("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {d}, [addr];"));
  for (const char* unused : {"a.npy", "b.npy", "c.npy"}) out = with(out, unused, "");
  out = with(out, "d.npy", registers(2, 4, 0));
  out = with(out, "addr.npy", npy(dictionary("'<u4'", "(2, 32)"), addresses));
  return with(out, "smem.npy",
              npy(dictionary("'|u1'", "(2, " + std::to_string(bytes) + ")"), std::string(2 * bytes, '\0')));
}

TEST_CASE("addresses that no memory has", "[quick][cli]") {
  const Directory directory;
  const Output output = run({"verify", write(directory.path / "a.npz", zip_of(loads(128)))});
  CHECK(output.status == 0);
  CHECK(output.lines().back() ==
        "total: 1 files, 2 cases, 512 elements, 0 mismatches, 0 unsupported, 0 unreadable");
  require_named({zip_of(loads(127)),
                 "unreadable: case 0, lane 7: 16 bytes from 0x70 of the shared space are out of "
                 "bounds; there is shared memory at 0x0 to 0x7e"});
  require_named({zip_of(loads(0)),
                 "unreadable: case 0, lane 0: 16 bytes from 0x0 of the shared space are out of "
                 "bounds; there is none"});
  require_named({zip_of(loads(128, 9, 12)),
                 "unreadable: case 1, lane 9: address 0xc is misaligned; it must be a multiple of 16 bytes"});
  require_named({zip_of(loads(128, 9, 0xFFFFFFF0)), "unreadable: case 1, lane 9: 16 bytes from 0xfffffff0 "});
  require_named({zip_of(with(loads(128), "smem.npy", "")),
                 "unreadable: member 'smem' is missing; expected uint8 (2, bytes)"});
  require_named({zip_of(with(loads(128), "smem.npy", registers(2, 4, 0))),
                 "unreadable: member 'smem' has dtype uint32; expected uint8"});
}

TEST_CASE("what a file says stays on its line", "[quick][cli]") {
  const Directory directory;
  const Members members = with("statement.npy", text_npy(std::string(kForm) + "\n\t{d}, {a}, {b}, {c};\n"));
  const Output output = run({"verify", write(directory.path / "a.npz", zip_of(members))});
  CHECK(output.status == 0);
  REQUIRE(output.lines().size() == 2);
  CHECK_THAT(output.lines()[0], Catch::Contains(std::string(kForm) + "  {d}, {a}, {b}, {c};  sm_90a 2 cases"));
  require_named({zip_of(with("a\x1b\n.txt", "x")), "unreadable: member 'a\\x1b\\x0a.txt': "});
}

TEST_CASE("bytes of files do not reach the terminal as they are", "[quick][cli]") {
  const Directory directory;
  const Output named = run({"verify", write(directory.path / "\x1b[31m\xC3\xBC\xC2\x9B.npz", "a text")});
  CHECK_THAT(named.out, Catch::Contains("/\\x1b[31m\xC3\xBC\\xc2\\x9b.npz: unreadable: "));
  CHECK(named.lines().size() == 2);  // not broken for the digits
  const Output target =
      run({"verify", write(directory.path / "a.npz", zip_of(with("target.npy", text_npy("sm_\xFF"))))});
  CHECK_THAT(target.out, Catch::Contains("sm_\\xff"));
  CHECK(target.out.find('\xFF') == std::string::npos);
  const Output index =
      run({"list", "--captures", write(directory.path / "\xFF\t\n\xC3\xBC.npz", zip_of(good()))});
  REQUIRE(index.lines().size() == 2);
  CHECK_THAT(index.lines()[1], Catch::Contains("/\\xff\\x09\\x0a\xC3\xBC.npz\tmma.sync."));
}

TEST_CASE("nothing to replay", "[quick][cli]") {
  const Directory directory;
  const std::string none = (directory.path / "none.npz").string();
  write(directory.path / "notes.txt", "no capture");
  Output output = run({"verify", directory.path.string()});
  CHECK(output.status == 2);
  CHECK(output.out == "total: 0 files, 0 cases, 0 elements, 0 mismatches, 0 unsupported, 0 unreadable\n");
  output = run({"verify", none});
  CHECK(output.status == 2);
  REQUIRE(output.lines().size() == 2);
  CHECK(output.lines()[0] == none + ": unreadable: cannot be read: no such file");
  CHECK(output.lines()[1] == "total: 1 files, 0 cases, 0 elements, 0 mismatches, 0 unsupported, 1 unreadable");
  const std::string file = write(directory.path / "a.npz", zip_of(good()));
  output = run({"verify", none, file});
  CHECK(output.status == 2);
  CHECK(output.lines().back() ==
        "total: 2 files, 2 cases, 256 elements, 0 mismatches, 0 unsupported, 1 unreadable");
}

}  // namespace cli_malformed_test
