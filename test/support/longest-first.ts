import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take minutes. */
export const longest: readonly string[] = [
  "test/faults/quick.fleet.test.ts",
  "test/bootstrap-clone.fleet.test.ts",
  "test/e2e/shards.fleet.test.ts",
  "test/e2e/finalize.fleet.test.ts",
  "test/e2e/sequences.fleet.test.ts",
  "test/demo/demo.fleet.test.ts",
  "test/charts/pages.fleet.test.ts",
  "test/cmd/kubectl/cli.fleet.test.ts",
  "test/e2e/replicas.fleet.test.ts",
  "test/e2e/pull.fleet.test.ts",
  "test/e2e/hostile-spokes.fleet.test.ts",
  "test/e2e/isolation.fleet.test.ts",
  "test/performance/scale/scale.fleet.test.ts",
  "test/e2e/ocm-reach.fleet.test.ts",
  "test/controller/apply/install-hanging-webhook.fleet.test.ts",
  "test/faults/sets/set-sweep.fleet.test.ts",
];

/** Runs the files that take minutes first: one that begins last keeps a single worker busy while the others are done. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- the sequencer's method of this name
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const index = longest.findIndex((file) => moduleId.endsWith(`/${file}`));
  return index < 0 ? longest.length : index;
}
