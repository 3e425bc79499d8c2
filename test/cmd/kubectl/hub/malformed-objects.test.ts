import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { commandTable } from "../../../../cmd/kubectl/command-table.ts";
import { MalformedObjects } from "../../../../cmd/kubectl/hub/malformed-objects.ts";
import { lineOf, writeFilesOfLines } from "../every-command.ts";
import { component } from "../fleet-facts.ts";
import { recordedObjects } from "../recorded-hub.ts";
import { reviews } from "../reviews.ts";
import { runText } from "../run-text.ts";
import { fleetSet } from "../set-facts.ts";
import { startStubHub, type StubHub } from "../stub-hub.ts";
import { answersTables } from "../stub-tables.ts";

const wrong = component({ name: "wrong", cluster: null });
const set = fleetSet({ name: "strange" });
const odd: readonly KubeObject[] = [
  { ...wrong, status: { conditions: "none" } },
  { ...set, spec: { clusters: { from: "Selector", selector: {} }, template: [] } },
];
const ofComponent = "KnativeServing team-a/wrong has not the form of its CRD";
const ofSet = "KnativeServingSet team-a/strange has not the form of a set";

let hub: StubHub;
let folder: string;
beforeAll(async () => {
  const objects = [...recordedObjects, fleetSet(), ...odd];
  const [tables, mayAll] = [answersTables(objects), reviews(() => true)];
  hub = await startStubHub(objects, (request) => tables(request) ?? mayAll(request));
  folder = await mkdtemp(join(tmpdir(), "knfleet-malformed-"));
  await writeFilesOfLines(folder);
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function run(name: string, ...more: readonly string[]) {
  return runText([...lineOf(name, folder), ...more], { env: hub.env });
}

/** What each command that lists the fleet shows of the others, by the name of the command. */
const shown: Readonly<Record<string, RegExp>> = {
  status: /team-b .*knative-serving/,
  top: /us-1/,
  deployments: /eventing-controller/,
  get: /fleet\/us-1: KNF2003/,
  diagnose: /team-b .*knative-serving/,
  diff: /knative-eventing/,
  orphans: /3 components and 3 clusters looked at/,
  wait: /team-b/,
  events: /InstallFailed/,
  logs: /fleet\/us-1: KNF2003/,
  tree: /knative-eventing/,
  gather: /<hub>/,
  "can-i": /knative-eventing|<hub>/,
  version: /team-b/,
};

describe("one installation of a wrong form", () => {
  test.each(Object.entries(shown))("does not end %s -A, which names it", async (name, others) => {
    const file = name === "gather" ? ["-o", join(folder, "bundle.tgz")] : [];
    const ran = await run(name, "-A", ...file);
    const text = `${ran.stdout}${ran.stderr}`;
    expect(text.split(ofComponent)).toHaveLength(2);
    expect(text).toMatch(others);
    expect(text).not.toContain("Internal error");
    expect(ran.exitCode).not.toBe(0);
    expect(ran.exitCode).not.toBe(2);
  });

  const documents = commandTable().filter(
    ({ name, kind }) => kind !== undefined && name in shown && name !== "gather",
  );
  test.each(documents)("is in the errors of $name -A -o json", async ({ name }) => {
    const { stdout } = await run(name, "-A", "-o", "json");
    const { errors, complete } = JSON.parse(stdout);
    expect(complete).toBe(false);
    expect(errors).toContainEqual(
      expect.objectContaining({ reason: "Malformed", code: null, cluster: null }),
    );
    expect(errors[0].message ?? "").not.toContain("undefined");
  });

  test("is what a command for it alone ends with", async () => {
    const { exitCode, stderr } = await run("status", "ks/wrong");
    expect(stderr).toContain(`error: ${ofComponent}\n`);
    expect(exitCode).toBe(2);
  });

  test("is not named by a command for another one", async () => {
    const { stdout, stderr } = await run("status", "ke/knative-eventing");
    expect(`${stdout}${stderr}`).not.toContain("team-a/wrong");
  });

  test("is no failure where --fail-on says never", async () => {
    expect((await run("status", "-A", "--fail-on=never")).exitCode).toBe(0);
  });

  test("hides no name from completion", async () => {
    const { stdout } = await runText(["__complete", "status", "-A", ""], { env: hub.env });
    expect(stdout).toContain("ke/knative-eventing");
  });

  test("has left nothing: orphans tells nobody to delete what it has", async () => {
    const { stdout } = await run("orphans", "-A", "-o", "json");
    expect(JSON.stringify(JSON.parse(stdout).items)).not.toContain(wrong.metadata.uid);
  });

  test.each(["unregister", "migrate from-upstream", "migrate to-upstream"])(
    "ends %s, which must not touch what it belongs to",
    async (name) => {
      const { stderr, exitCode } = await run(name);
      expect(stderr).toContain(ofComponent);
      expect(exitCode).toBe(2);
    },
  );
});

describe("one set of a wrong form", () => {
  test.each(["status", "top", "gather"])("does not end %s -A, which names it", async (name) => {
    const file = name === "gather" ? ["-o", join(folder, "sets.tgz")] : [];
    const { stdout, stderr, exitCode } = await run(name, "-A", ...file);
    expect(`${stdout}${stderr}`.split(ofSet)).toHaveLength(2);
    expect(exitCode).not.toBe(2);
  });

  test("is shown neither as a set nor as none: the other one is", async () => {
    const { stdout } = await run("status", "-A");
    expect(stdout).toContain("kss/prod");
    expect(stdout).not.toContain("kss/strange");
  });

  test("is in a bundle, with the installation of a wrong form", async () => {
    const path = join(folder, "all.tgz");
    await run("gather", "-A", "-o", path);
    const listed = await runText(["status", "-A", "--bundle", path]);
    expect(`${listed.stdout}${listed.stderr}`).toContain(ofComponent);
    expect(`${listed.stdout}${listed.stderr}`).toContain(ofSet);
  });

  test("is what a command for it alone ends with, and no failure of one for another", async () => {
    const alone = await runText(["wait", "kss/strange", "--timeout=1s"], { env: hub.env });
    expect(alone.stderr).toContain(`${ofSet}: spec.template must be object\n`);
    expect(alone.exitCode).toBe(2);
    const other = await runText(["wait", "kss/prod", "--timeout=0"], { env: hub.env });
    expect(other.stderr).not.toContain("strange");
  });
});

describe("an installation that cannot be rendered", () => {
  test("does not end plan and diff, which name the field", async () => {
    const spec = { version: "1.23", config: { network: null } };
    const eventing = component({ kind: "KnativeEventing", cluster: null, namespace: "team-c" });
    const objects: readonly KubeObject[] = [...recordedObjects, { ...eventing, spec }];
    const mayAll = reviews(() => true);
    await using other = await startStubHub(objects, mayAll);
    await writeFile(join(folder, "odd.yaml"), JSON.stringify({ ...eventing, spec }));
    for (const name of ["plan", "diff", "can-i"]) {
      const line = lineOf(name, folder).filter((word) => word !== "-f" && !word.endsWith("g.yaml"));
      const version = name === "plan" ? ["--version", "1.23"] : [];
      // oxlint-disable-next-line no-await-in-loop -- one command after another
      const { stdout, stderr } = await runText([...line, "-A", ...version, "-o", "json"], {
        env: other.env,
      });
      expect(`${stdout}${stderr}`).toContain("spec.config.network must be object");
      expect(`${stdout}${stderr}`).not.toContain("Internal error");
    }
  });
});

test("what is mended is no longer named, and each is told once", () => {
  const malformed = new MalformedObjects();
  const named = { kind: "KnativeServing", metadata: wrong.metadata, form: "the form of its CRD" };
  malformed.add(named);
  malformed.add(named);
  expect(malformed.tell()).toHaveLength(1);
  expect(malformed.tell()).toEqual([]);
  expect(malformed.errors).toHaveLength(1);
  malformed.mended(wrong.metadata.uid);
  expect(malformed.errors).toEqual([]);
});
