// SPDX-License-Identifier: Apache-2.0
// Files of tools/capture/npz.hpp, as this library and NumPy read them.
#include "npz.hpp"

#include <catch2/catch.hpp>
#include <cstring>  // std::memcpy

#include "provenance.hpp"
#include "tool.hpp"
#include "warpbit/capture.hpp"

namespace npz_writer_test {

using namespace warpbit;
using Catch::Contains;
using Catch::Matchers::Equals;
namespace fs = std::filesystem;

constexpr const char* kStatement = "movmatrix.sync.aligned.m8n8.trans.b16 d, a;";
constexpr const char* kProvenance = R"({"program": "npz_writer_test"})";

const std::vector<std::uint8_t> kBytes = {1, 2, 255, 4, 5, 6};
const std::vector<std::uint16_t> kHalves = {0x0102, 0xFFFE, 3};
const std::vector<std::uint32_t> kWords = {0x01020304, 0xFFFFFFFE, 3, 4, 5, 6, 7, 8};
const std::vector<std::uint64_t> kDoubles = {0x0102030405060708};

void write(const fs::path& path) {
  npz::Writer file(path);
  capture::describe(file, kStatement, "sm_90a", "registers", kProvenance);
  file.array("bytes", 1, {2, 3}, kBytes.data());
  file.array("halves", 2, {3}, kHalves.data());
  file.array("words", 4, {2, 2, 2}, kWords.data());
  file.array("double", 8, {}, kDoubles.data());
  file.array("nothing", 4, {0, 32}, nullptr);
  file.texts("names", {"one", "", "three"});
  file.close();
}

TEST_CASE("the checksum is that of zip archives") {
  CHECK(npz::crc32("123456789") == 0xCBF43926);  // the check value of CRC-32/ISO-HDLC
  CHECK(npz::crc32("6789", npz::crc32("12345")) == 0xCBF43926);
  CHECK(npz::crc32("") == 0);
}

template <class T>
void check_array(const CaptureReader& reader, const char* name, const std::vector<std::uint64_t>& shape,
                 const std::vector<T>& items) {
  INFO(name);
  const Result<Array> array = reader.read(name);
  REQUIRE(array.ok());
  CHECK(array->header.kind == 'u');
  CHECK(array->header.item_bytes == sizeof(T));
  CHECK(array->header.shape == shape);
  REQUIRE(array->header.items() == items.size());
  for (std::size_t i = 0; i < items.size(); ++i) CHECK(array->at(i) == items[i]);
}

TEST_CASE("what is written is what the library reads") {
  const archive::Directory directory;
  const fs::path path = directory.path / "a.npz";
  write(path);
  CHECK(directory.entries() == 1);
  const Result<CaptureReader> reader = CaptureReader::open(path);
  INFO((reader ? "" : reader.error().message()));
  REQUIRE(reader.ok());
  CHECK(reader->header().statement == kStatement);
  CHECK(reader->header().target == "sm_90a");
  CHECK(reader->header().layout == CaptureLayout::registers);
  CHECK(reader->header().source == CaptureSource::hardware);
  CHECK(reader->header().provenance == kProvenance);
  CHECK(reader->ignored().empty());
  CHECK(reader->arrays().size() == 6);
  check_array(*reader, "bytes", {2, 3}, kBytes);
  check_array(*reader, "halves", {3}, kHalves);
  check_array(*reader, "words", {2, 2, 2}, kWords);
  check_array(*reader, "double", {}, kDoubles);
  check_array(*reader, "nothing", {0, 32}, std::vector<std::uint32_t>{});
  const Result<Array> names = reader->read("names");
  REQUIRE(names.ok());
  CHECK(names->header.dtype() == "|S5");
  CHECK(names->header.shape == std::vector<std::uint64_t>{3});
  CHECK(names->text(0) == "one");
  CHECK(names->text(1).empty());
  CHECK(names->text(2) == "three");
}

TEST_CASE("a flipped bit anywhere in the data is seen") {
  const archive::Directory directory;
  write(directory.path / "a.npz");
  std::string bytes = archive::bytes_of(directory.path / "a.npz");
  const std::size_t at = bytes.find(std::string("\x04\x03\x02\x01", 4));
  REQUIRE(at != bytes.npos);
  bytes[at] ^= 1;
  const Result<CaptureReader> reader = CaptureReader::open(std::as_bytes(std::span(bytes)));
  REQUIRE(reader.ok());
  const Result<Array> words = reader->read("words");
  REQUIRE_FALSE(words.ok());
  CHECK(words.error().code == Errc::member_malformed);
}

TEST_CASE("a file appears complete or not at all") {
  const archive::Directory directory;
  const fs::path path = directory.path / "a.npz";
  {
    npz::Writer file(path);
    file.text("format", "capture-1");
    CHECK_FALSE(fs::exists(path));
  }
  CHECK(directory.entries() == 0);
  CHECK_THROWS_WITH(npz::Writer(directory.path / "none" / "a.npz"), Contains("none/a.npz: cannot be written"));
}

TEST_CASE("text becomes JSON") {
  CHECK_THAT(capture::json_text("a \"b\" \\ \n\x7f\xc3\xa9"), Equals("\"a \\\"b\\\" \\\\  \x7f\xc3\xa9\""));
  CHECK_THAT(
      capture::about({"GPU", 121, "1", "2", "3"}),
      Equals(R"("device": "GPU", "compute_capability": "12.1", "driver": "1", "toolkit": "2", "date": "3")"));
  CHECK(capture::cuda_version(12080) == "CUDA 12.8");
}

// Prints dtype, shape and items of each member.
constexpr const char* kScript = R"(
import sys, numpy
with numpy.load(sys.argv[1]) as file:
    for name in file.files:
        array = file[name]
        print(name, array.dtype.str, array.shape, array.tolist())
)";

constexpr const char* kPrinted = R"(format |S9 () b'capture-1'
statement |S43 () b'movmatrix.sync.aligned.m8n8.trans.b16 d, a;'
target |S6 () b'sm_90a'
layout |S9 () b'registers'
source |S8 () b'hardware'
provenance |S30 () b'{"program": "npz_writer_test"}'
bytes |u1 (2, 3) [[1, 2, 255], [4, 5, 6]]
halves <u2 (3,) [258, 65534, 3]
words <u4 (2, 2, 2) [[[16909060, 4294967294], [3, 4]], [[5, 6], [7, 8]]]
double <u8 () 72623859790382856
nothing <u4 (0, 32) []
names |S5 (3,) [b'one', b'', b'three']
)";

// Where Python with NumPy is missing the program says so and exits with 77.
TEST_CASE("what is written is what NumPy reads", "[.][numpy]") {
  const std::string python = tool::find_command({"python3", "/usr/bin/python3"}, "-c 'import numpy'");
  if (python.empty()) tool::not_run("Python with NumPy is missing");
  const archive::Directory directory;
  write(directory.path / "a.npz");
  const tool::Output said =
      tool::shell(python + " - " + tool::shell_word((directory.path / "a.npz").string()), kScript);
  INFO(said.err);
  CHECK(said.status == 0);
  CHECK_THAT(said.out, Equals(kPrinted));
}

}  // namespace npz_writer_test
