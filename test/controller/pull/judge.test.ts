import { describe, expect, test } from "vitest";

import type { ManagedCluster, ManifestStatus, ManifestWork } from "../../../api/delivery.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { judge, type PullFacts } from "../../../controller/pull/judge.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import { serving } from "../../support/component.ts";

const metadata = { name: "a", uid: "u", resourceVersion: "1" };
const since = "2026-02-03T04:00:00Z";

function managed(status?: Condition["status"]): ManagedCluster {
  const available = { type: "ManagedClusterConditionAvailable", lastTransitionTime: since };
  return {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata,
    status: { conditions: status === undefined ? [] : [{ ...available, status }] },
  };
}

function work(...manifests: readonly ManifestStatus[]): ManifestWork {
  return {
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "ManifestWork",
    metadata: { ...metadata, namespace: "spoke-1" },
    status: {
      conditions: [{ type: "Applied", status: "True" }],
      resourceStatus: { manifests },
    },
  };
}

type Values = Readonly<Record<string, string | number>>;

/** The status of a manifest with its feedback. */
function telling(values: Values): ManifestStatus {
  const list = Object.entries(values).map(([name, value]) => ({
    name,
    fieldValue: typeof value === "string" ? { string: value } : { integer: value },
  }));
  return { statusFeedback: { values: list } };
}

function refusing(kind: string, message: string): ManifestStatus {
  const reason = "AppliedManifestFailed";
  return {
    resourceMeta: { kind, name: "a" },
    conditions: [{ type: "Applied", status: "False", reason, message }],
  };
}

const current = { hubGeneration: "3", generation: 5, observed: 5 };
const ready = {
  ...current,
  version: "1.23.0",
  "InstallSucceeded.status": "True",
  "DeploymentsAvailable.status": "True",
  "DependenciesInstalled.status": "True",
  "VersionMigrationEligible.status": "True",
};
const whole: PullFacts = {
  cluster: "spoke-1",
  managed: managed("True"),
  agent: work(telling({ available: 1 })),
  work: work(telling(ready)),
  generation: 3,
};

/** The answer as text: the failure, or the conditions. */
function said(facts: Partial<PullFacts>): string {
  const answer = judge({ ...whole, ...facts });
  if (answer instanceof FleetError) return `${answer.reason}: ${answer.message}`;
  return answer.conditions
    .map(({ type, status, reason = "", message = "" }) => `${type}=${status} ${reason} ${message}`)
    .join("; ")
    .trim();
}

const waiting = "TargetClusterResolved=True  ; InstallSucceeded=Unknown Installing Waiting for the";
const connecting =
  "TargetClusterResolved=Unknown Connecting Waiting for the work agent of ManagedCluster spoke-1 to apply the works";
const noAgent = work(telling({ available: 0 }));

/** The answer when the spoke tells something else than usual. */
function lie(values: Values): string {
  const answer = judge({ ...whole, work: work(telling({ ...ready, ...values })) });
  return JSON.stringify(answer);
}

/** The annotations of a status that had some before, when the spoke tells more than usual. */
function kept(values: Values, before: Readonly<Record<string, string>> = {}): unknown {
  const told = judge({ ...whole, work: work(telling({ ...ready, ...values })) });
  if (told instanceof FleetError) throw told;
  const component = serving({ status: { annotations: before } });
  return statusOf(component, { kind: "reported", ...told }, new Date(since)).annotations;
}

describe("what a spoke tells", () => {
  const answer = '{"id":"0123456789abcdef","checks":[{"name":"rate","kind":"good"}]}';

  test("of the checks of a set is kept in the status, and goes when it tells no more", () => {
    const own = { "knfleet.dev/set-answer": answer };
    expect(kept({ answer })).toEqual(own);
    expect(kept({}, { ...own, a: "b" })).toEqual({ a: "b" });
  });

  test.each([
    "",
    "all is well",
    "{}",
    '{"id":"\u202e","checks":[]}',
    `${answer}${" ".repeat(9_000)}`,
  ])("is no answer to checks unless it has their form: %j", (text) => {
    expect(lie({ answer: text })).not.toContain('"answer"');
  });

  test.each([
    "1.23",
    "1.23.0\u001b[2J",
    `1.23.${"0".repeat(400_000)}`,
    "latest",
    "1.23.0-\u202Egnp",
  ])("is no version unless it looks like one: %j", (version) => {
    expect(lie({ version })).not.toContain('"version"');
  });

  test.each(["No spaces", "R\u001b[31m", "R".repeat(1_000), "", "\u202Eyd"])(
    "is no reason unless it looks like one: %j",
    (reason) => {
      const told = { "InstallSucceeded.status": "False", "InstallSucceeded.reason": reason };
      expect(lie(told)).toContain('{"type":"InstallSucceeded","status":"False"}');
    },
  );

  test("of another type, or without a value, tells nothing and breaks nothing", () => {
    const values: readonly unknown[] = [
      { name: "version", fieldValue: { type: "Boolean", boolean: true } },
      { name: "available", fieldValue: { type: "JsonRaw", jsonRaw: "{}" } },
      { name: "generation" },
    ];
    const manifest: object = { statusFeedback: { values } };
    expect(said({ work: work(manifest) })).toBe(
      `${waiting} agent on the spoke to take up the component`,
    );
  });
});

describe("what the hub knows of a pulled component", () => {
  test.each<readonly [string, Partial<PullFacts>, string]>([
    [
      "no cluster",
      { managed: undefined },
      "AccessProviderFailed: [NotManagedByOCM] ManagedCluster spoke-1 does not exist",
    ],
    [
      "never heard of",
      { managed: managed() },
      "SpokeUnreachable: [Unreachable] ManagedCluster spoke-1: its agent has not reported to the hub yet",
    ],
    [
      "silent",
      { managed: managed("Unknown") },
      `SpokeUnreachable: [Unreachable] ManagedCluster spoke-1: its agent has not reported to the hub since ${since}`,
    ],
    [
      "API server gone",
      { managed: managed("False") },
      `SpokeUnreachable: [Unreachable] ManagedCluster spoke-1: its API server has not answered its agent since ${since}`,
    ],
    ["no agent yet", { agent: undefined, work: undefined }, connecting],
    ["agent not applied yet", { agent: { ...work(), status: {} }, work: undefined }, connecting],
    [
      "agent not available",
      { agent: noAgent, work: undefined },
      `${waiting} agent in knfleet-system on the spoke`,
    ],
    ["agent gone later", { agent: noAgent }, `${waiting} agent in knfleet-system on the spoke`],
    ["work unwritten", { work: undefined }, `${waiting} work to be written`],
    [
      "pushed until now",
      { agent: noAgent, work: undefined, isInstalled: true },
      `${waiting} agent in knfleet-system on the spoke; the hub does not manage the installation any more`,
    ],
    ["no feedback", { work: work() }, `${waiting} agent on the spoke to take up the component`],
    [
      "feedback of an earlier spec",
      { generation: 4 },
      `${waiting} agent on the spoke to take up the component`,
    ],
    [
      "not looked at yet",
      { work: work(telling({ ...ready, observed: 4 })) },
      `${waiting} agent on the spoke to take up the component`,
    ],
    [
      "CRD not there yet",
      { work: work(refusing("KnativeServing", 'no matches for kind "KnativeServing"')) },
      `${waiting} agent on the spoke to take up the component`,
    ],
    [
      "CRD that the work agent has not discovered yet",
      { work: work(refusing("KnativeServing", 'the server doesn\'t have a resource type "K"')) },
      `${waiting} agent on the spoke to take up the component`,
    ],
    [
      "forbidden",
      {
        agent: work(
          refusing(
            "ClusterRole",
            'Failed to apply manifest: clusterroles "a" is forbidden: User "w" cannot patch resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope',
          ),
        ),
      },
      'AccessProviderFailed: [WorkForbidden] ManagedCluster spoke-1: work a: the work agent may not apply ClusterRole a: clusterroles "a" is forbidden: User "w" cannot patch resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope',
    ],
    [
      "forbidden for the executor of the work",
      {
        work: work(
          refusing("Secret", "not allowed to apply the resource  secrets, a b, will try again"),
        ),
      },
      "AccessProviderFailed: [WorkForbidden] ManagedCluster spoke-1: work a: the work agent may not apply Secret a: not allowed to apply the resource  secrets, a b, will try again",
    ],
    [
      "in a namespace that goes",
      {
        agent: work(
          refusing(
            "Deployment",
            'deployments.apps "a" is forbidden: unable to create new content in namespace knfleet-system because it is being terminated',
          ),
        ),
      },
      "ClusterBusy: ManagedCluster spoke-1: work a: Deployment a waits: its namespace on the spoke is being deleted",
    ],
    [
      "under a quota that is not counted yet",
      {
        work: work(
          refusing("KnativeServing", '"a" is forbidden: status unknown for quota: few, resources:'),
        ),
      },
      `${waiting} agent on the spoke to take up the component`,
    ],
    [
      "with a field that is forbidden",
      { work: work(refusing("KnativeServing", "spec.x: Forbidden: may not be set")) },
      "ApplyFailed: ManagedCluster spoke-1: work a: KnativeServing a was not applied: spec.x: Forbidden: may not be set",
    ],
    [
      "refused by a policy of the spoke, which says forbidden, too",
      {
        work: work(
          refusing(
            "KnativeServing",
            "knativeservings \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
          ),
        ),
      },
      "ApplyFailed: [AdmissionRefused] ManagedCluster spoke-1: work a: KnativeServing a is refused on the spoke: knativeservings \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
    ],
    [
      "over a quota of the spoke",
      { agent: work(refusing("Deployment", 'deployments "a" is forbidden: exceeded quota: few')) },
      'ApplyFailed: ManagedCluster spoke-1: work a: Deployment a is refused on the spoke: deployments "a" is forbidden: exceeded quota: few',
    ],
    [
      "refused",
      {
        work: work(
          refusing("KnativeServing", "Failed to apply manifest: spec.x: is invalid\u001b[31m"),
        ),
      },
      "ApplyFailed: ManagedCluster spoke-1: work a: KnativeServing a was not applied: spec.x: is invalid",
    ],
    [
      "ready",
      {},
      "TargetClusterResolved=True  ; DependenciesInstalled=True  ; DeploymentsAvailable=True  ; InstallSucceeded=True  ; VersionMigrationEligible=True",
    ],
    [
      "a failure on the spoke",
      {
        work: work(
          telling({
            ...current,
            "InstallSucceeded.status": "False",
            "InstallSucceeded.reason": "Error",
            "InstallSucceeded.message": "Install failed",
          }),
        ),
      },
      "TargetClusterResolved=True  ; InstallSucceeded=False Error Install failed",
    ],
  ])("%s", (_, facts, text) => {
    expect(said(facts)).toBe(text);
  });

  test("is written as the status of a pushed component would be", () => {
    const answer = judge(whole);
    if (answer instanceof FleetError) throw answer;
    const now = new Date(since);
    const protection: Condition = { type: "AnchorProtected", status: "True", reason: "Enforced" };
    const component = serving({
      metadata: { generation: 3 },
      status: { conditions: [protection] },
    });
    const status = statusOf(component, { kind: "reported", ...answer }, now);
    expect(status).toMatchObject({ version: "1.23.0", observedGeneration: 3 });
    expect(status.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      "DependenciesInstalled=True",
      "DeploymentsAvailable=True",
      "InstallSucceeded=True",
      "Ready=True",
      "TargetClusterResolved=True",
      "VersionMigrationEligible=True",
    ]);
  });
});
