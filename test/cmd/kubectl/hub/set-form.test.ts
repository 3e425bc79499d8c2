import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert, asyncProperty, constantFrom, nat, record } from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { runsOf, seed } from "../../../support/fuzz.ts";
import { placesIn, withValue } from "../changed-value.ts";
import { commandNames, lineOf, writeFilesOfLines } from "../every-command.ts";
import { component } from "../fleet-facts.ts";
import { recordedObjects } from "../recorded-hub.ts";
import { reviews } from "../reviews.ts";
import { runText } from "../run-text.ts";
import { fleetSet, stamped } from "../set-facts.ts";
import { startStubHub } from "../stub-hub.ts";

const prod = fleetSet();
/** A set with everything in its spec that programs go into. */
const set: KubeObject = {
  ...prod,
  spec: {
    ...prod.spec,
    clusters: {
      from: "Selector",
      selector: { namespaces: ["fleet"], matchLabels: { region: "eu" } },
      exclude: [{ name: "eu-9", reason: "old" }],
    },
    template: {
      metadata: { labels: { team: "a" }, annotations: { note: "b" } },
      spec: {
        version: "1.23",
        config: { network: { "ingress-class": "kourier" } },
        registry: { override: { a: "b" } },
        workloads: [{ name: "activator", replicas: 2 }],
      },
    },
    overrides: [
      { name: "eu", selector: { matchLabels: { region: "eu" } }, patch: { version: "1.22" } },
    ],
    whenUnselected: { policy: "Orphan", after: "10m" },
  },
};
const child = stamped(prod, { cluster: "eu-1", name: "prod-fleet-eu-1" });
const installed = component({ name: "other", cluster: "us-1" });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-odd-"));
  await writeFilesOfLines(folder);
});
afterAll(() => rm(folder, { recursive: true }));

const rollouts = commandNames.filter((name) => name.startsWith("rollout "));
const others = ["status", "plan", "diff", "can-i", "version", "check", "wait", "orphans", "tree"];

async function saidOf(objects: readonly KubeObject[], names: readonly string[]): Promise<string> {
  await using hub = await startStubHub(
    objects,
    reviews(() => true),
  );
  const said: string[] = [];
  for (const name of names) {
    const input = name === "plan" ? [] : ["-f", join(folder, "serving.yaml")];
    const line = lineOf(name, folder).filter((word) => input.length > 0 || !isInput(word));
    const wide = name.startsWith("rollout") ? [] : ["-A"];
    const version = name === "plan" ? ["--version", "1.23"] : [];
    // oxlint-disable-next-line no-await-in-loop -- one command after another
    const ran = await runText([...line, ...wide, ...version], { env: hub.env });
    said.push(`${name}: ${ran.stdout}${ran.stderr}`);
  }
  return said.join("\n");
}

function isInput(word: string): boolean {
  return word === "-f" || word === join(folder, "serving.yaml");
}

describe("a set of another form", () => {
  test.each([
    [["spec", "clusters", "selector"], 5, "spec.clusters.selector must be object"],
    [["spec", "template", "spec", "config"], { network: null }, "config.network must be object"],
    [["spec", "overrides", "0", "patch"], { config: { network: 5 } }, "config.network must be"],
    [["spec", "rollout", "stages", "0"], null, "spec.rollout.stages[0] must be object"],
    [["status", "stages", "0", "state"], null, "status.stages[0].state must be string"],
  ] as const)("with %j as %j is named by every command for it", async (...[place, value, why]) => {
    const odd = withValue(set, place, value);
    for (const name of rollouts.filter((one) => one !== "rollout adopt")) {
      // oxlint-disable-next-line no-await-in-loop -- one command after another
      const said = await saidOf([...recordedObjects, child, odd], [name]);
      expect(said).toContain("KnativeServingSet team-a/prod has not the form of a set: ");
      expect(said).toContain(why);
    }
  });

  test(`ends no command as an internal error, and no component does (KNFLEET_SEED=${seed})`, async () => {
    const values = constantFrom<unknown>(null, 7, "text", [], {}, [null], true, { a: null });
    const input = record({
      which: constantFrom("set", "child", "installed"),
      at: nat(),
      value: values,
    });
    await assert(
      asyncProperty(input, async ({ which, at, value }) => {
        const changed = (object: KubeObject, name: string): KubeObject => {
          if (name !== which) return object;
          const places = placesIn(object).filter(
            ([first]) => first === "spec" || first === "status",
          );
          return withValue(object, places[at % places.length] ?? [], value);
        };
        const objects = [
          ...recordedObjects,
          changed(set, "set"),
          changed(child, "child"),
          changed(installed, "installed"),
        ];
        const said = await saidOf(objects, [...rollouts, ...others]);
        expect(said).not.toContain("Internal error");
      }),
      { seed, numRuns: runsOf(20) },
    );
  }, 600_000);
});
