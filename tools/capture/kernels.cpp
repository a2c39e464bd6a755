// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <fstream>
#include <sstream>

#include "driver.hpp"
#include "warpbit/inputs/text.hpp"

namespace capture {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), in_(path) {
    if (!in_) throw Failure(path + ": cannot be read");
  }

  KernelFile read() {
    KernelFile out;
    if (word_of("kernels") != "1") fail("a format that is not read here", "kernels 1");
    out.target = word_of("target");
    while (next())
      if (key_ == "set")
        out.sets.push_back({rest_, {}});
      else if (key_ == "probe" || key_ == "codes")
        add_to_set(out.sets);
      else if (key_ == "form")
        out.kernels.push_back({rest_, "", "", "", 0, {}});
      else if (out.kernels.empty())
        fail("'" + key_ + "' before the first form", "form");
      else
        add(out.kernels.back());
    for (const Kernel& kernel : out.kernels)
      if (kernel.ptx.empty() || kernel.members.empty() || !kernel.result().fills.empty() || kernel.lanes == 0)
        throw Failure(path_ + ": the block of " + kernel.statement + " is not complete");
      else
        check_probes(out, kernel);
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& seen, const std::string& accepted) const {
    throw Failure(path_ + ":" + std::to_string(line_) + ": " + seen + "; expected " + accepted);
  }

  bool next() {
    std::string line;
    if (!std::getline(in_, line)) return false;
    ++line_;
    const std::size_t blank = std::min(line.find(' '), line.size());
    key_ = line.substr(0, blank);
    rest_ = line.substr(std::min(blank + 1, line.size()));
    return true;
  }

  // The text behind a key that must come now.
  std::string word_of(const std::string& key) {
    if (!next() || key_ != key || rest_.empty()) fail("'" + key_ + "'", key + " ...");
    return rest_;
  }

  std::uint64_t number(const std::string& text) const {
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != text.npos)
      fail("'" + text + "'", "a number");
    return std::stoul(text);
  }

  // A line of the block of a kernel.
  void add(Kernel& kernel) {
    if (key_ == "statement")
      kernel.statement = rest_;
    else if (key_ == "file")
      kernel.file = rest_;
    else if (key_ == "lanes")
      kernel.lanes = static_cast<std::uint32_t>(number(rest_));
    else if (key_ == "member" || key_ == "result")
      kernel.members.push_back(member());
    else if (key_ == "fill")
      add_fill(kernel);
    else if (key_ == "ptx")
      kernel.ptx = lines(number(rest_));
    else if (key_ == "probes")
      kernel.probes = rest_;
    else if (key_ == "constant")
      kernel.constants.push_back(constant());
    else if (key_ == "place" || key_ == "places")
      kernel.places.push_back(places());
    else
      fail("'" + key_ + "'",
           "form, statement, file, lanes, member, fill, result, probes, constant, place, places or ptx");
  }

  // ---- Probes

  std::uint64_t hexadecimal(const std::string& text) const {
    if (text.empty() || text.size() > 16 || text.find_first_not_of("0123456789abcdef") != text.npos)
      fail("'" + text + "'", "a number in hex");
    return std::stoull(text, nullptr, 16);
  }

  void add_to_set(std::vector<ProbeSet>& sets) const {
    if (sets.empty() || (key_ == "codes" && sets.back().probes.empty()))
      fail("'" + key_ + "'", key_ == "codes" ? "probe before it" : "set before it");
    if (key_ == "probe") {
      sets.back().probes.push_back({rest_, {}});
      return;
    }
    std::istringstream words(rest_);
    std::string array, word;
    words >> array;
    while (words >> word) {
      const std::size_t colon = std::min(word.find(':'), word.size() - 1);
      sets.back().probes.back().codes.push_back(
          {array, number(word.substr(0, colon)), hexadecimal(word.substr(colon + 1))});
    }
  }

  Constant constant() const {
    std::istringstream words(rest_);
    std::string member, value;
    words >> member >> value;
    return {member, hexadecimal(value)};
  }

  Places places() const {
    std::istringstream words(rest_);
    Places out;
    std::string word;
    words >> out.member >> out.array >> word;
    out.is_vector = key_ == "places";
    out.bits = static_cast<int>(number(word));
    while (words >> word) out.at.push_back(number(word));
    return out;
  }

  // That every code has a place, and every place is in a member.
  void check_probes(const KernelFile& file, const Kernel& kernel) const {
    const auto refuse = [&](const std::string& what) {
      throw Failure(path_ + ": probes of " + kernel.statement + ": " + what);
    };
    const ProbeSet* set = file.probes_of(kernel);
    if (kernel.probes.empty()) return;
    if (set == nullptr) refuse("there is no set " + kernel.probes);
    for (const Constant& constant : kernel.constants)
      if (kernel.find(constant.member) == nullptr) refuse("there is no member " + constant.member);
    for (const Places& places : kernel.places) {
      const KernelMember* member = kernel.find(places.member);
      for (const std::uint64_t at : places.at)
        if (member == nullptr || places.bits < 1 || places.bits > 64 ||
            at + static_cast<std::uint64_t>(places.bits) > 8 * member->bytes())
          refuse("a place in " + places.member + " that is not there");
    }
    for (const Probe& probe : set->probes)
      for (const Probe::Code& code : probe.codes)
        if (const Places* places = kernel.places_of(code.array);
            places == nullptr || code.index >= places->at.size())
          refuse("a code of " + code.array + " without a place");
    if (kernel.places_of("d") == nullptr) refuse("d has no place");
  }

  KernelMember member() const {
    std::istringstream words(rest_);
    KernelMember out;
    std::string word;
    words >> out.name >> word;
    out.item_bytes = static_cast<int>(number(word));
    words >> word;
    out.register_bits = static_cast<int>(number(word));
    while (words >> word) out.extents.push_back(number(word));
    return out;
  }

  void add_fill(Kernel& kernel) const {
    const auto fill = warpbit::inputs::parse_member(rest_);
    if (!fill || kernel.members.empty()) fail("'" + rest_ + "'", "numbers of a member, behind its line");
    kernel.members.back().fills.push_back(*fill);
  }

  std::string lines(std::uint64_t count) {
    std::string out;
    for (; count > 0; --count) {
      std::string line;
      if (!std::getline(in_, line)) fail("the end of the file", std::to_string(count) + " more lines of PTX");
      ++line_;
      out += line + "\n";
    }
    return out;
  }

  std::string path_;
  std::ifstream in_;
  std::size_t line_ = 0;
  std::string key_, rest_;
};

}  // namespace

KernelFile read_kernels(const std::string& path) {
  return Reader(path).read();
}

}  // namespace capture
