import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import {
  type Component,
  type ComponentKey,
  componentKinds,
  operatorApiVersion,
} from "../../../../api/component.ts";
import { conditionOf } from "../../../../api/conditions.ts";
import { componentId, targetId } from "../../../../api/keys.ts";
import { knfCodes } from "../../../../api/knf/knf-codes.ts";
import { type Condition, describe } from "../../../../api/kubernetes.ts";
import { scaledToZero } from "../../../../api/reasons.ts";
import { knownResource } from "../../../../api/resources.ts";
import { listAnchors } from "../../../../controller/apply/anchor/list-anchors.ts";
import { asComponent } from "../../../../controller/component-identity.ts";
import { olderDuplicateOf } from "../../../../controller/reconcile/claims.ts";
import { installedRival } from "../../../../controller/reconcile/installed-rival.ts";
import { componentsOf } from "../../hub/installations.ts";
import { MalformedObjects } from "../../hub/malformed-objects.ts";
import {
  blockingCondition,
  conditionCode,
  isUnderWay,
  workMessage,
} from "../../output/condition-code.ts";
import { oneOfTwo, words } from "../../output/steps.ts";
import { ifDenied } from "../../spokes/spoke-reading.ts";
import type { WalkContext } from "../walk.ts";
import { upstreamWayOut } from "../words/causes.ts";
import {
  failed,
  finding,
  type Finding,
  type HopResult,
  passed,
  passedWith,
  skipped,
} from "./hop.ts";
import { readStoredObject } from "./profile-hops.ts";
import { type FindWebhook, webhookNamedIn } from "./silent-webhook.ts";

/** Reads the component, and checks whether its controller has observed the spec. */
export async function readComponent(
  key: ComponentKey,
  { hub, now }: WalkContext,
  signal: AbortSignal,
): Promise<HopResult<Component>> {
  const { kind, namespace, name } = key;
  const resource = knownResource(operatorApiVersion, kind);
  const object = await readStoredObject({ resource, namespace, name }, hub, signal);
  const component = asComponent(object);
  if (component === undefined) {
    return failed("KNF1010", `${describe(key)} does not exist`, {
      next: ["kubectl knfleet status -A"],
    });
  }
  const generation = component.metadata.generation ?? 0;
  const observed = component.status?.observedGeneration ?? 0;
  const version = component.status?.version ?? "none";
  const text = `generation ${generation}, observed ${observed}, version ${version}`;
  const ageMs = now().getTime() - Date.parse(component.metadata.creationTimestamp ?? "");
  return passedWith(component, text, { findings: observationFindings(component, ageMs) });
}

// A controller writes the first status within half a second.
const firstStatusMs = 10_000;

function observationFindings({ metadata, status }: Component, ageMs: number): readonly Finding[] {
  if (metadata.deletionTimestamp !== undefined) return [];
  const hasNone = (status?.conditions ?? []).length === 0;
  if (hasNone && ageMs > firstStatusMs) {
    const message = "No controller has written a status yet";
    return [finding("error", "KNF1011", { message })];
  }
  if (!hasNone && (status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    const message = "The conditions are about an older generation of the spec";
    return [finding("warning", "KNF1011", { message })];
  }
  return [];
}

const deletionGraceMs = 60_000;

/** Reports how long a deletion takes and what holds it; after a minute that is an error. */
export function checkDeletion(
  component: Component,
  { now }: Pick<WalkContext, "now">,
): HopResult<true> {
  const { deletionTimestamp = "", finalizers = [], uid, name, namespace } = component.metadata;
  const ageMs = Math.max(0, now().getTime() - Date.parse(deletionTimestamp));
  const text = `deleted ${Math.round(ageMs / 1_000)} s ago, held by ${finalizers.join(", ")}`;
  if (ageMs < deletionGraceMs) return passed(true, text);
  const conditions = component.status?.conditions ?? [];
  const isProfileUnavailable = conditions.some(
    ({ reason }) => reason === "ClusterProfileUnavailable",
  );
  const said = conditions
    .filter(({ status, message = "" }) => status !== "True" && message !== "")
    .map(({ type, reason = "", message = "" }) => `${type}: ${reason}: ${message}`);
  const key = [componentKinds[component.kind].plural, name, "-n", namespace];
  return passedWith(true, text, {
    findings: [
      finding("error", "KNF1012", {
        message: `${componentId(component)}: ${text}`,
        evidence: said.slice(0, 3),
        next: [
          "Remove the cause that the walk found; the deletion then goes on by itself.",
          ...(isProfileUnavailable ? [upstreamWayOut] : []),
          "Or give the cluster up, which leaves everything on it:",
          words("kubectl", "annotate", ...key, `knfleet.dev/force-orphan=${uid}`),
        ],
      }),
    ],
  });
}

/** Checks whether other components of the kind name the same ClusterProfile, or are for the hub, too. */
export async function checkDuplicates(
  component: Component,
  { hub }: WalkContext,
  signal: AbortSignal,
): Promise<HopResult<true>> {
  const all = await listComponents(component.kind, hub, signal);
  if (all === undefined) return skipped("components of all namespaces may not be listed");
  const others = all.filter(
    (other) =>
      other.metadata.uid !== component.metadata.uid && targetId(other) === targetId(component),
  );
  if (others.length === 0)
    return passed(true, `the only ${component.kind} of ${placeOf(component)}`);
  const older = olderDuplicateOf(component, all);
  const other = older ?? others[0] ?? component;
  const message =
    older === undefined
      ? `The younger ${componentId(other)} is for the same cluster`
      : `${componentId(other)} has the same cluster and is older`;
  const severity = older === undefined ? "warning" : "error";
  return passedWith(true, message, {
    findings: [finding(severity, "KNF1013", { message, next: oneOfTwo(component, other) })],
  });
}

/** Checks whether another component of the kind is installed on the cluster, through another ClusterProfile. */
export async function checkRival(
  component: Component,
  { hub, client }: Readonly<Record<"hub" | "client", KubeClient>>,
  signal: AbortSignal,
): Promise<HopResult<true>> {
  const [all, anchors] = await Promise.all([
    listComponents(component.kind, hub, signal),
    listAnchors(client, signal),
  ]);
  if (all === undefined) return skipped("components of all namespaces may not be listed");
  if (anchors === undefined) return skipped("ConfigMaps of the cluster may not be listed");
  const rival = installedRival(component, anchors, all);
  if (rival === undefined) return passed(true, noRivalMessage(component));
  const found = rivalFinding(component, rival);
  return passedWith(true, found.message, { findings: [found] });
}

/** The finding about a component that cannot be installed, because `rival` is installed on the same cluster. */
export function rivalFinding(component: Component, rival: Component): Finding {
  const message = `${componentId(rival)} is installed on the same cluster, which is ${placeOf(rival)} too`;
  return finding("error", "KNF1013", { message, next: oneOfTwo(component, rival) });
}

/** The sentence about a component that has its cluster for itself. */
export function noRivalMessage({ kind }: Component): string {
  return `no other ${kind} is installed there`;
}

function placeOf({ spec }: Component): string {
  const ref = spec?.clusterProfileRef;
  return ref === undefined ? "the hub" : describe({ kind: "ClusterProfile", ...ref });
}

/** The components of a kind in all namespaces of the hub; undefined when they may not be listed. */
export async function listComponents(
  kind: Component["kind"],
  hub: KubeClient,
  signal: AbortSignal,
): Promise<readonly Component[] | undefined> {
  const resource = knownResource(operatorApiVersion, kind);
  const list = await hub.list({ resource }, {}, signal).catch(ifDenied);
  // Who asks about one component is not told of others that have not the form of their CRD.
  return list && componentsOf(list.items, kind, new MalformedObjects());
}

/** Asks the cluster why it refuses the object that a message of the controller names; undefined without an answer. */
export type AskRefusal = (message: string) => Promise<string | undefined>;

/** What the conditions of a component are looked at with. */
interface ConditionTools {
  readonly askRefusal: AskRefusal;
  /** Finds the webhook that a message of the controller names. */
  readonly findWebhook: FindWebhook;
  /** The command that compares the cluster with what is wanted. */
  readonly compare: string;
}

/** Checks the controller's conditions, which may be older than the walk's own findings. */
export async function checkConditions(
  { status }: Component,
  tools: ConditionTools,
): Promise<HopResult<true>> {
  const conditions = status?.conditions ?? [];
  const ready = conditionOf(conditions, "Ready");
  if (ready === undefined) return passed(true, "there are none");
  const text = `Ready=${ready.status} ${ready.reason ?? ""}`.trim();
  const blocking = blockingCondition(conditions);
  if (blocking === undefined)
    return passedWith(true, text, { findings: scaleFindings(conditions) });
  return passedWith(true, text, {
    findings: [await findingOfCondition(blocking, conditions, tools)],
  });
}

/** What is to be known of a component that is ready. */
function scaleFindings(conditions: readonly Condition[]): readonly Finding[] {
  const available = conditionOf(conditions, "DeploymentsAvailable");
  if (available?.reason !== scaledToZero) return [];
  return [finding("warning", "KNF6015", { message: available.message ?? scaledToZero })];
}

async function findingOfCondition(
  condition: Condition,
  conditions: readonly Condition[],
  { askRefusal, findWebhook, compare }: ConditionTools,
): Promise<Finding> {
  const { type, status, reason = "", message = "", lastTransitionTime } = condition;
  const code = conditionCode(condition, conditions) ?? "KNF1018";
  const since = `since ${lastTransitionTime ?? "(not known)"}`;
  const text = `${type}=${status} ${reason}: ${message}`;
  const severity = isUnderWay(condition) ? "warning" : "error";
  if (code === "KNF6016") {
    const { evidence, next } = await findWebhook(webhookNamedIn(message));
    return finding(severity, code, { message: text, evidence: [since, ...evidence], next });
  }
  if (code !== "KNF6012") return finding(severity, code, { message: text, evidence: [since] });
  const refusal = await askRefusal(workMessage(condition));
  if (refusal !== undefined) {
    return finding(severity, code, { message: `${text}; it says: ${refusal}`, evidence: [since] });
  }
  const next = [knfCodes[code].next, compare];
  return finding(severity, code, { message: text, evidence: [since], next });
}
