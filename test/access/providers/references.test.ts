import { mkdtemp, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { ReferencePolicy } from "../../../access/providers/reference-policy.ts";
import {
  loadReferenceGrants,
  openReferences,
  type ReferenceSettings,
} from "../../../access/providers/references.ts";
import { systemClock } from "../../../access/time/system-clock.ts";

let folder: string;
let stop: AbortController;
let warnings: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-grants-"));
  stop = new AbortController();
  warnings = [];
});

afterEach(async () => {
  stop.abort();
  await rm(folder, { recursive: true });
});

async function fileOf(text: string): Promise<string> {
  const path = join(folder, "grants.yaml");
  await writeFile(path, text);
  return path;
}

function open(settings: ReferenceSettings): ReturnType<typeof openReferences> {
  const log = {
    info: () => undefined,
    warn: (_fields: object, message: string) => void warnings.push(message),
  };
  return openReferences(settings, { clock: systemClock, log }, stop.signal);
}

const one = { fromNamespace: "team-a", toNamespace: "fleet" };

describe("the file of grants", () => {
  test.each([
    ["YAML", "grants:\n- { fromNamespace: team-a, toNamespace: fleet, names: [a, b.c] }\n"],
    ["JSON", JSON.stringify({ grants: [{ ...one, names: ["a", "b.c"] }] })],
  ])("is read as %s", async (_name, text) => {
    const grants = await loadReferenceGrants(await fileOf(text), stop.signal);
    expect(grants).toEqual([{ ...one, names: ["a", "b.c"] }]);
  });

  test("without names a grant is for all ClusterProfiles of the namespace; a list may be empty", async () => {
    const all = await fileOf(JSON.stringify({ grants: [one] }));
    expect(await loadReferenceGrants(all, stop.signal)).toEqual([one]);
    const none = await fileOf("grants: []");
    expect(await loadReferenceGrants(none, stop.signal)).toEqual([]);
  });

  // What is not understood might have been meant to permit less.
  test.each([
    ["nothing", "", /not an object/],
    ["comments only", "# grants: []\n", /not an object/],
    ["a list", "[]", /not an object/],
    ["no grants", "{}", /grants is not a list/],
    ["grants that are all commented out", "grants:\n# - a\n", /grants is not a list/],
    ["another key", "grants: []\nmode: Any\n", /the file has a key other than grants/],
    ["a grant that is a text", "grants: [a]", /grants\[0\] is not an object/],
    [
      "a grant with a misspelt key",
      "grants: [{ fromNamespace: a, toNamespace: b, name: [c] }]",
      /grants\[0\] has a key other/,
    ],
    ["no namespace", "grants: [{ toNamespace: b }]", /grants\[0\]\.fromNamespace is not a name/],
    [
      "a wildcard",
      'grants: [{ fromNamespace: "*", toNamespace: b }]',
      /fromNamespace is not a name/,
    ],
    [
      "names that are all commented out",
      "grants:\n- fromNamespace: a\n  toNamespace: b\n  names:\n  # - c\n",
      /grants\[0\]\.names is not a list/,
    ],
    [
      "no names",
      "grants: [{ fromNamespace: a, toNamespace: b, names: [] }]",
      /names is not a list/,
    ],
    [
      "an odd name",
      "grants: [{ fromNamespace: a, toNamespace: b, names: [c, 1] }]",
      /grants\[0\]\.names\[1\] is not a name/,
    ],
    ["a key twice", "grants: []\ngrants: []\n", /not YAML at line 2, column 1/],
    ["half of it", '{ "grants": [', /not YAML at line 1/],
    ["an alias", "grants: [{ fromNamespace: &a x, toNamespace: *a }]", /it holds an alias/],
    ["far too much", `grants: [${"a,".repeat(30_000)}]`, /more than 20000 parts/],
  ])("is refused with %s", async (_name, text, message) => {
    const path = await fileOf(text);
    await expect(loadReferenceGrants(path, stop.signal)).rejects.toMatchObject({
      reason: "ConfigInvalid",
      message: expect.stringMatching(message),
    });
  });

  test("belongs to the mode Granted, and has to be there", async () => {
    const path = await fileOf("grants: []");
    for (const settings of [
      { mode: "Granted" as const },
      { mode: "Any" as const, grantsFile: path },
      { mode: "Granted" as const, grantsFile: join(folder, "none") },
    ]) {
      await expect(open(settings)).rejects.toMatchObject({ reason: "ConfigInvalid" });
    }
    using same = await open({ mode: "Same" });
    expect(same.isValid).toBeUndefined();
    expect(same.policy).toEqual({ mode: "Same", grants: [] });
  });
});

test("T-05 a grant that is taken away is gone at once, also by a swapped symlink; what cannot be used changes nothing", async () => {
  const target = join(folder, "first");
  await writeFile(target, JSON.stringify({ grants: [one] }));
  const path = join(folder, "grants.json");
  await symlink(target, path);
  using references = await open({ mode: "Granted", grantsFile: path });
  const before: ReferencePolicy[] = [];
  references.onChange((policy) => before.push(policy));

  await writeFile(target, "{");
  await vi.waitFor(() => expect(warnings).toHaveLength(1), { timeout: 60_000 });
  expect(references.isValid).toBe(false);
  expect(references.policy.grants).toEqual([one]);
  expect(before).toEqual([]);

  const next = join(folder, "second");
  await writeFile(next, JSON.stringify({ grants: [] }));
  await symlink(next, `${path}.new`);
  await rename(`${path}.new`, path);
  await vi.waitFor(() => expect(references.policy.grants).toEqual([]), { timeout: 60_000 });
  await vi.waitFor(() => expect(references.isValid).toBe(true), { timeout: 60_000 });
  expect(before).toEqual([{ mode: "Granted", grants: [one] }]);

  await unlink(path);
  await vi.waitFor(() => expect(warnings).toHaveLength(2), { timeout: 60_000 });
  expect(references.policy.grants).toEqual([]);
});
