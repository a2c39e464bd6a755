// SPDX-License-Identifier: Apache-2.0
// Replaying captures.
#include "warpbit/verify.hpp"

#include "records.hpp"
#include "warpbit/format.hpp"

namespace warpbit::python {
namespace {

void add_reports(py::module_& m) {
  auto mismatch =
      add_record(m, "Mismatch", "An element whose bits differ, or of digests a block of cases.",
                 field("index", &Mismatch::index, "The case; of the layouts elements and scalars the element."),
                 field("cases", &Mismatch::cases, "Of a block, the first of which is `index`; else 0."),
                 field("name", &Mismatch::name, "What the case probes, if the file says so."),
                 field("lane", &Mismatch::lane, "In the layout registers, else -1."),
                 field("reg", &Mismatch::reg, "In the layout registers, else -1."),
                 field("row", &Mismatch::row, "In D; -1 in the layout elements."),
                 field("column", &Mismatch::column, "In D; -1 in the layout elements."),
                 field("product", &Mismatch::product, "Which of the products side by side."),
                 field("address", &Mismatch::address, "Of a byte that a store wrote; else -1."),
                 field("expected", &Mismatch::expected, "The code in the file."),
                 field("got", &Mismatch::got, "The code that was computed."),
                 field("format", &Mismatch::format, "The format of both."));
  mismatch.def("__str__", [](const Mismatch& x) { return text(x); });
  auto report = add_record(
      m, "FileReport", "What became of one file, or of one record of a recording.",
      field("path", &FileReport::path, "The file."),
      field("kind", &FileReport::kind,
            "Of the record: \"launch\", \"product\", ...; of a capture \"instruction\"."),
      field("record", &FileReport::record, "The name of the record; empty for a capture."),
      field(
          "status", &FileReport::status,
          "\"replayed\", \"other_shard\", \"unsupported\", \"unreadable\", \"fault\" or \"not_reproducible\"."),
      field("error", &FileReport::error, "Why it is not \"replayed\": an Error that is not raised, or None."),
      field("header", &FileReport::header, "As far as it could be read."),
      field("target", &FileReport::target, "As which it was replayed."),
      field("cases", &FileReport::cases, "That were compared."),
      field("elements", &FileReport::elements, "That were compared."),
      field("mismatches", &FileReport::mismatches, "Elements that differ; of digests blocks."),
      field("masked", &FileReport::masked, "Elements that the file's mask excludes."),
      field("inferred", &FileReport::inferred, "Whether the arithmetic rests on no hardware result."),
      field("may_differ", &FileReport::may_differ,
            "Of a launch: what differs may do so, as the order of atomics."),
      field("findings", &FileReport::findings, "Of a launch: broken rules behind which it went on."),
      field("details", &FileReport::details, "The first mismatches."),
      field("notes", &FileReport::notes, "Members that were ignored; of a record all that is said."));
  set_repr(report, [](const FileReport& r) {
    return "FileReport of " + r.path.string() + ": " +
           (r.error
                ? r.error->message()
                : std::to_string(r.mismatches) + " mismatches in " + std::to_string(r.elements) + " elements");
  });
  auto totals = add_record(
      m, "ReplayTotals", "Many files together.", field("files", &ReplayTotals::files, "Files."),
      field("cases", &ReplayTotals::cases, "Cases."), field("elements", &ReplayTotals::elements, "Elements."),
      field("mismatches", &ReplayTotals::mismatches, "Elements that differ."),
      field("unsupported", &ReplayTotals::unsupported, "Files that this library does not execute."),
      field("unreadable", &ReplayTotals::unreadable, "Files that are malformed."),
      field("other_shards", &ReplayTotals::other_shards, "Files in other shards."),
      field("records", &ReplayTotals::records, "Of the files, records of recordings."),
      field("may_differ", &ReplayTotals::may_differ, "Launches that differ, as they may."),
      field("faults", &ReplayTotals::faults, "Launches that end in a fault."),
      field("not_reproducible", &ReplayTotals::not_reproducible, "Records that lack what they need."));
  totals.def("__str__", &ReplayTotals::text);
  add_record(m, "DiffReport", "How the results of two captures compare.",
             field("cases", &DiffReport::cases, "Cases."),
             field("elements", &DiffReport::elements, "Elements."),
             field("differences", &DiffReport::differences, "Elements that differ."),
             field("details", &DiffReport::details, "The first; `expected` is of the first file."));
}

}  // namespace

Shard shard_of(Share share) {
  if (share.first < 1 || share.first > share.second)
    refuse(Errc::usage, "shard", std::to_string(share.first) + " of " + std::to_string(share.second),
           "(i, n) with 1 <= i <= n");
  return {share.first, share.second};
}

void add_replay(py::module_& m) {
  using Paths = std::variant<std::filesystem::path, std::vector<std::filesystem::path>>;
  add_reports(m);
  m.def(
      "verify",
      [](const Paths& given, const std::optional<TargetName>& target, Undefined undefined, std::size_t details,
         Share shard, std::uint64_t max_products, bool whole) {
        const auto* one = std::get_if<std::filesystem::path>(&given);
        const auto paths = one != nullptr ? std::vector{*one} : std::get<1>(given);
        VerifyOptions options{
            {target, {.max_products = max_products}, undefined, shard_of(shard), details, {}}};
        options.whole = whole;
        return interruptible([&] { return verify_all(find_verifiable(paths, options.read), options); });
      },
      "paths"_a, "target"_a = py::none(), "undefined"_a = Undefined::error,
      "details"_a = ReplayOptions{}.details, "shard"_a = Share{1, 1},
      "max_products"_a = ReadOptions{}.max_products, "whole"_a = false,
      R"(Executes captures and the records of recordings again and compares all bit for bit: a report for each
capture and record, of what is wrong, too.

paths: a file or a folder, or several; folders are searched for captures and recordings. target: instead of the one that the files
name. undefined: as in `execute`. details: how many mismatches of a file to describe. shard: (i, n), one of n
shares of the work. max_products: how many products a b (or elements moved or converted) are computed at most
for a file of digests, or for the shard of it; more is the error archive_too_large. whole: the records of a recording
are executed one after the other, each on the memory that those before have left here. The GIL is released.)");
  m.def(
      "totals",
      [](const std::vector<FileReport>& reports) {
        ReplayTotals out;
        for (const FileReport& report : reports) out.add(report);
        return out;
      },
      "reports"_a, "Reports together.");
  m.def(
      "merge_reports",
      [](const std::vector<std::vector<FileReport>>& shares, std::size_t details) {
        return merge_reports(shares, details);
      },
      "shares"_a, "details"_a = ReplayOptions{}.details,
      R"(The reports of the whole, from those of all shares of `verify`, in their order: what it returns without a
shard, given the same files and details. Error: usage.)");
  m.def(
      "diff",
      [](const std::filesystem::path& first, const std::filesystem::path& second, std::size_t details) {
        ReplayOptions options;
        options.details = details;
        return interruptible([&] { return diff(first, second, options); });
      },
      "first"_a, "second"_a, "details"_a = ReplayOptions{}.details,
      "Compares the results in two captures of the same inputs. Errors: those of reading; captures_differ.");
  m.def("code_text", &code_text, "format"_a, "code"_a,
        "\"0x3f800000 (1)\": a code in hexadecimal and as a number.");
}

}  // namespace warpbit::python
