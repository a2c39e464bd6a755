// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zip.h>

#include <memory>

namespace warpbit::capture {

struct FreeSource {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
/// A source of libzip, freed unless an archive takes it over.
using Source = std::unique_ptr<zip_source_t, FreeSource>;

}  // namespace warpbit::capture
