// SPDX-License-Identifier: Apache-2.0
// Captures (src/capture/FORMAT.md, layout `registers`) from a kernel of your own: around one instruction its
// lanes write into arrays what goes in and what comes out, and the host makes a file of these that `warpbit
// verify` replays. For nvcc -std=c++17 or later; example.cu uses all of it.
//
//   capture::Recording recording("mma.sync... {d}, {a}, {b}, {c};", "sm_90a",
//                                {capture::registers("a", 4), ..., capture::registers("d", 4)}, cases);
//   kernel<<<...>>>(..., recording.view());
//   recording.write("mine.npz", "my program");
//
//   __global__ void kernel(..., capture::View view) {
//     capture::Case record(view, number);  // by all lanes that execute the instruction together
//     record.put(0, a);                    // member 0 of the list
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "npz.hpp"
#include "provenance.hpp"

namespace capture {

constexpr int kMostMembers = 12;

/// An array of a capture: so many items of 1, 2, 4 or 8 bytes in each lane, or in each case.
struct Member {
  std::string name;
  std::uint32_t item_bytes, items;
  bool of_lanes, is_vector;
};

/// A vector of registers of 32 or 64 bits in each lane.
inline Member registers(std::string name, std::uint32_t count, std::uint32_t bits = 32) {
  return {std::move(name), bits / 8, count, true, true};
}
/// One 32-bit register of each lane: metadata, scale factors, an address.
inline Member lane_register(std::string name) {
  return {std::move(name), 4, 1, true, false};
}
/// What all lanes share: a stride (4 bytes), a descriptor (8), scale_d (1).
inline Member value(std::string name, std::uint32_t bytes) {
  return {std::move(name), bytes, 1, false, false};
}
/// Shared memory: `smem`, and `smem_out` of a store.
inline Member memory(std::string name, std::uint32_t bytes) {
  return {std::move(name), 1, bytes, false, true};
}

/// What a kernel gets, by value.
struct View {
  struct Array {
    unsigned char* data;
    std::uint32_t item_bytes, items;
    bool of_lanes;
  };
  Array arrays[kMostMembers];
  int members, lanes;
  std::uint32_t cases;
  std::uint32_t* put;  ///< of each case, bit i: member i was put
  int* misfit;         ///< 1 + a member that was put with another size than it has
};

/// One execution of the instruction. Made and used by the lanes that execute it, a warp or a warpgroup; a
/// block's first thread is the first lane of one. A number of view.cases or more records nothing, so a kernel
/// may number all that it does. No two executions have the same number.
class Case {
 public:
  __device__ Case(const View& view, std::uint32_t number)
      : view_(view),
        number_(number),
        lane_((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) %
              static_cast<unsigned>(view.lanes)) {}

  /// A vector of registers: unsigned integers, float, double, __half2 and so on.
  template <class T, std::size_t count>
  __device__ void put(int member, const T (&values)[count]) const {
    if (!fits(member, sizeof(T), count)) return;
    unsigned char* const to = array(member) + count * sizeof(T) * (view_.arrays[member].of_lanes ? lane_ : 0);
    if (view_.arrays[member].of_lanes || lane_ == 0) memcpy(to, values, count * sizeof(T));
  }

  /// One register of each lane, or what all share.
  template <class T>
  __device__ void put(int member, T value) const {
    const T values[1] = {value};
    put(member, values);
  }

  /// A generic address in shared memory, as an offset into what put_memory() writes from `begin`.
  __device__ void put_address(int member, const void* address, const void* begin) const {
    put(member, static_cast<std::uint32_t>(static_cast<const unsigned char*>(address) -
                                           static_cast<const unsigned char*>(begin)));
  }

  /// A matrix descriptor of wgmma whose start address, bits 0 to 13 in units of 16 bytes, becomes an offset in
  /// the same way. `begin` is aligned to 1024 bytes.
  __device__ void put_descriptor(int member, std::uint64_t descriptor, const void* begin) const {
    constexpr std::uint64_t kStart = 0x3FFF;
    const std::uint64_t offset = descriptor - (__cvta_generic_to_shared(begin) >> 4);
    put(member, (descriptor & ~kStart) | (offset & kStart));
  }

  /// All bytes of the member from `begin`. What other lanes wrote there is behind a barrier; they write again
  /// behind another one.
  __device__ void put_memory(int member, const void* begin) const {
    if (!fits(member, 1, view_.arrays[member].items)) return;
    for (std::uint32_t i = lane_; i < view_.arrays[member].items; i += static_cast<unsigned>(view_.lanes))
      array(member)[i] = static_cast<const unsigned char*>(begin)[i];
  }

 private:
  __device__ bool fits(int member, std::size_t item_bytes, std::uint32_t items) const {
    if (number_ >= view_.cases) return false;
    if (member >= view_.members || view_.arrays[member].item_bytes != item_bytes ||
        view_.arrays[member].items != items) {
      *view_.misfit = 1 + member;
      return false;
    }
    if (lane_ == 0) view_.put[number_] |= 1u << member;
    return true;
  }
  // Where the case begins.
  __device__ unsigned char* array(int member) const {
    const View::Array& a = view_.arrays[member];
    const auto lanes = static_cast<std::size_t>(a.of_lanes ? view_.lanes : 1);
    return a.data + number_ * lanes * a.items * a.item_bytes;
  }

  const View& view_;
  std::uint32_t number_, lane_;
};

/// Arrays on the GPU for so many cases of a statement, and the file. Whatever goes wrong is thrown as
/// std::runtime_error.
class Recording {
 public:
  /// The members are those that FORMAT.md asks for, under the names in the statement; `lanes` is 128 for an
  /// instruction of a warpgroup.
  Recording(std::string statement, std::string target, std::vector<Member> members, std::uint32_t cases,
            int lanes = 32)
      : statement_(std::move(statement)), target_(std::move(target)), members_(std::move(members)) {
    if (members_.size() > kMostMembers)
      fail(std::to_string(members_.size()) + " members; expected at most " + std::to_string(kMostMembers));
    view_.members = static_cast<int>(members_.size());
    view_.lanes = lanes;
    view_.cases = cases;
    for (std::size_t i = 0; i < members_.size(); ++i)
      view_.arrays[i] = {zeros<unsigned char>(cases * case_bytes(i)), members_[i].item_bytes, members_[i].items,
                         members_[i].of_lanes};
    view_.put = zeros<std::uint32_t>(cases);
    view_.misfit = zeros<int>(1);
  }

  const View& view() const { return view_; }

  /// Waits for all kernels and writes the cases that were recorded. `program` says what did it.
  void write(const std::string& path, const std::string& program) const {
    check(cudaDeviceSynchronize(), "the kernel");
    if (const int misfit = fetch(view_.misfit, 1)[0]; misfit > view_.members)
      fail("the kernel put member " + std::to_string(misfit - 1) + "; there are " +
           std::to_string(view_.members));
    else if (misfit > 0)
      fail(shape_text(members_[static_cast<std::size_t>(misfit - 1)]) + " are what the kernel put otherwise");
    const std::vector<std::uint32_t> recorded = recorded_cases();
    npz::Writer file(path);
    describe(file, statement_, target_, "registers", provenance(program));
    for (std::size_t i = 0; i < members_.size(); ++i) write_member(file, i, recorded);
    file.close();
  }

 private:
  struct Free {
    void operator()(void* pointer) const { cudaFree(pointer); }
  };

  [[noreturn]] void fail(const std::string& why) const { throw std::runtime_error(statement_ + ": " + why); }
  void check(cudaError_t status, const std::string& what) const {
    if (status != cudaSuccess) fail(what + ": " + cudaGetErrorString(status));
  }

  std::size_t case_bytes(std::size_t member) const {
    const Member& m = members_[member];
    return std::size_t{m.item_bytes} * m.items * static_cast<std::size_t>(m.of_lanes ? view_.lanes : 1);
  }
  static std::string shape_text(const Member& m) {
    return m.name + ": " + std::to_string(m.items) + " items of " + std::to_string(m.item_bytes) + " bytes";
  }

  template <class T>
  T* zeros(std::size_t count) {
    void* pointer = nullptr;
    check(cudaMalloc(&pointer, count * sizeof(T)), "memory of the GPU");
    memory_.emplace_back(pointer);
    check(cudaMemset(pointer, 0, count * sizeof(T)), "memory of the GPU");
    return static_cast<T*>(pointer);
  }
  template <class T>
  std::vector<T> fetch(const T* from, std::size_t count) const {
    std::vector<T> out(count);
    check(cudaMemcpy(out.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "memory of the GPU");
    return out;
  }

  // Those of which all members were put; there are none of which some were.
  std::vector<std::uint32_t> recorded_cases() const {
    const std::vector<std::uint32_t> put = fetch(view_.put, view_.cases);
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < view_.cases; ++i) {
      if (put[i] == 0) continue;
      out.push_back(i);
      for (std::size_t m = 0; m < members_.size(); ++m)
        if ((put[i] >> m & 1) == 0) fail("case " + std::to_string(i) + " lacks " + members_[m].name);
    }
    if (out.empty()) fail("no case was recorded");
    return out;
  }

  void write_member(npz::Writer& file, std::size_t i, const std::vector<std::uint32_t>& recorded) const {
    const Member& m = members_[i];
    const std::size_t bytes = case_bytes(i);
    const std::vector<unsigned char> all = fetch(view_.arrays[i].data, view_.cases * bytes);
    std::vector<unsigned char> kept;
    for (const std::uint32_t number : recorded)
      kept.insert(kept.end(), all.begin() + static_cast<std::ptrdiff_t>(number * bytes),
                  all.begin() + static_cast<std::ptrdiff_t>((number + 1) * bytes));
    std::vector<std::uint64_t> shape = {recorded.size()};
    if (m.of_lanes) shape.push_back(static_cast<std::uint64_t>(view_.lanes));
    if (m.is_vector) shape.push_back(m.items);
    file.array(m.name, static_cast<int>(m.item_bytes), shape, kept.data());
  }

  std::string provenance(const std::string& program) const {
    int device = 0, driver = 0;
    cudaDeviceProp about_device{};
    check(cudaGetDevice(&device), "the device");
    check(cudaGetDeviceProperties(&about_device, device), "the device");
    check(cudaDriverGetVersion(&driver), "the driver");
    const Answerer by{about_device.name, 10 * about_device.major + about_device.minor, cuda_version(driver),
                      cuda_version(CUDART_VERSION), today()};
    return "{" + about(by) + ", \"program\": " + json_text(program) + "}";
  }

  std::string statement_, target_;
  std::vector<Member> members_;
  std::vector<std::unique_ptr<void, Free>> memory_;
  View view_{};
};

}  // namespace capture
