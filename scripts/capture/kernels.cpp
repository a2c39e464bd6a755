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
      if (key_ == "form")
        out.kernels.push_back({rest_, "", "", "", 0, {}});
      else if (out.kernels.empty())
        fail("'" + key_ + "' before the first form", "form");
      else
        add(out.kernels.back());
    for (const Kernel& kernel : out.kernels)
      if (kernel.ptx.empty() || kernel.members.empty() || !kernel.result().fills.empty() || kernel.lanes == 0)
        throw Failure(path_ + ": the block of " + kernel.statement + " is not complete");
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
    else
      fail("'" + key_ + "'", "form, statement, file, lanes, member, fill, result or ptx");
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
