// SPDX-License-Identifier: Apache-2.0
#include "warpbit/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "capture/archive.hpp"
#include "capture/text.hpp"
#include "capture/whole_file.hpp"
#include "recording/fields.hpp"

namespace warpbit {

namespace fs = std::filesystem;
using recording::Fields, recording::reading;

namespace {

constexpr std::string_view kFormat = "recording-1", kData = "data/";

/// Where the files of a recording are: in a folder, in an archive, or nowhere but the lines.
class Files {
 public:
  static Result<Files> open(const fs::path& path, std::uint64_t max_bytes) {
    Files out(path, max_bytes);
    if (std::error_code error; fs::is_directory(path, error) || path.extension() != ".zip") return out;
    Result<capture::Archive> archive = capture::Archive::open(path, max_bytes);
    if (!archive) return archive.error();
    for (const capture::Member& member : archive->members()) out.members_.emplace(member.name, &member);
    out.archive_ = std::make_unique<capture::Archive>(*std::move(archive));
    return out;
  }

  Result<std::vector<std::byte>> lines() const {
    std::error_code error;
    if (!archive_ && !fs::is_directory(path_, error)) return capture::read_whole_file(path_, max_bytes_);
    return read(std::string(Recording::kLines));
  }

  Result<std::vector<std::byte>> read(const std::string& name) const {
    if (!archive_) return capture::read_whole_file(path_ / name, max_bytes_);
    const auto found = members_.find(name);
    if (found == members_.end())
      return Error{Errc::file_unreadable, path_.string(), fmt::format("the archive has no '{}'", name), ""};
    const std::lock_guard lock(*mutex_);
    std::vector<std::byte> out(found->second->bytes);
    Result<capture::MemberStream> stream = archive_->stream(*found->second);
    if (!stream) return stream.error();
    if (const auto done = stream->read(out); !done) return done.error();
    if (const auto done = stream->finish(); !done) return done.error();
    return out;
  }

 private:
  Files(fs::path path, std::uint64_t max_bytes) : path_(std::move(path)), max_bytes_(max_bytes) {}

  fs::path path_;
  std::uint64_t max_bytes_;
  std::unique_ptr<capture::Archive> archive_;
  std::unordered_map<std::string, const capture::Member*> members_;
  std::unique_ptr<std::mutex> mutex_ =
      std::make_unique<std::mutex>();  // an archive is read by one thread at a time
};

// A name that stays in its folder.
bool is_file_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !name.empty() && name[0] != '.' && name.find_first_not_of(kLetters) == name.npos;
}

RecordingHeader read_header(const Fields& fields) {
  if (const std::string format = fields.text("format"); format != kFormat)
    fields.refuse("format", capture::quoted(format), fmt::format("'{}'", kFormat));
  RecordingHeader out{fields.text("target"),           CaptureSource::hardware,
                      fields.text_or_empty("program"), fields.text_or_empty("device"),
                      fields.text_or_empty("driver"),  fields.text_or_empty("toolkit"),
                      fields.text_or_empty("date"),    {}};
  const std::string source = fields.text("source");
  for (const CaptureSource one : {CaptureSource::hardware, CaptureSource::published, CaptureSource::model})
    if (source == name(one)) return out.source = one, out;
  fields.refuse("source", capture::quoted(source), "hardware, published or model");
}

// What a recording has in memory.
struct Contents {
  fs::path path;
  Files files;
  RecordingHeader header = {};
  std::vector<Record> records = {};
  std::vector<std::string> notes = {};
  std::unordered_map<std::string, std::size_t> by_name = {};

  void read_lines(std::string_view text);
  void add(std::string_view text, std::size_t line, const std::string& where);
};

void Contents::add(std::string_view text, std::size_t line, const std::string& where) {
  const Fields fields = Fields::parse(where, text);
  Record record{fields.text("kind"), fields.text("name"), line, std::string(text)};
  if (!by_name.emplace(record.name, records.size()).second)
    fields.refuse("name", fmt::format("{} a second time", capture::quoted(record.name)),
                  "a name that no other record has");
  records.push_back(std::move(record));
}

void Contents::read_lines(std::string_view text) {
  std::size_t line = 0;
  bool has_header = false;
  while (!text.empty()) {
    ++line;
    const std::size_t end = text.find('\n');
    if (end == text.npos) {
      notes.push_back(fmt::format("line {} has no end and is left out", line));
      break;
    }
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (one.find_first_not_of(" \t\r") == one.npos) continue;
    const std::string where = fmt::format("{}: line {}", path.string(), line);
    if (has_header) {
      add(one, line, where);
      continue;
    }
    header = read_header(Fields::parse(where, one));
    header.text = one;
    has_header = true;
  }
  if (!has_header)
    throw recording::Malformed{{Errc::record_malformed, path.string(), "no complete line", "a header"}};
}

}  // namespace

struct Recording::State : Contents {};

bool Recording::is_one(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return fs::exists(path / kLines, error);
  return path.extension() == ".zip" || path.extension() == ".jsonl";
}

Result<Recording> Recording::open(const fs::path& path, const ReadOptions& options) {
  Result<Files> files = Files::open(path, options.max_bytes);
  if (!files) return files.error();
  const Result<std::vector<std::byte>> lines = files->lines();
  if (!lines) return lines.error();
  const auto state = std::make_shared<State>(State{{path, *std::move(files)}});
  const auto done = reading([&] {
    state->read_lines({reinterpret_cast<const char*>(lines->data()), lines->size()});
    return true;
  });
  if (!done) return done.error();
  return Recording(state);
}

const fs::path& Recording::path() const {
  return state_->path;
}
const RecordingHeader& Recording::header() const {
  return state_->header;
}
std::span<const Record> Recording::records() const {
  return state_->records;
}
const Record* Recording::find(std::string_view name) const {
  const auto found = state_->by_name.find(std::string(name));
  return found == state_->by_name.end() ? nullptr : &state_->records[found->second];
}
std::span<const std::string> Recording::notes() const {
  return state_->notes;
}

Result<std::vector<std::byte>> Recording::data(std::string_view name) const {
  if (!is_file_name(name))
    return Error{Errc::record_malformed, state_->path.string(), "data " + capture::quoted(name),
                 "a name of letters, digits, '_', '-' and '.', with no '.' in front"};
  return state_->files.read(std::string(kData) + std::string(name));
}

}  // namespace warpbit
