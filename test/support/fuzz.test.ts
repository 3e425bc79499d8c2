import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { expect, test } from "vitest";

const module = pathToFileURL(join(import.meta.dirname, "fuzz.ts")).href;

test.each([
  { share: undefined, runs: [1_600, 5], isWhole: false },
  { share: "1", runs: [16_000, 40], isWhole: true },
  { share: "0.001", runs: [16, 5], isWhole: false },
])(
  "of 16,000 and 40 runs, at least 5, the share $share is $runs, and all of them: $isWhole",
  ({ share, ...told }) => {
    expect(toldWith({ KNFLEET_FUZZ_SHARE: share })).toMatchObject(told);
  },
);

test("KNFLEET_SEED is the seed", () => {
  expect(toldWith({ KNFLEET_SEED: "42" })).toMatchObject({ seed: 42 });
});

function toldWith(variables: Readonly<Record<string, string | undefined>>): unknown {
  const code = `import { isWhole, runsOf, seed } from ${JSON.stringify(module)};
    console.log(JSON.stringify({ seed, isWhole, runs: [runsOf(16_000), runsOf(40, 5)] }));`;
  const { KNFLEET_SEED: _seed, KNFLEET_FUZZ_SHARE: _share, ...env } = process.env;
  const args = ["--input-type=module", "--eval", code];
  const { stdout } = spawnSync(process.execPath, args, { env: { ...env, ...variables } });
  return JSON.parse(String(stdout));
}
