import { expect, test } from "vitest";

import { reasons } from "../../../../api/reasons.ts";
import { statusItemOf } from "../../../../cmd/kubectl/commands/status/status-item.ts";
import { nextStep } from "../../../../cmd/kubectl/output/notes.ts";
import type { LiveReason } from "../../../../cmd/kubectl/output/own-reasons.ts";
import type { SpokeReading } from "../../../../cmd/kubectl/spokes/spoke-facts.ts";
import type { UnreadSpoke } from "../../../../cmd/kubectl/spokes/spoke-reading.ts";
import { anchorOf, component, deployment, reading } from "../fleet-facts.ts";

const ready = component();
const failed = (reason: string) => component({ ready: { status: "False", reason } });
const unread = (state: UnreadSpoke["state"], reason: LiveReason): SpokeReading => ({
  kind: "unread",
  state,
  reason,
  message: "",
});
const list = "kubectl knfleet deployments ks/knative-serving -n team-a";
const describe = "kubectl describe knativeserving.operator.knative.dev knative-serving -n team-a";

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
    next: reasons.RemoteClientCreationFailed.next,
  },
  {
    name: "a missing right",
    of: ready,
    said: unread("Denied", "Forbidden"),
    next: "Bind the ClusterRole of docs/spoke-role.yaml on the spoke to the identity that the provider gives.",
  },
  {
    name: "a refused credential",
    of: ready,
    said: unread("Denied", "CredentialRejected"),
    next: "Renew the credential that the profile's provider hands out.",
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
  { name: "a cluster without it", of: ready, said: reading([], []), next: describe },
  {
    name: "a reason of the catalogue",
    of: failed("AnchorConflict"),
    said: undefined,
    next: reasons.AnchorConflict.next,
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
