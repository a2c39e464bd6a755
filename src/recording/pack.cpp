// SPDX-License-Identifier: Apache-2.0
// Recordings written anew: as a folder or an archive, several as one, equal data once.
#include <fmt/format.h>

#include <algorithm>
#include <functional>  // hash
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "capture/new_archive.hpp"
#include "capture/text.hpp"
#include "capture/whole_file.hpp"
#include "recording/fields.hpp"

namespace warpbit {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using Bytes = std::vector<std::byte>;

std::string_view as_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Members that name data, in records of any kind.
bool names_data(std::string_view member) {
  return member == "module" || member == "before" || member == "after" || member == "data";
}

/// A name that is not in `taken`, and is then: with a number behind it if others have it.
std::string new_name(const std::string& name, std::unordered_set<std::string>& taken) {
  std::string out = name;
  for (int i = 2; !taken.insert(out).second; ++i) out = fmt::format("{}.{}", name, i);
  return out;
}

/// What is written, in memory.
class Pack {
 public:
  explicit Pack(const RecordingHeader& header)
      : target_(header.target), header_(ordered_json::parse(header.text)) {}

  /// Members of headers that differ have all their texts.
  void add_header(const RecordingHeader& header) {
    const ordered_json other = ordered_json::parse(header.text);
    for (const char* const member : {"program", "device", "driver", "toolkit", "date"}) {
      const auto found = other.find(member);
      if (found == other.end() || !found->is_string()) continue;
      const std::string text = found->get<std::string>(), known = header_.value(member, "");
      if (("; " + known + "; ").find("; " + text + "; ") == known.npos)
        header_[member] = known.empty() ? text : known + "; " + text;
    }
  }

  /// Adds all records with their data. Throws Malformed.
  void add(const Recording& recording) {
    std::unordered_map<std::string, std::string> data_names;
    for (const Record& record : recording.records()) {
      ordered_json object = ordered_json::parse(record.text);
      object["name"] = new_name(record.name, names_);
      if (recording.header().target != target_ && !object.contains("target"))
        object["target"] = recording.header().target;
      add_data(recording, object, data_names);
      lines_ += object.dump() + "\n";
      ++records_;
    }
  }

  std::size_t records() const { return records_; }
  std::string lines() const { return header_.dump() + "\n" + lines_; }
  const std::map<std::string, Bytes>& data() const { return data_; }

 private:
  // The data that are named in a value, under the names that they have here.
  void add_data(const Recording& recording, ordered_json& value,
                std::unordered_map<std::string, std::string>& data_names) {
    if (!value.is_structured()) return;
    for (const auto& [member, inner] : value.items()) {
      if (value.is_object() && names_data(member) && inner.is_string()) {
        std::string& name = data_names[inner.get<std::string>()];
        if (name.empty()) name = keep(recording, inner.get<std::string>());
        inner = name;
      }
      add_data(recording, inner, data_names);
    }
  }

  // The name of these bytes here.
  std::string keep(const Recording& recording, const std::string& name) {
    Result<Bytes> bytes = recording.data(name);
    if (!bytes) throw recording::Malformed{bytes.error()};
    const std::size_t hash = std::hash<std::string_view>()(as_text(*bytes));
    const auto [first, last] = by_hash_.equal_range(hash);
    const auto same =
        std::find_if(first, last, [&](const auto& one) { return data_.at(one.second) == *bytes; });
    if (same != last) return same->second;
    std::string out = new_name(name, data_names_);
    by_hash_.emplace(hash, out);
    data_.emplace(out, *std::move(bytes));
    return out;
  }

  std::string target_;
  ordered_json header_;
  std::string lines_;
  std::size_t records_ = 0;
  std::unordered_set<std::string> names_, data_names_;
  std::map<std::string, Bytes> data_;
  std::unordered_multimap<std::size_t, std::string> by_hash_;
};

Result<void> write_archive(const fs::path& to, const Pack& pack) {
  const std::string lines = pack.lines();
  std::vector<capture::NewMember> members = {{std::string(Recording::kLines), lines, {}}};
  for (const auto& [name, bytes] : pack.data()) members.push_back({"data/" + name, "", bytes});
  const Result<Bytes> archive = capture::zipped(members, to.string());
  if (!archive) return archive.error();
  return capture::write_whole_file(to, *archive);
}

// The lines come last: a folder that has them has all data.
Result<void> write_folder(const fs::path& to, const Pack& pack) {
  std::error_code error;
  if (fs::exists(to, error) && !fs::is_empty(to, error))
    return Error{Errc::file_unwritable, to.string(), "it is there already", "a new folder, or an empty one"};
  fs::create_directories(to / "data", error);
  if (error) return Error{Errc::file_unwritable, to.string(), error.message(), ""};
  for (const auto& [name, bytes] : pack.data())
    if (const auto done = capture::write_whole_file(to / "data" / name, bytes); !done) return done.error();
  const std::string lines = pack.lines();
  return capture::write_whole_file(to / Recording::kLines, std::as_bytes(std::span(lines)));
}

}  // namespace

Result<PackedRecording> pack_recordings(std::span<const Recording> recordings, const fs::path& to) {
  if (recordings.empty()) return Error{Errc::record_malformed, to.string(), "no recordings", "at least one"};
  const auto packed = recording::reading([&] {
    Pack out(recordings[0].header());
    for (const Recording& one : recordings) {
      if (one.header().source != recordings[0].header().source)
        throw recording::Malformed{{Errc::record_malformed, one.path().string() + ": 'source'",
                                    capture::quoted(name(one.header().source)),
                                    fmt::format("'{}', as of the first", name(recordings[0].header().source))}};
      out.add_header(one.header());
      out.add(one);
    }
    return out;
  });
  if (!packed) return packed.error();
  const auto done = to.extension() == ".zip" ? write_archive(to, *packed) : write_folder(to, *packed);
  if (!done) return done.error();
  PackedRecording out{packed->records(), packed->data().size(), 0};
  for (const auto& [name, bytes] : packed->data()) out.data_bytes += bytes.size();
  return out;
}

}  // namespace warpbit
