// SPDX-License-Identifier: Apache-2.0
// The views. Each module has `parameters` (what its form asks for), `load` (questions to the library), `render` (data to markup)
// and may have `enliven` (events) and `picture` (its address).
import * as descriptor from "./descriptor.mjs";
import * as format from "./format.mjs";
import * as gpu from "./gpu.mjs";
import * as home from "./home.mjs";
import * as layout from "./layout.mjs";
import * as profile from "./profile.mjs";
import * as sum from "./sum.mjs";
import * as tensormap from "./tensormap.mjs";

const kForm = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

// Name in addresses, title, what it is about and its name among parameters, an example.
export const views = {
  home: { title: "Questions", about: "", example: "", ...home },
  layout: { title: "Layout", about: "form", example: kForm, ...layout },
  sum: { title: "Sum", about: "form", example: kForm, ...sum },
  gpu: { title: "GPU", about: "form", example: kForm, ...gpu },
  descriptor: { title: "Descriptor", about: "descriptor", example: "0x4000004000010040", ...descriptor },
  tensormap: { title: "Tensor map", about: "map", example: "7f0000000000 20000066510 0 0 3ff00000fff 0 3f00000000000000 7f 4000 400 0 0 0 0 0 0", ...tensormap },
  profile: { title: "Profile", about: "", example: "", ...profile },
  format: { title: "Format", about: "format", example: "e4m3", ...format },
};
