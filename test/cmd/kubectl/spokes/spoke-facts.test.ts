import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { component, deployment, ownAnchorOf, type DeploymentFacts } from "../fleet-facts.ts";
import { rowsOf } from "../run-knfleet.ts";
import { runText } from "../run-text.ts";
import { type Answer, startStubHub } from "../stub-hub.ts";

const eventing = component({ kind: "KnativeEventing", cluster: null });
const uid = eventing.metadata.uid;
const label = "knative-eventing";
const controller = deployment({ label, uid, name: "eventing-controller", owner: null });
const key = { kind: "StatefulSet", name: "request-reply" };

/** A StatefulSet as a cluster returns it. */
function statefulSet(facts: DeploymentFacts = {}): KubeObject {
  const one = deployment({ label, uid, owner: null, name: key.name, ...facts });
  return { ...one, kind: key.kind };
}

/** The anchor with these workloads beside the Deployment. */
function anchor(...others: readonly { readonly kind: string; readonly name: string }[]) {
  return ownAnchorOf(eventing, ["eventing-controller"], others);
}

interface Read {
  /** The row of `status` and those of `deployments`. */
  readonly status: object;
  readonly workloads: readonly object[];
  /** Requests for workloads of one `deployments`. */
  readonly requests: readonly string[];
}

async function read(objects: readonly KubeObject[], answer?: Answer): Promise<Read> {
  await using hub = await startStubHub([eventing, ...objects], answer);
  const status = await runText(["status"], { env: hub.env });
  const from = hub.requests.length;
  const table = await runText(["deployments"], { env: hub.env });
  const requests = hub.requests.slice(from).filter((one) => one.includes("/apis/apps/"));
  const [row = {}] = rowsOf(status.stdout);
  return { status: row, workloads: rowsOf(table.stdout), requests };
}

const lists = {
  Deployment: "GET /apis/apps/v1/deployments",
  StatefulSet: "GET /apis/apps/v1/statefulsets",
  DaemonSet: "GET /apis/apps/v1/daemonsets",
} as const;

describe("workloads are listed", () => {
  test.each<[string, readonly KubeObject[], readonly string[]]>([
    ["Deployments alone, when the installation has no others", [anchor()], [lists.Deployment]],
    ["StatefulSets, when it has one", [anchor(key)], [lists.Deployment, lists.StatefulSet]],
    [
      "DaemonSets, when it has one",
      [anchor({ kind: "DaemonSet", name: "gateway" })],
      [lists.Deployment, lists.DaemonSet],
    ],
    ["StatefulSets of Eventing without an inventory", [], [lists.Deployment, lists.StatefulSet]],
  ])("%s", async (_what, anchors, wanted) => {
    const { requests } = await read([...anchors, controller]);
    expect(requests.toSorted()).toEqual(wanted.toSorted());
  });
});

describe("a StatefulSet counts as a Deployment does", () => {
  const set = { NAME: "statefulset/request-reply" };
  test.each<[string, readonly KubeObject[], string, object]>([
    ["available", [statefulSet()], "Ready", { ...set, READY: "1/1", AVAILABLE: "1" }],
    [
      "not available",
      [statefulSet({ available: false })],
      "1/2 not available",
      { ...set, READY: "0/1" },
    ],
    ["missing", [], "1/2 missing", { ...set, READY: "missing" }],
    [
      "scaled to zero",
      [statefulSet({ scaledBy: "kubectl" })],
      "1/2 scaled to zero",
      { ...set, READY: "0/0 (scaled to zero)" },
    ],
  ])("%s", async (_state, sets, live, row) => {
    const { status, workloads } = await read([anchor(key), controller, ...sets]);
    expect(status).toMatchObject({ LIVE: live });
    expect(workloads).toContainEqual(expect.objectContaining(row));
  });

  test("and is no fault where it may not be listed", async () => {
    const refusal = { kind: "Status", apiVersion: "v1", code: 403, message: "no" };
    const { status, workloads } = await read([anchor(key), controller], ({ path }) =>
      path.endsWith("/statefulsets") ? { status: 403, body: refusal } : undefined,
    );
    expect(status).toMatchObject({ LIVE: "Ready" });
    expect(workloads).toHaveLength(1);
  });
});

test("a DaemonSet is counted by its nodes", async () => {
  const one = statefulSet({ name: "gateway" });
  const counts = { desiredNumberScheduled: 3, numberReady: 2, numberAvailable: 2 };
  const gateway = {
    ...one,
    kind: "DaemonSet",
    status: { observedGeneration: 2, updatedNumberScheduled: 3, ...counts },
  };
  const daemonSet = { kind: "DaemonSet", name: "gateway" };
  const { status, workloads } = await read([anchor(daemonSet), controller, gateway]);
  expect(status).toMatchObject({ LIVE: "1/2 not available" });
  expect(workloads).toContainEqual(
    expect.objectContaining({ NAME: "daemonset/gateway", READY: "2/3", AVAILABLE: "2" }),
  );
});

test("the message of a status names the kind", async () => {
  await using hub = await startStubHub([
    eventing,
    anchor(key),
    controller,
    statefulSet({ available: false }),
  ]);
  const { stdout } = await runText(["status", "-o", "json"], { env: hub.env });
  expect(JSON.parse(stdout)).toMatchObject({
    items: [
      {
        live: {
          message: "Not available: StatefulSet request-reply (0 of 1 pods available)",
          notAvailable: ["StatefulSet request-reply"],
        },
      },
    ],
  });
});
