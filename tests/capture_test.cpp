// SPDX-License-Identifier: Apache-2.0
// Capture files: what is written is read back, and every malformed file is refused by name.
#include "warpbit/capture.hpp"

#include <sys/resource.h>  // setrlimit

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <iterator>
#include <tuple>  // tie

#include "archive.hpp"

namespace capture_test {

using namespace warpbit;
using namespace archive;
using enum Errc;
using Catch::Contains;
namespace fs = std::filesystem;

const std::string kData(24, '\x07');

Members good() {
  return {{"format.npy", text_npy("capture-1")},
          {"statement.npy", text_npy("cvt.rn.satfinite.e4m3x2.f32 d, a, b;")},
          {"target.npy", text_npy("sm_90a")},
          {"layout.npy", text_npy("scalars")},
          {"source.npy", text_npy("model")},
          {"provenance.npy", text_npy("{\"program\": \"capture_test\"}")},
          {"a.npy", npy(dictionary("'<u4'", "(2, 3)"), kData)}};
}

// The good members, one of them replaced (or added).
Members with(const std::string& name, const std::string& content) {
  Members out = good();
  const auto found = std::find_if(out.begin(), out.end(), [&](const auto& m) { return m.first == name; });
  (found == out.end() ? out.emplace_back(name, "") : *found).second = content;
  return out;
}

Result<CaptureReader> open(const std::string& archive, std::uint64_t max_bytes = ReadOptions{}.max_bytes) {
  return CaptureReader::open(std::as_bytes(std::span(archive)), {.max_bytes = max_bytes});
}

// There must be an error of this code whose message mentions all of `parts`.
template <class T>
void require_refused(const Result<T>& result, Errc code, const std::vector<std::string>& parts) {
  REQUIRE_FALSE(result.ok());
  REQUIRE(name(result.error().code) == name(code));
  for (const std::string& part : parts) REQUIRE_THAT(result.error().message(), Contains(part));
}

CaptureHeader header() {
  return {"movmatrix.sync.aligned.m8n8.trans.b16 d, a;", "sm_90a", CaptureLayout::registers,
          CaptureSource::model, R"({"program": "capture_test", "list": [1, {"x": null}]})"};
}

TEST_CASE("a capture that was written is read back", "[quick][capture]") {
  const Directory directory;
  std::vector<Array> arrays;
  for (const std::size_t item_bytes : {1u, 2u, 4u, 8u}) {
    arrays.push_back(Array::zeros("x" + std::to_string(item_bytes), item_bytes, {3, item_bytes, 5}));
    for (std::uint64_t i = 0; i < arrays.back().header.items(); ++i)
      arrays.back().set(i, i * 0x9e3779b97f4a7c15u);
  }
  arrays.push_back(Array::zeros("scalar", 8, {}));
  arrays.push_back(Array::zeros("none", 4, {0, 32}));
  arrays.push_back(Array{ArrayHeader{"names", 'S', 4, {2}}, std::vector<std::byte>(8, std::byte{'n'})});
  arrays.back().data[7] = std::byte{0};

  const fs::path path = directory.path / "c.npz";
  REQUIRE(write_capture(path, header(), arrays).ok());
  const auto reader = CaptureReader::open(path);
  REQUIRE(reader.ok());
  const auto fields = [](const CaptureHeader& h) {
    return std::tie(h.statement, h.target, h.layout, h.source, h.provenance);
  };
  const CaptureHeader expected_header = header();
  REQUIRE((fields(reader->header()) == fields(expected_header)));
  REQUIRE(reader->arrays().size() == arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const ArrayHeader& expected = arrays[i].header;
    REQUIRE(reader->find(expected.name) == &reader->arrays()[i]);
    REQUIRE(reader->arrays()[i].dtype() == expected.dtype());
    REQUIRE(reader->arrays()[i].shape == expected.shape);
    const auto array = reader->read(expected.name);
    REQUIRE((array.ok() && array->data == arrays[i].data));
  }
  REQUIRE(reader->read("x8")->at(7) == 7 * 0x9e3779b97f4a7c15u);
  REQUIRE(reader->read("x1")->at(7) == (7 * 0x9e3779b97f4a7c15u & 0xff));
  REQUIRE(reader->read("names")->text(0) == "nnnn");
  REQUIRE(reader->read("names")->text(1) == "nnn");
  REQUIRE(reader->find("y") == nullptr);
  require_refused(reader->read("y"), member_missing, {"member 'y'", "x1, x2", "names"});

  // Written again, over the first: the same bytes.
  const std::string first = bytes_of(path);
  REQUIRE(write_capture(path, header(), arrays).ok());
  REQUIRE(bytes_of(path) == first);
  REQUIRE(directory.entries() == 1);
}

TEST_CASE("dtypes and shapes are named as NumPy names them", "[quick][capture]") {
  const auto text = [](char kind, std::size_t item_bytes, std::vector<std::uint64_t> shape) {
    const ArrayHeader header{"", kind, item_bytes, std::move(shape)};
    return header.dtype() + " " + header.shape_text();
  };
  REQUIRE(text('u', 4, {}) == "uint32 ()");
  REQUIRE(text('i', 8, {16}) == "int64 (16,)");
  REQUIRE(text('f', 2, {16, 32, 4}) == "float16 (16, 32, 4)");
  REQUIRE(text('b', 1, {0}) == "bool (0,)");
  REQUIRE(text('S', 9, {1, 2}) == "|S9 (1, 2)");
}

TEST_CASE("headers are read in every spelling that NumPy accepts", "[quick][capture]") {
  for (const char major : {'\1', '\2', '\3'})
    for (const std::string& text :
         {dictionary("'<u4'", "(2, 3)"),
          std::string("{'shape': (2,3,), 'fortran_order': False, 'descr': \"<u4\"}"),
          std::string(" {\"descr\" : '<u4' ,\n\t'shape':( 2 , 3 ) , 'fortran_order':False}   "),
          dictionary("'<u4'", "(6,)", "True"), dictionary("'<f4'", "(1, 6)"), dictionary("'|S24'", "()"),
          dictionary("'<u1'", "(24,)"), dictionary("'|b1'", "(2, 3, 4)"), dictionary("'<i8'", "(3,)")}) {
      CAPTURE(text);
      const std::string archive = zip_of(with("a.npy", npy(text, kData, major)), major == 2);
      const auto reader = open(archive);
      REQUIRE(reader.ok());
      REQUIRE(reader->read("a")->data.size() == kData.size());
    }
}

TEST_CASE("members that are no arrays are left alone and named", "[quick][capture]") {
  const std::string archive = zip_of(with("README.txt", "not an array"));
  const auto reader = open(archive);
  REQUIRE(reader.ok());
  REQUIRE(std::vector<std::string>(reader->ignored().begin(), reader->ignored().end()) ==
          std::vector<std::string>{"README.txt"});
}

// With "a" replaced, stored and deflated, the archive is refused, and the message names the member.
void require_array_refused(const std::string& content, Errc code, std::vector<std::string> message) {
  CAPTURE(content);
  message.push_back("member 'a'");
  for (const bool deflate : {false, true})
    require_refused(open(zip_of(with("a.npy", content), deflate)), code, message);
}

TEST_CASE("a malformed array header is refused by name", "[quick][capture]") {
  const std::string u4 = dictionary("'<u4'", "(2, 3)");
  const std::string valid = npy(u4, kData);
  const auto shaped = [](const std::string& shape) { return npy(dictionary("'<u4'", shape), kData); };
  const std::pair<std::string, std::vector<std::string>> rows[] = {
      {"", {"does not begin like a .npy file"}},
      {"\x93NUMPX" + valid.substr(6), {"does not begin like a .npy file"}},
      {npy(u4, kData, 4), {"npy version 4.0", "3.0"}},
      {valid.substr(0, 40), {"its header ends at byte", "of 40"}},
      {npy(u4 + std::string(70000, ' '), kData, 2), {"at most 65536"}},
      {std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12), {"at most 65536"}},
      {npy("  ", kData), {"its header is ''", "fortran_order"}},
      {npy("{'descr': '<u4'}", kData), {"no key 'fortran_order'"}},
      {npy("{'descr': '<u4', 'descr': '<u4'}", kData), {"'descr' twice"}},
      {npy("{'descr': '<u4', 'order': 1}", kData), {"the key 'order'", "exactly the keys"}},
      {npy(u4 + "x", kData), {"its header is"}},
      {npy(dictionary("'<u4'", "(2, 3)", "0"), kData), {"its fortran_order is '0'"}},
      {npy(dictionary("'<u4'", "(2, 3)", "True"), kData), {"Fortran order", "C order"}},
      {shaped("(2147483648,)"), {"24 bytes of data", "8589934592 for uint32"}},
      {shaped("(2, 4)"), {"24 bytes of data", "32 for uint32 (2, 4)"}},
      {shaped("(2, 2)"), {"24 bytes of data", "16 for uint32 (2, 2)"}}};
  for (const auto& [content, message] : rows) require_array_refused(content, member_malformed, message);
}

TEST_CASE("a dtype or shape that is not read is refused by name", "[quick][capture]") {
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1,";
  // What the header says, and in parentheses the note that the message adds.
  using Texts = std::vector<std::string>;
  const auto plain = [](const std::string& text) { return text.substr(0, text.find(" (")); };
  for (const std::string& dtype :
       Texts{"'|O' (Python objects)", "[('x', '<u4')] (structured)", "'|V8' (raw or structured data)",
             "'>u4' (big-endian)", "'<U3' (unicode strings)", "'<c8' (complex numbers)", "'<M8[ns]' (times)",
             "'|S0'", "'<u3'", "'<u99999999999999999999'", "'\\x1b'", "4"})
    require_array_refused(npy(dictionary(plain(dtype), "(3,)"), kData), member_dtype,
                          {"has dtype " + dtype + "; expected |u1, <u2"});
  for (const std::string& shape :
       Texts{"(-2, 3) (negative)", "(6)", "(,)", "[2, 3]", "(2.0, 3)", "(99999999999999999999,) (too large)",
             "(4294967296, 4294967296) (too large)", "(0, 4294967296, 4294967296) (too large)",
             many + ") (too many dimensions)"})
    require_array_refused(npy(dictionary("'<u4'", plain(shape)), kData), member_shape,
                          {"has shape " + shape + "; expected a tuple"});
}

TEST_CASE("a malformed description is refused by name", "[quick][capture]") {
  const auto zero_dimensional = [](const std::string& descr, const std::string& data) {
    return npy(dictionary(descr, "()"), data);
  };
  const std::tuple<std::string, std::string, Errc, std::string> rows[] = {
      {"format", text_npy("capture-2"), member_value, "it is 'capture-2'; expected 'capture-1'"},
      {"format", zero_dimensional("'<u4'", "abcd"), member_dtype, "dtype uint32"},
      {"format", zero_dimensional("'<U1'", "a   "), member_dtype, "unicode"},
      {"statement", npy(dictionary("'|S2'", "(1,)"), "a;"), member_shape, "shape (1,); expected ()"},
      {"statement", text_npy(" \n"), member_value, "' \\x0a'"},
      {"statement", zero_dimensional("'|S1'", std::string(1, '\0')), member_value, "it is ''"},
      {"statement", text_npy(std::string("a\0b;", 4)), member_value, "a\\x00b;"},
      {"statement", text_npy("a\x1b[31m;"), member_value, "a\\x1b[31m;"},
      {"statement", text_npy(std::string((1 << 20) + 1, 'a')), member_malformed, "at most 1048576"},
      {"target", zero_dimensional("'|S1'", std::string(1, '\0')), member_value, "it is ''"},
      {"target", text_npy("sm_90a\r"), member_value, "sm_90a\\x0d"},
      {"layout", text_npy("matrix"), member_value,
       "'matrix'; expected registers, elements, scalars or digests"},
      {"source", text_npy("guess"), member_value, "'guess'; expected hardware, published or model"}};
  for (const auto& [name, content, code, message] : rows)
    require_refused(open(zip_of(with(name + ".npy", content), true)), code, {"member '" + name + "'", message});
  for (const std::string& text : {std::string("{\"a\": 1"), std::string("[1]"), std::string("{} {}"),
                                  std::string(1 << 20, '['), "{\"a\":" + std::string(1 << 19, '[')})
    require_refused(open(zip_of(with("provenance.npy", text_npy(text)), true)), member_value,
                    {"member 'provenance'", "one JSON object"});
  for (std::size_t i = 0; i < 6; ++i) {
    Members members = good();
    const std::string missing = members[i].first.substr(0, members[i].first.size() - 4);
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(i));
    require_refused(open(zip_of(members)), member_missing, {"member '" + missing + "' is missing"});
  }
}

TEST_CASE("a file that is no complete archive is refused", "[quick][capture]") {
  const Directory directory;
  const std::string archive = zip_of(good(), true);
  for (std::size_t size = 0; size < archive.size(); ++size)
    require_refused(open(archive.substr(0, size)), not_an_archive, {"the archive in memory", ".npz"});
  require_refused(open(""), not_an_archive, {"it is empty"});
  require_refused(open(std::string(1000, 'x')), not_an_archive, {"truncated, or of another kind"});

  const auto file = [&](const std::string& content) {
    std::ofstream(directory.path / "x.npz", std::ios::binary) << content;
    return directory.path / "x.npz";
  };
  REQUIRE(CaptureReader::open(file(archive)).ok());
  require_refused(CaptureReader::open(file("")), not_an_archive, {"x.npz", "it is empty"});
  require_refused(CaptureReader::open(file("PK\x03\x04...")), not_an_archive, {"x.npz", "truncated"});
  require_refused(CaptureReader::open(directory.path), file_unreadable, {directory.path.string(), "directory"});
  require_refused(CaptureReader::open(directory.path / "none"), file_unreadable, {"none", "no such file"});
  require_refused(CaptureReader::open("/dev/null"), file_unreadable, {"/dev/null", "not a regular file"});
}

TEST_CASE("a directory that lies is refused by name", "[quick][capture]") {
  const std::string stored = zip_of(good());
  const std::string deflated = zip_of(good(), true);
  const auto open_error = [](const std::string& archive, Errc code, const std::string& message,
                             std::uint64_t max_bytes = ReadOptions{}.max_bytes) {
    require_refused(open(archive, max_bytes), code, {"member 'a'", message});
  };
  const auto read_error = [](const std::string& archive, const std::string& message) {
    const auto reader = open(archive);
    REQUIRE(reader.ok());
    require_refused(reader->read("a"), member_malformed, {"member 'a'", message});
  };

  std::string twice = zip_of(with("b.npy", npy(dictionary("'|S24'", "()"), kData)));
  for (std::size_t at; (at = twice.find("b.npy")) != std::string::npos;) twice[at] = 'a';
  open_error(twice, member_malformed, "twice");
  open_error(patched(stored, "a.npy", kFlags, 1), member_malformed, "encrypted");
  open_error(patched(stored, "a.npy", kMethod, 12), member_malformed, "method 12");
  open_error(patched(stored, "a.npy", kSize, 40), member_malformed, "40 bytes in");
  open_error(patched(deflated, "a.npy", kCompressed, 1u << 20), member_malformed, "1048576 compressed");
  open_error(patched(deflated, "a.npy", kSize, 0xfffffff0u), archive_too_large, "4294967280", 1u << 30);
  open_error(patched(deflated, "a.npy", kSize, 0xf0000000u), member_malformed, "can hold");
  std::uint64_t total = 0;
  for (const auto& [name, content] : good()) total += content.size();
  REQUIRE(open(stored, total).ok());
  open_error(stored, archive_too_large, "at most " + std::to_string(total - 1), total - 1);
  require_refused(open(zip_of(with("\n.npy", ""))), member_malformed, {"its name is '\\x0a.npy'"});
  require_refused(open(zip_of(with(".npy", ""))), member_malformed, {"its name is '.npy'"});

  read_error(patched(stored, "a.npy", kCrc, 1), "CRC");
  read_error(patched(deflated, "a.npy", kCrc, 1), "CRC");
  require_refused(open(patched(stored, "target.npy", kCrc, 1)), member_malformed, {"member 'target'", "CRC"});
  // The header and the directory agree on a size that the data does not have.
  const auto lying = [](std::size_t items) {
    const std::string start = npy(dictionary("'<u4'", "(" + std::to_string(items) + ",)"), "");
    return patched(zip_of(with("a.npy", start + kData), true), "a.npy", kSize, start.size() + 4 * items);
  };
  read_error(lying(5), "goes on");
  read_error(lying(7), "ends early");
  read_error(lying(9000), "ends early");
  std::string damaged = deflated;
  damaged[damaged.find("a.npy") + 5] ^= 0x06;  // the type of the first deflate block
  require_refused(open(damaged), member_malformed, {"member 'a'", "corrupt"});
}

TEST_CASE("a write that fails leaves nothing behind", "[quick][capture]") {
  const Directory directory;
  const std::vector<Array> arrays{Array::zeros("a", 4, {1000})};
  require_refused(write_capture(directory.path / "n/c.npz", header(), arrays), file_unwritable, {"n/c.npz"});
  REQUIRE(directory.entries() == 0);
  fs::create_directory(directory.path / "taken");
  require_refused(write_capture(directory.path / "taken", header(), arrays), file_unwritable, {"taken"});
  REQUIRE(directory.entries() == 1);

  // A file that may not grow: the old content stays.
  const fs::path path = directory.path / "c.npz";
  std::ofstream(path) << "old";
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto failed = write_capture(path, header(), arrays);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  require_refused(failed, file_unwritable, {"c.npz", "too large"});
  REQUIRE(bytes_of(path) == "old");
  REQUIRE(directory.entries() == 2);
}

TEST_CASE("a file that is replaced keeps its permissions and links", "[quick][capture]") {
  const Directory directory;
  const std::vector<Array> arrays{Array::zeros("a", 4, {1000})};
  fs::create_directory(directory.path / "other");
  const fs::path file = directory.path / "other" / "c.npz", link = directory.path / "link.npz";
  std::ofstream(file) << "old";
  fs::permissions(file, fs::perms(0600));
  fs::create_symlink("other/c.npz", link);
  // Left by writers that were killed, of any process.
  for (int i = 0; i < 1000; ++i)
    std::ofstream(directory.path / "other" / (".warpbit-" + std::to_string(i) + ".partial"));
  REQUIRE(write_capture(link, header(), arrays).ok());
  CHECK(fs::is_symlink(link));
  CHECK(CaptureReader::open(file).ok());
  CHECK(fs::status(file).permissions() == fs::perms(0600));
  CHECK(std::distance(fs::directory_iterator(directory.path / "other"), {}) == 1001);
}

TEST_CASE("what would not be read is not written", "[quick][capture]") {
  const Directory directory;
  const auto refuse = [&](const CaptureHeader& h, std::vector<Array> arrays, Errc code, const char* text) {
    require_refused(write_capture(directory.path / "c.npz", h, arrays), code, {text});
    REQUIRE(directory.entries() == 0);
  };
  const Array a = Array::zeros("a", 4, {2});
  CaptureHeader no_object = header();
  no_object.provenance = "none";
  refuse({}, {}, member_value, "member 'statement'");
  refuse(no_object, {}, member_value, "member 'provenance'");
  refuse(header(), {Array{a.header, {}}}, member_malformed, "0 bytes of data; expected 8");
  refuse(header(), {a, a}, member_malformed, "twice");
  refuse(header(), {Array::zeros("target", 4, {2})}, member_malformed, "member 'target'");
  refuse(header(), {Array::zeros("", 4, {2})}, member_malformed, "its name is ''");
  refuse(header(), {Array::zeros("a", 3, {2})}, member_dtype, "<u3");
  refuse(header(), {Array{{"a", 'u', 8, {std::uint64_t{1} << 62}}, {}}}, member_shape, "too large");
}

}  // namespace capture_test
