import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import { conditionOf } from "../../../api/conditions.ts";
import { FleetError } from "../../../api/errors.ts";
import { reasons } from "../../../api/reasons.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import { transitionEvents } from "../../../controller/status/component-events.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { render } from "../../../render/render.ts";
import { componentProblems } from "../../../webhook/rules/rendered/component-problems.ts";
import { linesOf, review, written } from "../../webhook/component-stage.ts";
import { component, now } from "./fleet-facts.ts";
import { reviews } from "./reviews.ts";
import { runText } from "./run-text.ts";
import { type Answer, startStubHub } from "./stub-hub.ts";

const reason = "ReleasePartNotFound";
const code = "KNF1023";
const mayAll = reviews(() => true);

/** A release folder with Kourier and without another ingress, and with no source. */
let releaseDir: string;
beforeAll(async () => {
  releaseDir = await mkdtemp(join(tmpdir(), "knfleet-missing-part-"));
  for (const part of [
    "knative-serving/1.23.0",
    "knative-eventing/1.23.0",
    "ingress/1.23/kourier",
  ]) {
    // oxlint-disable-next-line no-await-in-loop -- three small folders
    await cp(join(sampleDirOf(), part), join(releaseDir, part), { recursive: true });
  }
});
afterAll(() => rm(releaseDir, { recursive: true, force: true }));

const served: Answer = (request) => {
  const { method, path, body } = request;
  if (method === "PUT") return { body };
  return path === "/version" ? { body: { gitVersion: "v1.36.0" } } : mayAll(request);
};

async function failureOf(one: Component): Promise<FleetError> {
  const releases = await openReleases(releaseDir);
  const error: unknown = await render(one, releases).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (error instanceof FleetError) return error;
  throw new Error("It was rendered");
}

const facts = { cluster: null, wanted: "1.23" } as const;
const eventing = component({ ...facts, kind: "KnativeEventing" });
const withKafka: Component = {
  ...component(facts),
  kind: "KnativeEventing",
  metadata: eventing.metadata,
  spec: { version: "1.23", source: { kafka: { enabled: true } } },
};

const itemsOf = (text: string): readonly unknown[] => JSON.parse(text).items;

describe.each([
  {
    name: "an ingress that nobody chose",
    one: component(facts),
    words: ["ks/knative-serving", "-n", "team-a"],
    field: "spec.ingress.istio",
    message: "The release directory holds no ingress/1.23/istio; it has kourier in ingress/1.23",
  },
  {
    name: "a source",
    one: withKafka,
    words: ["ke/knative-eventing", "-n", "team-a"],
    field: "spec.source.kafka",
    message:
      "The release directory holds no eventing-source/1.23/kafka; it has nothing in eventing-source/1.23",
  },
])(
  "$name that the release lacks has one reason and one message",
  ({ one, words, field, message }) => {
    let failed: Component;
    let outcome: Outcome;
    let file: string;
    beforeAll(async () => {
      const error = await failureOf(one);
      outcome = { kind: "failed", steps: { eligible: true, resolved: true }, error };
      const { status: _, ...fresh } = one;
      failed = { ...one, status: statusOf(fresh, outcome, now) };
      file = join(releaseDir, `${one.kind}.json`);
      const { apiVersion, kind, metadata, spec } = one;
      const { name, namespace } = metadata;
      await writeFile(
        file,
        JSON.stringify({ apiVersion, kind, metadata: { name, namespace }, spec }),
      );
    });

    async function run(...args: readonly string[]) {
      await using hub = await startStubHub([failed], served);
      return await runText([...args, "--release-dir", releaseDir], { env: hub.env });
    }

    test("in the condition and the Event", () => {
      const condition = conditionOf(failed.status?.conditions, "InstallSucceeded");
      expect(condition).toMatchObject({ status: "False", reason, message });
      const events = transitionEvents(undefined, failed.status, outcome);
      expect(events).toContainEqual({ type: "Warning", reason, message });
    });

    test("in status", async () => {
      const { stdout } = await run("status", ...words, "--no-live", "-o", "json");
      expect(itemsOf(stdout)).toMatchObject([{ reason, code, message }]);
    });

    test("in diagnose, with a remedy that fits", async () => {
      const { stdout } = await run("diagnose", ...words, "-o", "json");
      const [item] = itemsOf(stdout);
      expect(item).toMatchObject({
        rootCause: { code, next: [reasons[reason].next] },
      });
      expect(stdout).toContain(message);
    });

    test("in plan, of a file and of a version", async () => {
      const planned = await run("plan", "-f", file, "-o", "json");
      expect(itemsOf(planned.stdout)).toMatchObject([{ blocked: { reason, code, message } }]);
      const upgrade = await run("plan", "--version", "1.23", ...words, "-o", "json");
      expect(itemsOf(upgrade.stdout)).toMatchObject([{ blocked: { reason, code, message } }]);
      expect([planned.exitCode, upgrade.exitCode]).toEqual([2, 2]);
    });

    test("in diff and check -f", async () => {
      const { stdout } = await run("diff", ...words, "-o", "json");
      const { errors } = JSON.parse(stdout);
      expect(errors).toMatchObject([{ reason, message: expect.stringContaining(`: ${message}`) }]);
      const checked = await run("check", "-f", file, "-o", "json");
      expect(itemsOf(checked.stdout)).toContainEqual(
        expect.objectContaining({ check: "version", state: "FAIL", code: reason, message }),
      );
    });

    test("in render and can-i, with a remedy that fits", async () => {
      for (const args of [
        ["render", "-f", file],
        ["can-i", ...words],
      ]) {
        // oxlint-disable-next-line no-await-in-loop -- two commands
        const { stderr, exitCode } = await run(...args);
        expect(stderr).toContain(message);
        expect(stderr).toContain(reasons[reason].next);
        expect(exitCode).not.toBe(0);
      }
    });

    test("at admission, at its field", async () => {
      const releases = await openReleases(releaseDir);
      const renderCheck = componentProblems({
        releases,
        environment: {},
        spokeNamespace: "Canonical",
      });
      const lines = linesOf(await review(written(one.spec ?? {}, one), { renderCheck }));
      expect(lines).toEqual([`422 ${field}: ${message}`]);
    });
  },
);

test("a version that the release directory lacks is another reason, and can-i --role says what there is", async () => {
  const args = ["can-i", "ks", "--role", "--version", "1.99", "--release-dir", releaseDir];
  const { stderr } = await runText(args);
  expect(stderr).toContain("the manifests of the target version 1.99 are not available");
  expect(stderr).toContain("it has 1.23.0");
  expect(stderr).toContain(reasons.ReleaseNotFound.next);
});

test("can-i --role names the parts for which the role has no rights, on standard error", async () => {
  const args = ["can-i", "--role", "--version", "1.23", "--release-dir"];
  const { stdout, stderr, exitCode } = await runText([...args, releaseDir]);
  expect(stdout).toContain("kind: ClusterRole");
  expect(stderr).toMatch(
    /^The release folder lacks ingress\/1\.23\/contour, .*ingress\/1\.23\/istio, .*eventing-source\/1\.23\/kafka, .*: the role has no rights for them\.\n$/,
  );
  expect(stderr).not.toContain("kourier");
  expect(exitCode).toBe(0);
});
