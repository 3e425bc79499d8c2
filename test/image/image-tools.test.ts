import { existsSync } from "node:fs";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { imageObstacle, systemAuthorities } from "./image-tools.ts";

const needed = ["apt-get", "dpkg-deb", "ip", "nsenter", "setpriv", "unshare"];
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-image-tools-"));
  await symlink("/bin/sh", join(folder, "sh"));
  for (const name of needed) await symlink("/bin/true", join(folder, name));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(needed)("the image cannot be built on a machine without %s", async (name) => {
  await rm(join(folder, name));
  try {
    expect(imageObstacle({ PATH: folder })).toMatch(/^it needs /);
  } finally {
    await symlink("/bin/true", join(folder, name));
  }
});

// Without root, or without certificates, another obstacle comes first.
test.runIf(process.getuid?.() === 0 && existsSync(systemAuthorities))(
  "the image can be built where all programs are",
  () => expect(imageObstacle({ PATH: folder })).toBeUndefined(),
);
