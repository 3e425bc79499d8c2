import { env } from "node:process";

import { expect } from "vitest";

import { hideReleases } from "./hidden-releases.ts";
import { isTagged } from "./needs.ts";

// Before each test file: one with the tag `release-files` runs on Knative's own release files, and every other one on the sample release, also
// where Knative's are at hand. So a test means the same on every machine. A worker may go on with a file of the other kind.

delete env["KNFLEET_RELEASE_DIR"];
await hideReleases(!(await isTagged(expect.getState().testPath ?? "")));
