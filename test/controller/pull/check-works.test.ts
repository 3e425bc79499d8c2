import { describe, expect, test } from "vitest";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import { pulledJobs, removeCheckWorks } from "../../../controller/pull/check-works.ts";
import { askJob } from "../../../controller/verify/ask-job.ts";
import { type JobPlace, jobNameOf } from "../../../controller/verify/check-job.ts";
import { apiError } from "../../support/api-error.ts";
import { bareClient } from "../../support/bare-client.ts";
import { name } from "../dispatched-hub.ts";
import { forbidden } from "../verify/job-spoke.ts";
import { hubThatPulls, pulled } from "./pull-hub.ts";

const { signal } = new AbortController();
const annotations = { "knfleet.dev/managed-cluster": "spoke-1" };
const set = { kind: "KnativeServingSet", namespace: name, name: "prod" } as const;
const setUid = "set-uid";
const containers = [{ name: "smoke", image: "example.com/smoke:1" }];
const template = { spec: { restartPolicy: "Never", containers } } as const;
const check = { name: "smoke", job: { activeDeadlineSeconds: 600, backoffLimit: 0, template } };

/** The component of a set with a revision. */
function stamped(revision = "r1", more: Readonly<Record<string, string>> = {}): Component {
  const stamp = { "knfleet.dev/set-updated-at": `2026-11-30T12:00:00Z-${revision}` };
  const labels = { "knfleet.dev/set-revision": revision };
  return pulled({ labels, annotations: { ...annotations, ...stamp, ...more } });
}

/** A hub with the ManagedCluster `spoke-1`, where a set asks about its Job. */
function hubWithJobs(options: Parameters<typeof hubThatPulls>[0] = {}) {
  const { memory } = hubThatPulls(options);
  const { get, list, create, remove } = memory;
  const hub: KubeClient = bareClient({ get, list, create, remove });
  const deps = { hub, pull: { namespaces: [name] }, spokeNamespace: "Canonical" } as const;
  const works = () => memory.all("ManifestWork");
  const tell = (manifest: object): void => {
    const [work] = works();
    const status = { resourceStatus: { manifests: [manifest] } };
    memory.edit("ManifestWork", work?.metadata.name ?? "", { status });
  };
  const begin = async (component = stamped(), retriedAt?: string) => {
    const { client, place } = await pulledJobs(component, deps, signal);
    const seen: { place?: JobPlace } = { place };
    const retry = retriedAt === undefined ? {} : { retriedAt };
    const asking = { set, setUid, component, client, seen, mayRun: true, ...retry };
    return () => askJob(check, asking, signal);
  };
  return {
    memory,
    hub,
    works,
    /** What the cluster reports that the work could not be applied for. */
    refuse: (message: string): void =>
      tell({
        resourceMeta: { kind: "Job", name: "smoke" },
        conditions: [{ type: "Applied", status: "False", message }],
      }),
    /** What the feedback of the work says. */
    report: (told: Readonly<Record<string, string | undefined>>): void => {
      const values = Object.entries(told).map(([key, string]) => ({
        name: key,
        fieldValue: { string },
      }));
      tell({ statusFeedback: { values } });
    },
    begin,
    /** Asks once, as a new process. */
    ask: async (component?: Component, retriedAt?: string) => (await begin(component, retriedAt))(),
  };
}

/** Which Job the feedback is about. */
const own = { uid: "a", set: setUid };
const notEnded = /^Job knfleet-smoke-[0-9a-f]{10} has not ended yet$/;

describe("the Job of a check on a pulled cluster", () => {
  test("is brought by a work of the cluster, once, and goes with it alone", async () => {
    const { ask, works } = hubWithJobs();
    await expect(ask()).rejects.toThrow(notEnded);
    await expect(ask()).rejects.toThrow(notEnded);
    const [work, ...others] = works();
    expect(others).toEqual([]);
    const jobName = jobNameOf(check, { component: stamped(), setUid });
    expect(work?.metadata).toMatchObject({ namespace: "spoke-1", name: jobName });
    // A watch of works by this label brings news of components.
    expect(work?.metadata.labels).not.toHaveProperty("app.kubernetes.io/managed-by");
    const spec = Object(work?.["spec"]);
    const [job] = spec.workload.manifests;
    expect(job).toMatchObject({
      kind: "Job",
      metadata: { namespace: "knative-serving", name: jobName },
      spec: { backoffLimit: 0, template: { spec: { automountServiceAccountToken: false } } },
    });
    // The agent would run a Job again that goes before its work has ended.
    expect(job.spec).not.toHaveProperty("ttlSecondsAfterFinished");
    expect(job.metadata).not.toHaveProperty("ownerReferences");
    expect(spec.manifestConfigs[0]).toMatchObject({
      updateStrategy: { type: "CreateOnly" },
      conditionRules: [{ type: "WellKnownConditions", condition: "Complete" }],
    });
    expect(spec.deleteOption).toMatchObject({ ttlSecondsAfterFinished: 2_678_400 });
  });

  test.each([
    [{ complete: "True" }, { kind: "good", message: "", isFinal: true }],
    [
      { failed: "True", reason: "BackoffLimitExceeded" },
      {
        kind: "bad",
        message: expect.stringMatching(/^Job knfleet-smoke-\w+ failed \(BackoffLimitExceeded\)$/),
        isFinal: true,
      },
    ],
    [
      { failed: "True", reason: "\u001b[2J a lie" },
      { kind: "bad", message: expect.stringMatching(/ failed$/), isFinal: true },
    ],
  ])("ends as the feedback of the work says: %j", async (told, reply) => {
    const { ask, report } = hubWithJobs();
    await expect(ask()).rejects.toThrow(notEnded);
    report({ ...own, ...told });
    expect(await ask()).toEqual(reply);
  });

  test("that the cluster refuses is no answer, and says why", async () => {
    const { ask, refuse } = hubWithJobs();
    await expect(ask()).rejects.toThrow(notEnded);
    refuse(
      'Failed to apply manifest: jobs.batch is forbidden: User "agent" cannot create resource "jobs" in API group "batch" in the namespace "knative-serving"',
    );
    await expect(ask()).rejects.toThrow("the work agent may not apply Job smoke");
  });

  test.each([
    ["was made anew on the cluster", [own, { ...own, uid: "b", complete: "True" }]],
    ["belongs to somebody else", [{ uid: "a", set: "other", complete: "True" }]],
    ["belongs to somebody else", [{ uid: "a", complete: "True" }]],
  ])("is no answer when it %s: %j", async (said, told) => {
    const { begin, report } = hubWithJobs();
    const ask = await begin();
    await expect(ask()).rejects.toThrow(notEnded);
    for (const values of told.slice(0, -1)) {
      report(values);
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(ask()).rejects.toThrow(notEnded);
    }
    report(told.at(-1) ?? {});
    await expect(ask()).rejects.toThrow(said);
  });

  test("has no answer while the hub does not let the controller read its work", async () => {
    const { ask, hub } = hubWithJobs();
    hub.get = () => Promise.reject(forbidden("get manifestworks"));
    await expect(ask()).rejects.toThrow("the controller lacks the right to get manifestworks");
  });

  test("is run again after a retry, when its work is gone", async () => {
    const { ask, report, works } = hubWithJobs();
    await expect(ask()).rejects.toThrow(notEnded);
    const first = works()[0]?.metadata.uid;
    report({ ...own, failed: "True" });
    await expect(ask(stamped(), "12:00")).rejects.toThrow("is run again");
    expect(works()).toEqual([]);
    await expect(ask(stamped(), "12:00")).rejects.toThrow(notEnded);
    expect(works()[0]?.metadata.uid).not.toBe(first);
  });

  test("of an earlier revision goes with the next one", async () => {
    const { ask, works } = hubWithJobs();
    await expect(ask()).rejects.toThrow(notEnded);
    const [first] = works();
    await expect(ask(stamped("r2"))).rejects.toThrow(notEnded);
    expect(works()).toHaveLength(1);
    expect(works()[0]?.metadata.name).not.toBe(first?.metadata.name);
  });

  test.each([
    ["the ManagedCluster that its ClusterProfile is of", { label: "other" }, stamped()],
    [
      "the one that its annotation names",
      {},
      stamped("r1", { "knfleet.dev/managed-cluster": "other" }),
    ],
  ])("is written nowhere but to %s", async (_, options, component) => {
    const { ask, works } = hubWithJobs(options);
    await expect(ask(component)).rejects.toThrow("leads to another ManagedCluster");
    expect(works()).toEqual([]);
  });
});

test("a hub without Open Cluster Management has no works to remove", async () => {
  const { hub, works } = hubWithJobs();
  const bare = { ...hub, list: () => Promise.reject(apiError(404, "NotFound")) };
  await removeCheckWorks(stamped(), { hub: bare, cluster: "spoke-1" }, signal);
  expect(works()).toEqual([]);
});

test("the works of a component go with it, and no others", async () => {
  const { ask, hub, works, memory } = hubWithJobs();
  await expect(ask()).rejects.toThrow(notEnded);
  const selectors: unknown[] = [];
  const list: KubeClient["list"] = (ref, options, until) => {
    selectors.push([ref.namespace, ref.labelSelector]);
    return memory.list(ref, options, until);
  };
  await removeCheckWorks(stamped(), { hub: { ...hub, list }, cluster: "spoke-1" }, signal);
  expect(works()).toEqual([]);
  const { uid } = stamped().metadata;
  expect(selectors).toEqual([["spoke-1", `knfleet.dev/component-uid=${uid},knfleet.dev/check`]]);
});
