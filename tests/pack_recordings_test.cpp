// SPDX-License-Identifier: Apache-2.0
// Recordings written anew, several as one, and what is listed of them.
#include <catch2/catch.hpp>
#include <set>

#include "recording_files.hpp"
#include "tool.hpp"
#include "warpbit/recording.hpp"

namespace pack_recordings_test {

using namespace warpbit;
using namespace recording_files;
using archive::Directory;
using Catch::Contains;

const json kOne = launch("one", list({pointer(0x1000)}), list({part("0x1000", 4, "x.before", "x.after")}));
const Data kOneData = {
    {"k.ptx", "one"}, {"x.before", "1234"}, {"x.after", "5678"}, {"unused", "?"}, {"nothing", ""}};

std::string data_of(const Recording& recording, const std::string& name) {
  const std::vector<std::byte> bytes = required(recording.data(name));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The object of a record.
json record_of(const Recording& recording, const std::string& name) {
  const Record* const record = recording.find(name);
  INFO(name);
  REQUIRE(record != nullptr);
  return json::parse(record->text);
}

PackedRecording packed(const std::vector<fs::path>& from, const fs::path& to) {
  std::vector<Recording> recordings;
  for (const fs::path& path : from) recordings.push_back(required(Recording::open(path)));
  return required(pack_recordings(recordings, to));
}

TEST_CASE("a recording is packed into an archive and into a folder, and keeps what it says") {
  const Directory directory;
  json one = kOne, first = header();
  one["colour"] = "red", first["fan"] = 3;
  one["variables"] = list({{{"name", "v"}, {"before", "nothing"}}});
  const fs::path folder = write_folder(directory.path / "x", lines({one}, first), kOneData),
                 zip = directory.path / "x.zip", again = directory.path / "again.zip",
                 back = directory.path / "back";
  const PackedRecording done = packed({folder}, zip);
  CHECK((done.records == 1 && done.data_files == 4 && done.data_bytes == 11));
  packed({zip}, again);
  CHECK(archive::bytes_of(zip) == archive::bytes_of(again));
  packed({zip}, back);
  CHECK(archive::bytes_of(back / "data" / "x.after") == "5678");
  CHECK_FALSE(fs::exists(back / "data" / "unused"));
  for (const fs::path& path : {zip, back}) {
    const Recording recording = required(Recording::open(path));
    CHECK(json::parse(recording.header().text) == first);
    CHECK(record_of(recording, "one") == one);
    CHECK(data_of(recording, "k.ptx") == "one");
  }
}

TEST_CASE("several become one: equal data once, each name once, other targets said") {
  const Directory directory;
  json two = kOne, first = header(), second = header("sm_80");
  two["memory"] = list({part("0x1000", 4, "x.after", "y")});
  first.update({{"device", "H100"}, {"date", "today"}});
  second.update({{"program", "another"}, {"date", "today"}});
  const json product = recording_files::product();
  const fs::path x = write_folder(directory.path / "x", lines({kOne}, first), kOneData),
                 y = write_zip(
                     directory.path / "y.zip", lines({two, product}, second),
                     {{"k.ptx", "two"}, {"x.after", "1234"}, {"y", "9999"}, {"ones", "1111"}, {"d", "9999"}}),
                 to = directory.path / "all.zip";
  const PackedRecording done = packed({x, y}, to);
  CHECK((done.records == 3 && done.data_files == 6 && done.data_bytes == 22));
  const Recording all = required(Recording::open(to));
  CHECK(json::parse(all.header().text) == json{{"format", "recording-1"},
                                               {"target", "sm_90a"},
                                               {"source", "hardware"},
                                               {"program", "a test; another"},
                                               {"device", "H100"},
                                               {"date", "today"}});
  CHECK(record_of(all, "one") == kOne);
  json expected = two;
  expected.update({{"name", "one.2"}, {"module", "k.ptx.2"}, {"target", "sm_80"}});
  expected["memory"][0]["before"] = "x.before";
  CHECK(record_of(all, "one.2") == expected);
  CHECK((data_of(all, "k.ptx") == "one" && data_of(all, "k.ptx.2") == "two" && data_of(all, "y") == "9999"));
  CHECK(record_of(all, "p").at("d").at("data") == "y");
}

TEST_CASE("what cannot be packed is refused") {
  const Directory directory;
  json model = header();
  model["source"] = "model";
  const Recording x = required(Recording::open(write_folder(directory.path / "x", lines({kOne}), kOneData))),
                  lacking = required(Recording::open(write_folder(directory.path / "y", lines({kOne}), {}))),
                  other = required(Recording::open(write_folder(directory.path / "z", lines({}, model), {})));
  const fs::path to = directory.path / "all.zip";
  CHECK_THAT(pack_recordings({}, to).error().message(), Contains("no recordings; expected at least one"));
  CHECK_THAT(pack_recordings(std::vector{x, other}, to).error().message(),
             Contains("'source': 'model'; expected 'hardware', as of the first"));
  CHECK_THAT(pack_recordings(std::vector{lacking}, to).error().message(), Contains("cannot be read"));
  CHECK_FALSE(fs::exists(to));
  const auto full = pack_recordings(std::vector{x}, directory.path / "x");
  REQUIRE_FALSE(full);
  CHECK(full.error().code == Errc::file_unwritable);
  CHECK_THAT(full.error().message(), Contains("it is there already"));
}

TEST_CASE("pack and list are commands for recordings, too") {
  const Directory directory;
  json unstable = kOne, bare = kOne;
  unstable.update({{"name", "two"}, {"stable", false}});
  bare.update({{"name", "three"}, {"stable", true}});
  bare.erase("module");
  const std::string
      x = write_folder(
              directory.path / "x",
              lines({unstable,
                     bare,
                     {{"kind", "copy"}, {"name", "c"}, {"to", "0x10"}, {"bytes", 3}, {"data", "k.ptx"}},
                     {{"kind", "dance"}, {"name", "d"}}}),
              kOneData)
              .string(),
      to = (directory.path / "all.zip").string();
  const tool::Output done = tool::run({"pack", x, "golden/kernels/scan.zip", to});
  INFO(done.err);
  CHECK(done.status == 0);
  const Recording scan = required(Recording::open("golden/kernels/scan.zip"));
  CHECK_THAT(done.out, Catch::StartsWith("packed: 2 recordings, 5 records, "));
  CHECK(data_of(required(Recording::open(to)), "kernel.ptx") == data_of(scan, "kernel.ptx"));
  const tool::Output list = tool::run({"list", x});
  CHECK(list.status == 0);
  CHECK(list.lines()[0] == "a test, sm_90a");
  const tool::Output csv = tool::run({"list", x, "--csv"});
  CHECK(csv.out ==
        "kind,kernel,records,bytes,stable,PTX\ncopy,,1,3,,\ndance,,1,0,,\nlaunch,k,2,8,1 of 2,1 of 2\n");
  const json parsed = json::parse(tool::run({"list", to, "--json"}).out);
  CHECK(parsed["program"] == "a test; tools/capture/record_kernels.py --only scan");
  REQUIRE(parsed["kernels"].size() == 4);
  CHECK(parsed["kernels"][2]["with_ptx"] == 1);
  CHECK_THAT(tool::run({"pack", x, "golden/sm_90a/ldmatrix", to}).err,
             Contains("captures alone, or recordings"));
  CHECK_THAT(tool::run({"pack", x, to, "--bytes", "5"}).err,
             Contains("--bytes: recordings; expected captures"));
  CHECK_THAT(tool::run({"pack", x, x + "/data/new"}).err, Contains("a folder outside it"));
}

}  // namespace pack_recordings_test
