/* SPDX-License-Identifier: Apache-2.0
 * What a page calls: the command line, in this process. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Runs `warpbit ARGUMENTS`. The arguments are JSON, an array of strings: ["layout", "mma.m16n8k16.f32.f16@H100"].
 * An object may stand for it: {"arguments": ["profile", "a.json"], "files": {"a.json": "..."}} has files that a page, which has no
 * others, lets the command read.
 * Returns JSON, {"status": 0, "stdout": "...", "stderr": "..."}; the text lives until the next call. One thread at a time.
 * In a page, which has no files, `layout FORM --svg form.svg` and others that write one hand it back: the object has
 * "files": {"form.svg": "..."} too. */
const char* warpbit_web_command(const char* arguments);

#ifdef __cplusplus
}
#endif
