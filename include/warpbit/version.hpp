// SPDX-License-Identifier: Apache-2.0
// The version of these headers. Before 1.0 a new minor version may change the C++ interface and the soname's
// symbols; a new patch version changes neither. Any version may correct results that hardware proves wrong;
// CHANGELOG.md names each such change.
#pragma once

/// "major.minor.patch", and its parts. CMake reads the text from this line.
#define WARPBIT_VERSION_TEXT  "0.1.0"
#define WARPBIT_VERSION_MAJOR 0
#define WARPBIT_VERSION_MINOR 1
#define WARPBIT_VERSION_PATCH 0
