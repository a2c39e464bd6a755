// SPDX-License-Identifier: Apache-2.0
// Records launches: memory before, the launch, memory after, a second run from the same memory.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "json.hpp"
#include "launch.hpp"
#include "lines.hpp"
#include "memory.hpp"
#include "modules.hpp"
#include "options.hpp"
#include "writer.hpp"

namespace warpbit::record {

class Recorder {
 public:
  /// False if there is no driver.
  bool start() { return driver.open(); }

  // ---- Launches: `before` is true if `after` must follow, on the same thread; the recorder is locked between them.

  bool before(const Launch& launch) {
    const std::shared_ptr<Function> function = wanted(launch);
    if (function == nullptr) return false;
    if (is_capturing(launch.stream)) return false;
    const Inside inside(driver);
    std::vector<Part> hints = this_thread().hints;
    Pending pending{launch, function, parameters_of(launch, *function), {}, {}};
    reach(pending, hints);
    mutex_.lock();
    pending_ = std::move(pending);
    if (!open()) {
      mutex_.unlock();
      return false;
    }
    if (!read_before()) pending_.parts.clear();
    return true;
  }

  void after(const Launch& launch, int result) {
    const Inside inside(driver);
    if (result != 0) {
      writer.left_out("launches that the driver refused");
    } else {
      pending_.launch = launch;
      finish_launch();
    }
    mutex_.unlock();
  }

  // ---- What the hooks ask

  bool wants(void* handle) {
    const ThreadState& thread = this_thread();
    if (!options.has_kernels || thread.paused > 0 || thread.is_collecting) return false;
    const Inside inside(driver);
    return modules.find(handle, nullptr)->is_wanted;
  }

  /// The data file of GPU memory; empty if it cannot be read.
  std::string take(Address address, std::size_t bytes, bool is_kept) {
    const Inside inside(driver);
    const std::lock_guard lock(mutex_);
    const std::vector<Part> parts{{address, bytes, {}, false, 0}};
    unsigned char* const to = before_.get(driver, bytes);
    if (to == nullptr || driver.synchronize() != 0 || !open() || memory_.read(parts, to) != 0) return "";
    return is_kept ? writer.data(to, bytes) : hex_of(hash_of(to, bytes));
  }

  /// Whether a record of that many bytes is within the limits.
  bool has_room(std::uint64_t bytes) {
    if (writer.tally.bytes >= options.bytes) return writer.left_out("records over the budget of bytes"), false;
    if (bytes > options.bytes_of_launch)
      return writer.left_out("products and copies over the limit of bytes (--record-bytes)"), false;
    return !writer.has_failed();
  }

  void product(const std::string& op, const std::string& members) {
    const std::lock_guard lock(mutex_);
    if (!open()) return;
    line("product", op, members);
    ++writer.tally.products;
  }

  // ---- Copies

  void copied(Address to, std::size_t bytes, const std::string& members, void* stream) {
    if (driver.is_capturing != nullptr && stream != nullptr && is_capturing(stream)) return;
    const std::lock_guard lock(mutex_);
    if (!open()) return;
    if (writer.tally.bytes >= options.bytes) return writer.left_out("records over the budget of bytes");
    JsonObject object;
    object.add("to", quoted_address(to)).add("bytes", bytes);
    line("copy", "copy", object.str(), members);
    ++writer.tally.copies;
  }

  /// The process `pid`, not a child of it, ends.
  void ended(pid_t pid) {
    if (pid == getpid() && owner_ != 0) {
      if (owner_ == -1) writer.show_in(options.status);
      owner_ = 0;
      writer.finish();
    }
  }

  /// Opens the folder with the first record. False if nothing can be recorded any more.
  bool open() {
    const std::lock_guard lock(opening_);
    if (owner_ != -1) return owner_ != 0 && owner_ == getpid() && !writer.has_failed();
    if (options.out.empty() || !writer.open(options.out, options.status)) {
      std::fprintf(stderr, "warpbit record: no folder can be made at '%s': nothing is recorded\n",
                   options.out.c_str());
      owner_ = 0;
      return false;
    }
    owner_ = getpid();
    on_open();
    writer.line(header_json(driver, options));
    return true;
  }

  const Options options;
  Driver driver;
  Modules modules{driver, options};
  Writer writer;
  FindBlock* find_block = nullptr;
  void (*on_open)() = [] {};

 private:
  std::shared_ptr<Function> wanted(const Launch& launch) {
    ThreadState& thread = this_thread();
    if (thread.inside > 0) return nullptr;
    if (thread.is_collecting) {
      const Inside inside(driver);
      JsonObject kernel;
      const char* name = launch.symbol;
      if (name == nullptr && driver.function_name != nullptr) driver.function_name(&name, launch.handle);
      kernel.add("name", quoted(demangled(name != nullptr ? name : ""))).add("grid", json_extent(launch.grid));
      thread.collected.add(kernel.str());
      return nullptr;
    }
    if (thread.paused > 0 || !options.has_kernels || owner_ == 0) return nullptr;
    const Inside inside(driver);
    std::shared_ptr<Function> function = modules.find(launch.handle, launch.symbol);
    if (!function->is_wanted) {
      if (function->launches > 0) writer.left_out(kFirst);
      return nullptr;
    }
    if (writer.tally.bytes >= options.bytes) {
      writer.left_out("records over the budget of bytes");
      return nullptr;
    }
    ++function->launches;
    if (modules.counts(*function)) return function;
    function->is_wanted = false;
    writer.left_out(kFirst);
    return nullptr;
  }

  bool is_capturing(void* stream) {
    int state = 0;
    const Inside inside(driver);
    if (driver.is_capturing == nullptr || driver.is_capturing(stream, &state) != 0 || state == 0) return false;
    writer.left_out("launches and copies while a CUDA graph was captured");
    return true;
  }

  // ---- Memory

  void reach(Pending& p, const std::vector<Part>& hints) {
    const Function& function = *p.function;
    if (function.ptx == nullptr) p.reason = function.reason;
    if (driver.function_parameter == nullptr)
      p.reason = "the driver does not tell parameters; from CUDA 12.4 on it does";
    if (!p.reason.empty() && !options.opaque) return;
    p.parts = hints;
    for (std::size_t i = 0; i < function.sizes.size(); ++i)
      for (std::size_t at = 0; at + 8 <= function.sizes[i]; at += 8) {
        Address word = 0;
        std::memcpy(&word, p.parameters.data() + function.offsets[i] + at, 8);
        add_allocation(word, p.parts, find_block);
      }
    if (function.ptx != nullptr && function.module != nullptr && driver.module_global != nullptr)
      for (const std::string& name : function.ptx->variables) {
        Part part;
        if (driver.module_global(&part.address, &part.bytes, function.module, name.c_str()) != 0) continue;
        part.name = name;
        part.is_variable = true;
        p.parts.push_back(std::move(part));
      }
    p.parts = merged(std::move(p.parts));
  }

  void add_allocation(Address word, std::vector<Part>& parts, FindBlock* find) const {
    Part part;
    if (covers(parts, word) || !memory_.allocation(word, part)) return;
    Address start = 0;
    std::uint64_t bytes = 0;
    if (find != nullptr && part.bytes > kSmall && find(word, &start, &bytes) != 0 && bytes > 0) {
      part.address = start;
      part.bytes = bytes;
    }
    parts.push_back(std::move(part));
  }

  // What the words in memory point to that is not among the parts; with --follow it becomes a part.
  bool follow(Pending& p, const unsigned char* bytes) {
    Address low = ~Address{0}, high = 0;
    for (const Part& part : p.parts) {
      low = std::min(low, part.address);
      high = std::max(high, part.end());
    }
    constexpr Address kNear = Address{1} << 38;  // allocations of a process lie near each other
    low -= std::min(low, kNear);
    high += kNear;
    std::vector<Part> found;
    const std::vector<Part> parts = p.parts;
    for (const Part& part : parts) {
      const std::size_t most = options.follow ? part.bytes : std::min(part.bytes, kSmall);
      for (std::size_t at = 0; at + 8 <= most; at += 8) {
        Address word = 0;
        std::memcpy(&word, bytes + part.at + at, 8);
        if (word < low || word > high || covers(parts, word) || covers(found, word)) continue;
        add_allocation(word, found,
                       nullptr);  // whoever is asked may wait for the thread that waits for this one
      }
    }
    p.points_elsewhere = !found.empty() && !options.follow;
    if (found.empty() || !options.follow) return false;
    p.parts.insert(p.parts.end(), found.begin(), found.end());
    p.parts = merged(std::move(p.parts));
    return true;
  }

  bool read_before() {
    Pending& p = pending_;
    if (p.parts.empty()) return true;
    if (const int code = driver.synchronize(); code != 0) return fails("the program had failed before: ", code);
    for (bool again = true; again;) {
      const std::size_t size = Memory::place(p.parts);
      if (size > options.bytes_of_launch) {
        p.reason = "memory of " + std::to_string(size) + " bytes is over the limit";
        return false;
      }
      unsigned char* const to = before_.get(driver, size);
      if (to == nullptr || after_.get(driver, size) == nullptr) return fails("no memory of the host: ", 2);
      if (const int code = memory_.read(p.parts, to); code != 0)
        return fails("its memory cannot be read: ", code);
      again = follow(p, to) && !std::exchange(p.has_followed, true);
    }
    return true;
  }

  bool fails(const char* why, int code) {
    pending_.reason = why + std::string(driver.error(code));
    return false;
  }

  // ---- Behind the launch

  void finish_launch() {
    Pending& p = pending_;
    Outcome out{before_.get(driver, 0), after_.get(driver, 0), {}, true, ""};
    unsigned char* const after = after_.get(driver, 0);
    // A launch of which no memory is known is not waited for.
    int code = p.parts.empty() ? 0 : driver.synchronize();
    if (code != 0) out.is_known = fails("the kernel failed: ", code);
    if (out.is_known && !p.parts.empty()) {
      code = memory_.read(p.parts, after);
      if (code != 0) out.is_known = fails("its memory cannot be read: ", code);
      if (out.is_known) out.changed = different(p.parts, out.before, after);
      if (out.is_known && can_run_again()) out.stable = run_again(out.changed, out.before, after);
    }
    line("launch", p.function->entry, launch_json(p, out, writer));
    ++writer.tally.launches;
  }

  static std::vector<Part> different(const std::vector<Part>& parts, const unsigned char* a,
                                     const unsigned char* b) {
    std::vector<Part> out;
    for (const Part& part : parts)
      if (std::memcmp(a + part.at, b + part.at, part.bytes) != 0) out.push_back(part);
    return out;
  }

  bool can_run_again() const {
    const Pending& p = pending_;
    return options.again && p.function->ptx != nullptr && !p.function->ptx->has_side_effects &&
           !p.points_elsewhere;
  }

  // Whether a second run left the same: "true", "false", or nothing if it could not run. Memory is then as the first run
  // left it.
  std::string run_again(const std::vector<Part>& changed, const unsigned char* before,
                        const unsigned char* after) {
    const Pending& p = pending_;
    unsigned char* const again = again_.get(driver, p.parts.back().at + p.parts.back().bytes);
    if (again == nullptr || memory_.write(changed, before) != 0) return "";
    const bool ran =
        launch_again(p.launch) == 0 && driver.synchronize() == 0 && memory_.read(p.parts, again) == 0;
    const std::vector<Part> other = ran ? different(p.parts, after, again) : changed;
    if (!other.empty()) memory_.write(other, after);
    return !ran ? "" : other.empty() ? "true" : "false";
  }

  int launch_again(const Launch& l) {
    void* const stream = memory_.stream();
    if (l.config != nullptr) {
      std::vector<LaunchAttribute> kept;
      for (unsigned i = 0; i < l.config->count; ++i)
        for (const int id : {kCooperative, kClusterDimension, kClusterPolicy, kPreferredCluster})
          if (l.config->attributes[i].id == id) kept.push_back(l.config->attributes[i]);
      LaunchConfig config = *l.config;
      config.stream = stream;
      config.attributes = kept.data();
      config.count = static_cast<unsigned>(kept.size());
      return driver.launch_ex(&config, l.handle, l.parameters, l.extra);
    }
    const auto &g = l.grid, &b = l.block;
    return l.is_cooperative ? driver.launch_cooperative(l.handle, g[0], g[1], g[2], b[0], b[1], b[2], l.shared,
                                                        stream, l.parameters)
                            : driver.launch(l.handle, g[0], g[1], g[2], b[0], b[1], b[2], l.shared, stream,
                                            l.parameters, l.extra);
  }

  // With the lock. Members of objects, as they are written.
  void line(const std::string& kind, const std::string& stem, const std::string& a,
            const std::string& b = "{}") {
    JsonObject object;
    object.add("kind", quoted(kind)).add("name", quoted(std::to_string(++count_) + "." + stem.substr(0, 100)));
    std::string text = object.str();
    text.pop_back();
    for (const std::string& members : {a, b})
      if (members.size() > 2) text += "," + members.substr(1, members.size() - 2);
    writer.line(text + "}");
  }

  static constexpr const char* kFirst = "launches after the first of each code (--first)";
  static constexpr std::size_t kSmall = std::size_t{1} << 20;

  std::recursive_mutex mutex_;
  std::mutex opening_;
  std::atomic<pid_t> owner_{-1};  // -1: nothing is open yet; 0: nothing more is recorded
  std::uint64_t count_ = 0;
  Memory memory_{driver};
  Staging before_, after_, again_;
  Pending pending_;
};

}  // namespace warpbit::record
