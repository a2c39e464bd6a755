// SPDX-License-Identifier: Apache-2.0
#include "grid/launch_control.hpp"

#include <cstring>  // std::memcpy
#include <vector>

#include "grid/cluster.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid {

Response response_to(const std::optional<Extent>& first) {
  std::array<std::uint32_t, 4> words{};
  if (first) words = {(*first)[0], (*first)[1] | (*first)[2] << 16, 1, 0};
  Response out;
  std::memcpy(out.data(), words.data(), sizeof out);
  return out;
}

namespace steps {
namespace {

/// Of a lane's response.
class Answer {
 public:
  Answer(Warp& warp, const Path& path, Place response, int lane) {
    response.bits = 64;
    low_ = warp.read(path, response, lane);
    response.slot += 2;
    high_ = warp.read(path, response, lane);
  }
  bool succeeds() const { return (high_ & 1) != 0; }
  /// x, y, z, 0
  std::uint64_t first(std::size_t i) const {
    const std::array<std::uint64_t, 4> all = {low_ & 0xFFFF'FFFF, low_ >> 32 & 0xFFFF, low_ >> 48, 0};
    return all[i];
  }

 private:
  std::uint64_t low_, high_;
};

}  // namespace

Next is_canceled(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Lanes succeed = 0;
  for_each_lane(lanes, [&](int lane) {
    if (Answer(warp, path, step.place[2], lane).succeeds())
      succeed |= Lanes{1} << lane;
    else
      warp.block().cluster().learn_failure(Block::who(warp, step, lane));
  });
  const Place& to = warp.program().places[static_cast<std::size_t>(step.extra)][0];
  if (to.exists()) warp.set(path, to, lanes, succeed);
  return Next::step;
}

// Of a failure the index has no value. Published kernels ask for it and do not use it.
Next first_block(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::vector<Place>& to = warp.program().places[static_cast<std::size_t>(step.extra)];
  Lanes failed = 0;
  for_each_lane(lanes, [&](int lane) {
    const Answer answer(warp, path, step.place[2], lane);
    if (!answer.succeeds()) failed |= Lanes{1} << lane;
    for (std::size_t i = 0; i < to.size(); ++i)
      warp.write(path, to[i], lane, answer.first(static_cast<std::size_t>(step.target) + i));
  });
  if (failed == 0) return Next::step;
  for (const Place& one : to) warp.forget(path, one, failed);
  if (warp.undefined().active())
    warp.undefined().come_from(path, to,
                               {Undefined::Cause::From::failed, 0, 0, warp.site(step), failed, warp.number()});
  Fault out = block::fault_of(Block::who(warp, step, 0),
                              {Errc::protocol_violation,
                               {},
                               "the request has failed, so its response has no ctaid",
                               "execute this only where query_cancel.is_canceled of the response is true"},
                              KernelRule::block_of_failure);
  out.lanes = block::lanes_of(failed);
  return warp.block().allows(std::move(out)) ? Next::step : Next::end;
}

}  // namespace steps
}  // namespace warpbit::grid
