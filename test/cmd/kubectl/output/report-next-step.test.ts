import { expect, test } from "vitest";

import { knfCodes } from "../../../../api/knf/knf-codes.ts";
import { reasons } from "../../../../api/reasons.ts";
import { statusItemOf } from "../../../../cmd/kubectl/fleet/status-item.ts";
import { fleetStatusOf } from "../../../../cmd/kubectl/fleet/status.ts";
import { nextStep, statusNotes } from "../../../../cmd/kubectl/output/notes.ts";
import type { LiveReason } from "../../../../cmd/kubectl/output/own-reasons.ts";
import { stampAt } from "../../../../cmd/kubectl/output/report.ts";
import type { SpokeReading } from "../../../../cmd/kubectl/spokes/spoke-facts.ts";
import type { UnreadSpoke } from "../../../../cmd/kubectl/spokes/spoke-reading.ts";
import { anchorOf, component, deployment, now, reading } from "../fleet-facts.ts";

const ready = component();
const failed = (reason: string, message = "") =>
  component({ ready: { status: "False", reason, message } });
const unread = (state: UnreadSpoke["state"], reason: LiveReason): SpokeReading => ({
  kind: "unread",
  state,
  reason,
  message: "",
});
const list = "kubectl knfleet deployments ks/knative-serving -n team-a";
const renewal = `${knfCodes.KNF5001.next} For a registered cluster: kubectl knfleet register fleet/spoke-1`;
const describe = "kubectl describe knativeserving.operator.knative.dev knative-serving -n team-a";

test("the causes of a status have the same steps", () => {
  const said = { status: "False", reason: "AccessProviderFailed" } as const;
  const items = ["CredentialRejected", "PluginNotFound"].map((code, at) => {
    const condition = { ...said, message: `[${code}] https://eu-1` };
    const facts = { ready: condition, namespace: `team-${at}` };
    return statusItemOf(component(facts), undefined);
  });
  const report = fleetStatusOf(items, [], stampAt(now));
  const commands = { kubectl: "kubectl", knfleet: "kubectl knfleet" };
  expect(statusNotes(report, { commands, narrowed: false })).toEqual(
    expect.arrayContaining([
      `  1 × KNF5001 AccessProviderFailed: ${renewal}`,
      `  1 × KNF3006 AccessProviderFailed: ${knfCodes.KNF3006.next}`,
    ]),
  );
});

test.each([
  {
    name: "Deployments that are not available",
    of: ready,
    said: reading([anchorOf(ready)], [deployment({ available: false })]),
    next: list,
  },
  {
    name: "a spoke that does not answer",
    of: ready,
    said: unread("Unreachable", "Timeout"),
    next: knfCodes.KNF4009.next,
  },
  {
    name: "a missing right",
    of: ready,
    said: unread("Denied", "Forbidden"),
    next: knfCodes.KNF5002.next,
  },
  {
    name: "a refused credential",
    of: ready,
    said: unread("Denied", "CredentialRejected"),
    next: renewal,
  },
  {
    name: "a provider that does not match",
    of: ready,
    said: unread("NoAccess", "NoMatchingProvider"),
    next: reasons.MulticlusterDisabled.next,
  },
  {
    name: "a plugin that fails",
    of: ready,
    said: unread("NoAccess", "PluginFailed"),
    next: reasons.AccessProviderFailed.next,
  },
  {
    name: "a refused credential that the hub has noticed",
    of: failed("AccessProviderFailed", "[CredentialRejected] https://eu-1 refuses the credential"),
    said: unread("Denied", "CredentialRejected"),
    next: renewal,
  },
  {
    name: "a wrong authority",
    of: ready,
    said: unread("Unreachable", "TLSUntrusted"),
    next: knfCodes.KNF4010.next,
  },
  {
    name: "a wrong authority that the hub has noticed",
    of: failed("RemoteClientCreationFailed", "[TLSUntrusted] https://eu-1 shows a certificate"),
    said: unread("Unreachable", "TLSUntrusted"),
    next: knfCodes.KNF4010.next,
  },
  {
    name: "a wrong authority that knfleet's own check has noticed",
    of: failed("ClusterProfileNotReady", "a/b has none: it is False TLSUntrusted: https://x"),
    said: unread("Unreachable", "TLSUntrusted"),
    next: knfCodes.KNF4010.next,
  },
  {
    name: "a missing right that the hub has noticed",
    of: failed("RemoteClientCreationFailed", '[Forbidden] User "hub" cannot list namespaces'),
    said: undefined,
    next: knfCodes.KNF5002.next,
  },
  {
    name: "a missing right on the hub itself",
    of: failed("ApplyFailed", "[Forbidden] The hub: GET /api/v1/namespaces/a is not allowed"),
    said: undefined,
    next: knfCodes.KNF1028.next,
  },
  {
    name: "a plugin that the hub does not find",
    of: failed("AccessProviderFailed", "[PluginNotFound] /plugins/secretreader"),
    said: undefined,
    next: knfCodes.KNF3006.next,
  },
  {
    name: "a provider that fails without a code",
    of: failed("AccessProviderFailed"),
    said: undefined,
    next: reasons.AccessProviderFailed.next,
  },
  {
    name: "a reason of upstream with a message that tells the cause",
    of: failed("Error", "spec.ingress.kourier.service-type is not known"),
    said: undefined,
    next: knfCodes.KNF1017.next,
  },
  {
    name: "a reason of upstream that tells no cause",
    of: failed("Error", "Install failed with message: no such host"),
    said: undefined,
    next: describe,
  },
  { name: "a cluster without it", of: ready, said: reading([], []), next: knfCodes.KNF6004.next },
  {
    name: "a reason of the catalogue",
    of: failed("AnchorConflict"),
    said: undefined,
    next: reasons.AnchorConflict.next,
  },
  {
    name: "a deletion that a finalizer holds",
    of: failed("ClusterBusy", "Waiting for the deletion of ConfigMap a/b (finalizer c.d/e)"),
    said: undefined,
    next: knfCodes.KNF6014.next,
  },
  {
    name: "a deletion that a webhook refuses",
    of: failed(
      "ClusterBusy",
      "Waiting for the deletion of ConfigMap a/b: the admission webhook c.d denies it",
    ),
    said: undefined,
    next: knfCodes.KNF6012.next,
  },
  {
    name: "a cluster that is being detached",
    of: failed(
      "ClusterBusy",
      "ManagedCluster eu has been going since 2026-01-01, and gets no works",
    ),
    said: undefined,
    next: knfCodes.KNF2016.next,
  },
  {
    name: "an installation in progress",
    of: component({ ready: { status: "Unknown" } }),
    said: reading([anchorOf(ready)], [deployment({ available: false })]),
    next: list,
  },
  { name: "upstream's NotReady", of: failed("NotReady"), said: undefined, next: list },
  { name: "a reason of somebody else", of: failed("Whatever"), said: undefined, next: describe },
])("after $name comes $next", ({ of, said, next }) => {
  expect(nextStep(statusItemOf(of, said))).toBe(next);
});
