// SPDX-License-Identifier: Apache-2.0
// Only so that the headers that all tests share have a program's flags to be compiled with.
