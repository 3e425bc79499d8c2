import { targetId } from "../../../../api/keys.ts";
import type { LiveReason } from "../../../../cmd/kubectl/output/own-reasons.ts";
import type { Readings } from "../../../../cmd/kubectl/spokes/read-clusters.ts";
import type { SpokeReading } from "../../../../cmd/kubectl/spokes/spoke-facts.ts";
import { anchorOf, component, deployment, ownAnchorOf, reading } from "../fleet-facts.ts";

const healthy = component({ wanted: "1.23" });
const degraded = component({ kind: "KnativeEventing", cluster: "spoke-2" });
const missing = component({ namespace: "team-b", cluster: "spoke-3" });
const unreachable = component({ namespace: "team-c", cluster: "spoke-4" });
const denied = component({ namespace: "team-c", name: "second", cluster: "spoke-5" });
const deleting = component({
  namespace: "team-d",
  cluster: "spoke-1",
  deletedAt: "2026-11-21T11:59:15Z",
});
const failing = component({
  namespace: "team-e",
  cluster: "spoke-6",
  ready: {
    status: "False",
    reason: "ClusterProfileNotFound",
    message: "ClusterProfile fleet/spoke-6 does not exist\u001b[2J",
    lastTransitionTime: "2026-11-20T12:00:00Z",
  },
  status: undefined,
});
const local = component({ kind: "KnativeEventing", namespace: "team-f", cluster: null });
const fresh = component({ namespace: "team-g", cluster: "spoke-1", status: {} });

const rolling = component({
  namespace: "team-h",
  cluster: "spoke-7",
  status: {
    observedGeneration: 1,
    version: "1.22.0",
    conditions: ["DeploymentsAvailable", "Ready"].map((type) => ({
      type,
      status: "False",
      reason: "RollingOut",
      message: "1 of 2 not available: webhook (rolling out, no new pod yet)",
      lastTransitionTime: "2026-11-21T11:59:30Z",
    })),
  },
});
const scaled = component({ namespace: "team-i", cluster: "spoke-8" });

/** A fleet with one installation in each state that a row can show. */
export const sampleComponents = [
  healthy,
  degraded,
  missing,
  unreachable,
  denied,
  deleting,
  failing,
  local,
  fresh,
  rolling,
  scaled,
];

const eventing = { label: "knative-eventing", owner: ownerOf(degraded) };
const spokeReadings: readonly (readonly [typeof healthy, SpokeReading])[] = [
  [healthy, reading([anchorOf(healthy)], [deployment(), deployment({ name: "webhook" })])],
  [
    degraded,
    reading(
      [anchorOf(degraded)],
      [
        deployment({ ...eventing, name: "eventing-controller", replicas: 2 }),
        deployment({ ...eventing, name: "imc-dispatcher", available: false }),
      ],
    ),
  ],
  [
    missing,
    reading(
      [ownAnchorOf(missing, ["controller", "webhook"])],
      [deployment({ namespace: "team-b" })],
    ),
  ],
  [unreachable, unread("Unreachable", "Timeout", "No answer within 10 s")],
  [denied, unread("Denied", "CredentialRejected", "The spoke does not accept the credential")],
  [
    failing,
    unread("NoAccess", "ClusterProfileNotFound", "ClusterProfile fleet/spoke-6 does not exist"),
  ],
  [
    rolling,
    reading(
      [anchorOf(rolling)],
      [
        deployment({ namespace: "team-h" }),
        deployment({ namespace: "team-h", name: "webhook", observedGeneration: 1 }),
      ],
    ),
  ],
  [
    scaled,
    reading(
      [anchorOf(scaled)],
      [
        deployment({ namespace: "team-i", name: "activator", scaledBy: "kubectl" }),
        deployment({ namespace: "team-i" }),
      ],
    ),
  ],
  [
    local,
    reading(
      [],
      [
        deployment({
          ...eventing,
          namespace: "team-f",
          owner: { kind: "KnativeEventing", name: "knative-eventing" },
        }),
      ],
    ),
  ],
];

/** What was read of the clusters of `sampleComponents`. */
export const sampleReadings: Readings = new Map(
  spokeReadings.map(([of, said]) => [targetId(of), said]),
);

function ownerOf(of: typeof healthy): { readonly kind: string; readonly name: string } {
  return { kind: "ConfigMap", name: anchorOf(of).metadata.name };
}

function unread(
  state: "Unreachable" | "Denied" | "NoAccess",
  reason: LiveReason,
  message: string,
): SpokeReading {
  return { kind: "unread", state, reason, message };
}
