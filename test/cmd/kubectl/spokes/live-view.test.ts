import { describe, expect, test } from "vitest";

import { pulledAnnotations } from "../../../../api/delivery.ts";
import { workloadsOf, liveViewOf } from "../../../../cmd/kubectl/spokes/live-view.ts";
import type { SpokeReading } from "../../../../cmd/kubectl/spokes/spoke-facts.ts";
import { anchorOf, component, deployment, ownAnchorOf, reading } from "../fleet-facts.ts";

const serving = component();
const anchor = anchorOf(serving);
const otherUid = { ...serving, metadata: { ...serving.metadata, uid: "other" } };
const local = component({ cluster: null });
const localOwner = { kind: "KnativeServing", name: "knative-serving" };

const onSpoke = ownAnchorOf({ ...serving, metadata: { ...serving.metadata, uid: "on-spoke" } }, []);
const pulledAnchor = {
  ...onSpoke,
  metadata: {
    ...onSpoke.metadata,
    annotations: {
      ...onSpoke.metadata.annotations,
      [pulledAnnotations.hubComponentUid]: serving.metadata.uid,
    },
  },
};

interface Case {
  readonly name: string;
  readonly of?: typeof serving;
  readonly reading: SpokeReading | undefined;
  readonly view: object;
}

const cases: readonly Case[] = [
  { name: "no reading", reading: undefined, view: { state: "Skipped", deployments: null } },
  {
    name: "all Deployments available",
    reading: reading([anchor], [deployment(), deployment({ name: "webhook" })]),
    view: { state: "Ready", deployments: 2, namespace: "team-a", provider: "secretreader" },
  },
  {
    name: "one Deployment not available",
    reading: reading([anchor], [deployment(), deployment({ name: "webhook", available: false })]),
    view: {
      state: "NotAvailable",
      deployments: 2,
      notAvailable: ["webhook"],
      reason: "DeploymentsNotReady",
      since: "2026-11-21T11:56:30Z",
    },
  },
  {
    name: "a Deployment whose latest change is not rolled out",
    reading: reading([anchor], [deployment({ observedGeneration: 1 })]),
    view: {
      state: "InProgress",
      notAvailable: ["controller"],
      reason: "RollingOut",
      message: "In progress: controller (rolling out, no new pod yet)",
    },
  },
  {
    name: "a Deployment that somebody scaled to zero",
    reading: reading([anchor], [deployment(), deployment({ name: "a", scaledBy: "kubectl" })]),
    view: {
      state: "ScaledToZero",
      scaledToZero: ["a"],
      notAvailable: [],
      reason: "ScaledToZero",
      code: "KNF6015",
      message: "Scaled to zero: a",
      since: "2026-11-21T11:20:00Z",
    },
  },
  {
    name: "Deployments in each state, of which the worst counts",
    reading: reading(
      [ownAnchorOf(serving, ["a", "b", "c", "d"])],
      [
        deployment({ name: "a", available: false }),
        deployment({ name: "b", observedGeneration: 1 }),
        deployment({ name: "c", scaledBy: "kubectl" }),
      ],
    ),
    view: {
      state: "NotAvailable",
      reason: "DeploymentsNotReady",
      notAvailable: ["a", "b"],
      message:
        "Not available: a (0 of 1 pods available); Missing: d; In progress: b (rolling out, no new pod yet); Scaled to zero: c",
    },
  },
  {
    name: "nothing on the spoke",
    reading: reading([], []),
    view: { state: "NotInstalled", reason: "NotInstalled", deployments: 0 },
  },
  {
    name: "an anchor without Deployments",
    reading: reading([anchor], []),
    view: { state: "NotInstalled", reason: "NoDeployments" },
  },
  {
    name: "Deployments whose anchor is gone",
    reading: reading([], [deployment()]),
    view: { state: "NotInstalled", reason: "AnchorMissing", deployments: 1 },
  },
  {
    name: "a Deployment of the inventory that is gone",
    reading: reading([ownAnchorOf(serving, ["controller", "webhook"])], [deployment()]),
    view: {
      state: "NotAvailable",
      deployments: 1,
      notAvailable: [],
      missing: ["webhook"],
      reason: "DeploymentsMissing",
      message: "Missing: webhook",
    },
  },
  {
    name: "the anchor of another component of this name",
    reading: reading([ownAnchorOf(otherUid, ["controller"])], [deployment({ uid: "other" })]),
    view: { state: "NotInstalled", reason: "AnchorConflict", deployments: 0 },
  },
  {
    name: "an installation by somebody else",
    reading: reading([], [deployment({ owner: null, namespace: "knative-serving" })]),
    view: { state: "NotInstalled", reason: "OtherInstallation", deployments: 0 },
  },
  {
    name: "ConfigMaps that may not be read",
    reading: reading(undefined, [deployment()]),
    view: { state: "Ready", deployments: 1 },
  },
  {
    name: "an installation of a later upstream operator in its fixed namespace",
    reading: reading(
      [anchorOf(serving, "knative-serving")],
      [deployment({ namespace: "knative-serving" })],
    ),
    view: { state: "Ready", namespace: "knative-serving" },
  },
  {
    name: "Deployments on the hub that the component owns",
    of: local,
    reading: reading([], [deployment({ owner: localOwner })]),
    view: { state: "Ready", deployments: 1 },
  },
  {
    name: "an installation of the controller of a spoke that pulls and can be dialled",
    reading: reading([pulledAnchor], [deployment({ uid: "on-spoke" })]),
    view: { state: "Ready", deployments: 1, feedback: null },
  },
  {
    name: "a spoke that could not be read",
    reading: { kind: "unread", state: "Unreachable", reason: "Unreachable", message: "No answer" },
    view: { state: "Unreachable", reason: "Unreachable", message: "No answer", server: null },
  },
];

test.each(cases)("$name gives $view.state", ({ of = serving, reading: given, view }) => {
  expect(liveViewOf(of, given)).toMatchObject(view);
});

describe("a Deployment belongs to an installation", () => {
  const { uid } = serving.metadata;
  const other = component({ name: "second" });

  test.each([
    { name: "by the uid label of this hub", facts: { uid, owner: null }, own: true },
    { name: "not with the uid label of another component", facts: { uid: "x" }, own: false },
    { name: "by its anchor", facts: {}, own: true },
    {
      name: "not by another component's anchor",
      facts: { owner: { kind: "ConfigMap", name: anchorOf(other).metadata.name } },
      own: false,
    },
    {
      name: "not by an anchor of the same name in another namespace",
      facts: { namespace: "other" },
      own: false,
    },
    { name: "without owner in the anchor's namespace", facts: { owner: null }, own: true },
    {
      name: "not without owner elsewhere",
      facts: { owner: null, namespace: "other" },
      own: false,
    },
    {
      name: "not with the label of the other kind",
      facts: { label: "knative-eventing" },
      own: false,
    },
  ])("$name: $own", ({ facts, own }) => {
    const { facts: spoke } = reading([anchor], [deployment(facts)]);
    expect(workloadsOf(serving, spoke)).toHaveLength(own ? 1 : 0);
  });
});
