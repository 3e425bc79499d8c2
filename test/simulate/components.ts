import { type ComponentKind, operatorApiVersion } from "../../api/component.ts";
import { fleetSetApiVersion } from "../../api/fleet-set.ts";
import type { Manifest, ObjectKey } from "../../api/kubernetes.ts";
import { fleetNamespace } from "./fleet.ts";
import { verifyOf } from "./users.ts";

export const kinds: readonly [ComponentKind, ...ComponentKind[]] = [
  "KnativeEventing",
  "KnativeServing",
];

/** The spec of a component of a kind, without its version and cluster. */
function usualSpec(kind: ComponentKind): Readonly<Record<string, unknown>> {
  if (kind === "KnativeEventing") return {};
  return {
    ingress: { kourier: { enabled: true } },
    config: { network: { "ingress-class": "kourier.ingress.networking.knative.dev" } },
  };
}

/** The key of the component of a kind that users write for a spoke. */
export function ownKey(kind: ComponentKind, spoke: string): ObjectKey {
  const name = `${kind === "KnativeServing" ? "serving" : "eventing"}-${spoke}`;
  return { apiVersion: operatorApiVersion, kind, namespace: fleetNamespace, name };
}

/** A component that users write. */
export function ownComponent(kind: ComponentKind, spoke: string, version: string): Manifest {
  const { namespace = "", name } = ownKey(kind, spoke);
  const clusterProfileRef = { namespace: fleetNamespace, name: spoke };
  return {
    apiVersion: operatorApiVersion,
    kind,
    metadata: { namespace, name },
    spec: { version, ...usualSpec(kind), clusterProfileRef },
  };
}

/** The key of the set of a kind. */
export function setKey(kind: ComponentKind): ObjectKey {
  const name = kind === "KnativeServing" ? "serving" : "eventing";
  return { apiVersion: fleetSetApiVersion, kind: `${kind}Set`, namespace: fleetNamespace, name };
}

/** How many clusters of a stage may change at the same time. */
export interface StageBudgets {
  readonly canary: number;
  readonly rest: number;
}

/** What the rollouts of a fleet wait for. */
export interface SetRules {
  /** The first stage is passed when a user says so. */
  readonly needsApproval: boolean;
  /** Clusters are asked what their users notice. */
  readonly verifies: boolean;
  /** The gate is one of those who are asked. */
  readonly asksGate: boolean;
  readonly minReadySeconds: number;
  /** How long the first stage stays as it is before the next one begins. */
  readonly soakMs: number;
  /** How many clusters of a stage may fail. */
  readonly maxFailures: number;
  /** A cluster that is not ready for so long after its stamp fails; Infinity: none does. */
  readonly deadlineMs: number;
  /** A rollout that failed goes back by itself. */
  readonly goesBack: boolean;
}

/** The set of a kind: all spokes, in two stages by the label `ring`. */
export function setOf(
  kind: ComponentKind,
  version: string,
  budgets: StageBudgets,
  rules: SetRules,
): Manifest {
  const { apiVersion, kind: setKind, namespace = "", name } = setKey(kind);
  const stageOf = (stage: keyof StageBudgets, ring: string): object => ({
    name: stage,
    selector: { matchLabels: { ring } },
    maxConcurrency: budgets[stage],
    maxFailures: rules.maxFailures,
    maxUnreachable: 0,
  });
  const { needsApproval: approval, soakMs, deadlineMs } = rules;
  const after = { approval, soak: `${soakMs / 1_000}s` };
  return {
    apiVersion,
    kind: setKind,
    metadata: { namespace, name },
    spec: {
      clusters: { from: "Selector", selector: {} },
      rollout: {
        stages: [{ ...stageOf("canary", "0"), after }, stageOf("rest", "1")],
        minReadySeconds: rules.minReadySeconds,
        ...(rules.verifies && { verify: verifyOf(rules.asksGate) }),
        maxUnreachable: 0,
        progressDeadline: deadlineMs === Infinity ? "None" : `${deadlineMs / 1_000}s`,
        ...(rules.goesBack && { onFailure: "Rollback" }),
      },
      template: { spec: { version, ...usualSpec(kind) } },
    },
  };
}
