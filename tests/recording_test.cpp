// SPDX-License-Identifier: Apache-2.0
// Recordings: what is read of them, and what is refused and how.
#include "warpbit/recording.hpp"

#include <catch2/catch.hpp>

#include "recording_files.hpp"

namespace recording_test {

using namespace warpbit;
using namespace recording_files;
using archive::Directory;
using Catch::Contains;

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// ---- Reading

TEST_CASE("a recording is a folder, an archive of one, or its lines alone") {
  const Directory directory;
  json first = header();
  first.update({{"device", "a GPU"}, {"driver", "1.2"}, {"toolkit", "13.0"}, {"date", "2026-11-28"}});
  const std::string text =
      lines({json{{"kind", "copy"}, {"name", "x"}, {"to", "0x10"}, {"bytes", 3}, {"data", "some"}}}, first);
  const Data data = {{"some", "abc"}};
  write(directory.path / "lines.jsonl", text);
  for (const fs::path& path :
       {write_folder(directory.path / "folder", text, data), write_zip(directory.path / "a.zip", text, data),
        directory.path / "lines.jsonl"}) {
    INFO(path);
    CHECK(Recording::is_one(path));
    const Recording recording = required(Recording::open(path));
    CHECK(recording.path() == path);
    CHECK(recording.header().target == "sm_90a");
    CHECK(recording.header().source == CaptureSource::hardware);
    CHECK(recording.header().program == "a test");
    CHECK(recording.header().device == "a GPU");
    CHECK(recording.header().driver == "1.2");
    CHECK(recording.header().toolkit == "13.0");
    CHECK(recording.header().date == "2026-11-28");
    CHECK(recording.notes().empty());
    REQUIRE(recording.records().size() == 1);
    CHECK(recording.records()[0].kind == "copy");
    CHECK(recording.records()[0].line == 2);
    CHECK(recording.find("x") == recording.records().data());
    CHECK(recording.find("y") == nullptr);
    if (path.extension() == ".jsonl")
      CHECK_FALSE(recording.data("some"));
    else
      CHECK(text_of(required(recording.data("some"))) == "abc");
  }
  CHECK_FALSE(Recording::is_one(directory.path));
}

TEST_CASE("a last line that was cut is left out, and empty lines and unknown members are ignored") {
  const Directory directory;
  json first = header();
  first["later"] = {1, 2};
  json record = {{"kind", "copy"}, {"name", "x"},    {"to", "0x10"},
                 {"bytes", 3},     {"from", "0x20"}, {"colour", "red"}};
  write(directory.path / "a.jsonl", "\n" + first.dump() + "\n \t\n" + record.dump() + "\n{\"kind\": \"cop");
  const Recording recording = required(Recording::open(directory.path / "a.jsonl"));
  CHECK(recording.records().size() == 1);
  REQUIRE(recording.notes().size() == 1);
  CHECK(recording.notes()[0] == "line 5 has no end and is left out");
  const RecordedCopy copy = required(read_copy(recording.records()[0]));
  CHECK((copy.to == 0x10 && copy.from == 0x20 && copy.bytes == 3 && copy.data.empty()));
}

TEST_CASE("lines that are none are refused, with the line and what would be right") {
  const Directory directory;
  const fs::path path = directory.path / "a.jsonl";
  const std::string good = header().dump() + "\n", x = R"({"kind": "copy", "name": "x"})"
                                                       "\n";
  json other = header(), model = header(), nameless = header();
  other["format"] = "captures-7";
  model["source"] = "hearsay";
  nameless.erase("target");
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const std::pair<std::string, std::string> cases[] = {
      {"", ": no complete line; expected a header"},
      {good.substr(0, 5), ": no complete line; expected a header"},
      {"hello\n", ": line 1: 'hello'; expected a JSON object"},
      {"[1]\n", ": line 1: [1]; expected a JSON object"},
      {other.dump() + "\n", ": line 1: 'format': 'captures-7'; expected 'recording-1'"},
      {model.dump() + "\n", ": line 1: 'source': 'hearsay'; expected hardware, published or model"},
      {nameless.dump() + "\n", ": line 1: 'target': nothing; expected a string"},
      {good + "{}\n", ": line 2: 'kind': nothing; expected a string"},
      {good + R"({"kind": 3})"
              "\n",
       ": line 2: 'kind': 3; expected a string"},
      {good + x + "\n" + x, ": line 4: 'name': 'x' a second time; expected a name that no other record has"},
      {good + R"({"kind": )" + deep + "}\n", ": line 2: more than 64 levels; expected fewer"},
      {good + "{\"kind\": \"\xff\"}\n", ": line 2: '"},
  };
  for (const auto& [text, message] : cases) {
    write(path, text);
    const Result<Recording> opened = Recording::open(path);
    INFO(text.substr(0, 200));
    REQUIRE_FALSE(opened);
    CHECK_THAT(opened.error().message(), Catch::StartsWith(path.string() + message));
  }
}

TEST_CASE("names of data stay in their folder, and data that are not there are named") {
  const Directory directory;
  write(directory.path / "secret", "secret");
  const std::string text = lines({});
  for (const fs::path& path :
       {write_folder(directory.path / "folder", text, {}), write_zip(directory.path / "a.zip", text, {})}) {
    const Recording recording = required(Recording::open(path));
    for (const char* const name :
         {"", "..", "../secret", "../../secret", "a/b", "/etc/passwd", ".hidden", "a b", "a\\b", "\xc3\xa4"}) {
      const auto data = recording.data(name);
      REQUIRE_FALSE(data);
      CHECK_THAT(data.error().message(), Contains("a name of letters, digits, '_', '-' and '.'"));
    }
    const auto data = recording.data("nothing.bin");
    REQUIRE_FALSE(data);
    CHECK(data.error().code == Errc::file_unreadable);
    CHECK_THAT(data.error().message(), Contains(path.string()) && Contains("nothing.bin"));
  }
}

TEST_CASE("a recording that is larger than what may be read is refused") {
  const Directory directory;
  const fs::path zip = write_zip(directory.path / "a.zip", lines({}), {{"zeros", std::string(1 << 20, '\0')}});
  CHECK(Recording::open(zip, {.max_bytes = 2 << 20}));
  const auto small = Recording::open(zip, {.max_bytes = 1 << 16});
  REQUIRE_FALSE(small);
  CHECK(small.error().code == Errc::archive_too_large);
  CHECK_FALSE(Recording::open(directory.path / "none.zip"));
}

// ---- Records

Record record_of(const json& object) {
  return {object.at("kind"), object.at("name"), 7, object.dump()};
}

const json kMemory = list({part("0x1000", 8, "b", "a"), part("0x2000", 4, "b", nullptr)});

TEST_CASE("all that a launch says is read") {
  json one = launch("first", list({{{"bytes", "00ff"}, {"type", "u16"}, {"name", "n"}}}), kMemory);
  one.update({{"cluster", {2, 1, 1}},
              {"grid", {4, 3, 2}},
              {"shared", 48},
              {"reason", "none"},
              {"stable", false},
              {"printed", "hello"},
              {"where", "a.py:3"},
              {"library", "nvcc"},
              {"target", "sm_80"},
              {"variables", list({{{"name", "v"}, {"before", "b"}}})}});
  const RecordedLaunch launch = required(read_launch(record_of(one)));
  CHECK((launch.entry == "k" && launch.module == "k.ptx" && launch.reason == "none"));
  CHECK((launch.grid.x == 4 && launch.grid.y == 3 && launch.grid.z == 2 && launch.block.x == 1));
  CHECK((launch.cluster && launch.cluster->x == 2 && launch.shared_bytes == 48));
  REQUIRE(launch.parameters.size() == 1);
  CHECK((launch.parameters[0].bytes == std::vector{std::byte{0}, std::byte{0xff}}));
  CHECK((launch.parameters[0].type == "u16" && launch.parameters[0].name == "n"));
  REQUIRE(launch.memory.size() == 2);
  CHECK((launch.memory[0].address == 0x1000 && launch.memory[0].bytes == 8 && launch.memory[0].before == "b"));
  CHECK((launch.memory[0].after == "a" && launch.memory[0].is_compared && !launch.memory[1].is_compared));
  REQUIRE(launch.variables.size() == 1);
  CHECK((launch.variables[0].before == "b" && !launch.variables[0].after));
  CHECK((launch.stable == false && launch.printed == "hello"));
  CHECK((launch.where == "a.py:3" && launch.library == "nvcc" && launch.target == "sm_80"));
}

TEST_CASE("what is wrong in a launch is named") {
  const std::string far = "0xfffffffffffffffc";
  const Wrong cases[] = {
      {"grid", {1, 0, 1}, "'grid': [1,0,1]; expected three numbers from 1 on"},
      {"grid", {1, 1}, "'grid': [1,1]; expected three numbers from 1 on"},
      {"block", {1, 1, 4294967296}, "'block': [1,1,4294967296]; expected three numbers from 1 on"},
      {"block", {1, -1, 1}, "'block': [1,-1,1]; expected numbers from 0 on"},
      {"block", "32", "'block': \"32\"; expected a list of numbers"},
      {"cluster", {0, 1, 1}, "'cluster': [0,1,1]; expected three numbers from 1 on"},
      {"shared", -1, "'shared': -1; expected a number from 0 on"},
      {"entry", nullptr, "'entry': null; expected a string"},
      {"stable", "yes", "'stable': \"yes\"; expected true or false"},
      {"parameters", list({{{"bytes", "123"}}}),
       "'parameters' 0: 'bytes': '123'; expected two hexadecimal digits for each byte"},
      {"parameters", list({{{"bytes", "0g"}}}),
       "'parameters' 0: 'bytes': '0g'; expected two hexadecimal digits for each byte"},
      {"parameters", 5, "'parameters': 5; expected a list of objects"},
      {"parameters", list({5}), "'parameters' 0: 5; expected a JSON object"},
      {"memory", list({part("4096", 4, "", "")}),
       "'memory' 0: 'address': '4096'; expected an address as in \"0x7f2c40000000\""},
      {"memory", list({part("0x", 4, "", "")}), "'memory' 0: 'address': '0x'; expected an address"},
      {"memory", list({part("0x11111111111111111", 4, "", "")}),
       "'memory' 0: 'address': '0x11111111111111111'; expected"},
      {"memory", list({part("0x10", 0, "", "")}), "'memory' 0: 'bytes': 0; expected a number from 1 on"},
      {"memory", list({part(far, 5, "", "")}),
       "'memory' 0: 'address': 0xfffffffffffffffc with 5 bytes; expected memory below 2^64"},
      {"memory", list({part("0x20", 8, "", ""), part("0x19", 8, "", "")}),
       "'memory': 'at 0x20' at 0x20 overlaps 'at 0x19' at 0x19; expected parts that do not overlap"},
      {"variables", {json::object()}, "'variables' 0: 'name': nothing; expected a string"},
  };
  for (const auto& [member, value, message] : cases) {
    json one = launch("first", json::array(), kMemory);
    one[member] = value;
    const auto read = read_launch(record_of(one));
    INFO(message);
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error().message(), Catch::StartsWith("line 7, launch 'first': " + message));
  }
  json next = launch("first", json::array(),
                     list({part("0x20", 8, "", ""), part("0x18", 8, "", ""), part(far, 4, "", "")}));
  CHECK(read_launch(record_of(next)));
}

TEST_CASE("what is wrong in a product, or in a copy, is named") {
  const Wrong cases[] = {
      {"op", 3, "'op': 3; expected a string"},
      {"a", 3, "'a': 3; expected a JSON object"},
      {"b", matrix("f17", list({1}), list({1}), "x"),
       "'b': 'dtype': 'f17'; expected f16, bf16, f32, f64, e4m3"},
      {"d", matrix("f32", {1, 2}, list({1}), "x"),
       "'d': 'strides': 1 strides for 2 extents; expected a stride for each of up to 3"},
      {"c", matrix("f32", {1, 1, 1, 1}, {1, 1, 1, 1}, "x"),
       "'c': 'strides': 4 strides for 4 extents; expected"},
      {"alpha", "1", "'alpha': \"1\"; expected a number"},
      {"kernels", list({{{"grid", {1, 1, 1}}}}), "'kernels' 0: 'name': nothing; expected a string"},
  };
  for (const auto& [member, value, message] : cases) {
    json one = product();
    one[member] = value;
    const auto read = read_product(record_of(one));
    INFO(message);
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error().message(), Catch::StartsWith("line 7, product 'p': " + message));
  }
  const auto copy = read_copy(record_of({{"kind", "copy"}, {"name", "c"}, {"to", "0x10"}, {"bytes", 4}}));
  REQUIRE_FALSE(copy);
  CHECK(copy.error().message() == "line 7, copy 'c': 'from': nothing; expected a string");
}

}  // namespace recording_test
