import { expect, test } from "vitest";

import { sampleDirOf } from "../../../cmd/release-files.ts";
import { runText } from "./run-text.ts";
import type { Answer } from "./stub-hub.ts";
import { startVerifiedFleet } from "./verified-fleet.ts";

const template = {
  spec: { containers: [{ name: "smoke", image: "example.com/smoke:1" }], restartPolicy: "Never" },
} as const;
const smoke = {
  name: "smoke",
  noData: "Fail",
  job: { activeDeadlineSeconds: 60, backoffLimit: 0, template },
} as const;

function objectOf(apiVersion: string, kind: string, metadata: object, rest: object = {}) {
  const common = { namespace: "knative-serving", uid: "it", resourceVersion: "1" };
  return { body: { apiVersion, kind, metadata: { ...common, ...metadata }, ...rest } };
}

/** A cluster on which the Job of the check has failed; undefined: where it was never run. */
function answersJob(isRun: boolean): Answer {
  const owned = { annotations: { "operator.knative.dev/cr-uid": "prod-fleet-bad" } };
  const labels = { "knfleet.dev/set-uid": "set-uid", "knfleet.dev/check": "smoke" };
  const conditions = [{ type: "Failed", status: "True", reason: "DeadlineExceeded" }];
  return ({ path }) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (path.includes("/configmaps/")) return objectOf("v1", "ConfigMap", { name, ...owned });
    if (path.includes("/pods")) return { body: { metadata: { resourceVersion: "1" }, items: [] } };
    if (!path.includes("/jobs/") || !isRun) return undefined;
    return objectOf("batch/v1", "Job", { name, labels }, { status: { conditions } });
  };
}

async function rollout(isRun: boolean, ...args: readonly string[]) {
  await using fleet = await startVerifiedFleet(answersJob(isRun), [smoke]);
  const env = { LANG: "C.UTF-8", KNFLEET_RELEASE_DIR: sampleDirOf(), ...fleet.hub.env };
  const line = ["rollout", ...args, "kss/prod", "-n", "platform", "--spoke-timeout", "60s"];
  const said = await runText(line, { env });
  const requests = fleet.clusters.flatMap((cluster) => cluster.requests);
  expect(requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
  return { ...said, requests };
}

test("rollout verify shows the Job that a rollout has run, and runs none", async () => {
  const verify = ["verify", "--stage", "canary", "-o", "json"];
  const failed = JSON.parse((await rollout(true, ...verify)).stdout).items[1];
  expect(failed).toMatchObject({ check: "smoke", answer: "bad" });
  expect(failed.message).toMatch(/^Job knfleet-smoke-\w{10} failed \(DeadlineExceeded\)$/);
  const none = JSON.parse((await rollout(false, ...verify)).stdout).items[1];
  expect(none).toMatchObject({
    check: "smoke",
    answer: "unasked",
    message: "only a rollout runs its Job, and has not done so yet",
  });
});

test("rollout plan looks at no Job, and says that the rollout runs it", async () => {
  const { stderr, requests } = await rollout(true, "plan");
  expect(stderr).toContain(
    "note: check smoke: the rollout runs its Job once on each cluster, not this plan\n",
  );
  expect(stderr).not.toContain("warning: check smoke");
  expect(requests.filter((request) => request.includes("/jobs"))).toEqual([]);
});
