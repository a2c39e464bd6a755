// SPDX-License-Identifier: Apache-2.0
#include "cli/junit.hpp"

#include <fmt/format.h>

#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

// &, < and the like as XML has them; what XML cannot hold as \xNN.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    const char* const entity = c == '&'   ? "&amp;"
                               : c == '<' ? "&lt;"
                               : c == '>' ? "&gt;"
                               : c == '"' ? "&quot;"
                                          : nullptr;
    entity != nullptr ? out += entity : out += c;
  }
  return out;
}

}  // namespace

std::string junit_text(std::string_view suite, const std::vector<JunitCase>& cases) {
  std::string text;
  std::size_t failures = 0, errors = 0, skipped = 0;
  for (const JunitCase& one : cases) {
    failures += one.word == "failure";
    errors += one.word == "error";
    skipped += one.word == "skipped";
    text += fmt::format("  <testcase classname=\"{}\" name=\"{}\"", xml(one.group), xml(one.name));
    text += one.word.empty() ? "/>\n"
                             : fmt::format("><{} message=\"{}\"/></testcase>\n", one.word, xml(one.message));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\" skipped=\"{}\">\n{}</testsuite>\n",
      suite, cases.size(), failures, errors, skipped, text);
}

}  // namespace warpbit::cli
