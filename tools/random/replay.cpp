// SPDX-License-Identifier: Apache-2.0
// Random kernels without a GPU, beside what record.py wrote.
//
//     random_replay DIGESTS.tsv [--list]      equal and all, by kind, at -O0 and -O3; the kernels that differ
//     random_replay --try KIND FIRST COUNT    errors and faults
//     random_replay --ptx KIND SEED           the module
//     random_replay --words KIND SEED O0|O3   what it leaves, as bytes of u32
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "recorded.hpp"

namespace {

using namespace random_kernels;

/// Calls function(i) for 0 to count - 1, on all processors.
template <class Function>
void share(std::size_t count, Function function) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < count;) function(i);
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
}

struct Line : Recorded {
  std::array<std::string, 2> said = {};  ///< at -O0, at -O3; "": equal
};

void compare(Line& line) {
  const Kind* const kind = find_kind(line.kind);
  if (!kind) {
    line.said[0] = line.said[1] = "no such kind";
    return;
  }
  Loaded kernel(*kind, line.seed);
  for (const std::size_t level : {0, 1}) {
    const std::optional<Words> words = kernel.run(level == 0);
    if (is_equal(line, level, words)) continue;
    line.said[level] = words ? "differs" : kernel.said();
    std::set<std::string> defects;
    for (const warpbit::ptx::AssemblerNote& note : kernel.notes()) defects.insert(note.defect);
    for (const std::string& one : defects) line.said[level] += "; defect " + one;
  }
}

int replay(const char* path, bool list) {
  std::vector<Line> lines;
  for (const Recorded& one : recorded(path)) lines.push_back({one, {}});
  share(lines.size(), [&](std::size_t i) { compare(lines[i]); });
  struct Count {
    int all[2] = {0, 0}, equal[2] = {0, 0};
  };
  std::map<std::string, Count> counts;
  for (const Line& line : lines)
    for (const std::size_t level : {0, 1})
      if (line.digests[level].size() == 16) {
        ++counts[line.kind].all[level];
        counts[line.kind].equal[level] += line.said[level].empty();
      }
  for (const auto& [kind, count] : counts)
    std::printf("%-12s O0 %5d of %5d   O3 %5d of %5d\n", kind.c_str(), count.equal[0], count.all[0],
                count.equal[1], count.all[1]);
  for (const Line& line : lines)
    for (const std::size_t level : {0, 1})
      if (list && !line.said[level].empty())
        std::printf("%s %llu %s %s\n", line.kind.c_str(), static_cast<unsigned long long>(line.seed),
                    level ? "O3" : "O0",
                    line.digests[level].size() == 16 ? line.said[level].c_str() : line.digests[level].c_str());
  return 0;
}

int attempt(const Kind& kind, std::uint64_t first, std::uint64_t count) {
  std::mutex printing;
  std::size_t failed = 0;
  share(count, [&](std::size_t i) {
    Loaded kernel(kind, first + i);
    const bool ran = kernel.run(false) && kernel.run(true);
    const std::scoped_lock lock(printing);
    failed += !ran;
    if (!ran) std::cout << kind.name << ' ' << first + i << ": " << kernel.said() << '\n';
  });
  std::cout << kind.name << ": " << count - failed << " of " << count << " run\n";
  return failed > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (argc == 2 || (argc == 3 && std::string_view(argv[2]) == "--list")) return replay(argv[1], argc == 3);
  const Kind* const kind = argc >= 4 ? find_kind(argv[2]) : nullptr;
  if (!kind) return 2;
  const std::uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  if (word == "--try" && argc == 5) return attempt(*kind, seed, std::strtoull(argv[4], nullptr, 10));
  Loaded kernel(*kind, seed);
  if (word == "--ptx") {
    std::cout << kernel.text();
    return 0;
  }
  const std::optional<Words> words = kernel.run(argc == 5 && std::string_view(argv[4]) == "O0");
  if (!words) {
    std::cerr << kernel.said() << '\n';
    return 1;
  }
  std::cout.write(reinterpret_cast<const char*>(words->data()),
                  static_cast<std::streamsize>(4 * words->size()));
  return 0;
}
