import { ifServed } from "../../../access/kube/api-error.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import {
  type Component,
  componentKeyOf,
  type ComponentKind,
  componentKinds,
  operatorApiVersion,
} from "../../../api/component.ts";
import { areConditions, conditionOf } from "../../../api/conditions.ts";
import { isRecord } from "../../../api/fields.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import type { Condition, KubeObject } from "../../../api/kubernetes.ts";
import { scaledToZero } from "../../../api/reasons.ts";
import { knownResource } from "../../../api/resources.ts";
import { UsageError } from "../errors.ts";
import { blockingCondition, conditionCode, isUnderWay } from "../output/condition-code.ts";
import { knfOf } from "../output/knf-of.ts";
import { type OwnReason, ownReasons } from "../output/own-reasons.ts";
import { installCrds, words } from "../output/steps.ts";
import { stringAt } from "../selection/fields.ts";
import { isSelected, missingNames, type Selection } from "../selection/selection.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import type { MalformedObjects } from "./malformed-objects.ts";
import { onSelectedClusters } from "./profiles.ts";

/** The hub does not serve the kinds of a command. `next`: the next step for the user. */
export class NotServedError extends Error {
  override readonly name = "NotServedError";
  readonly next: string;

  constructor(message: string, next: string) {
    super(message);
    this.next = next;
  }
}

/** A hub, its time limit, and where a list puts what has not the form of its kind. */
export type HubReading = Pick<ClusterAccess, "hub" | "hubTimeoutMs" | "malformed">;

/**
 * Lists the selected installations of the hub, with one request a kind. An installation that has not the form of its CRD goes to `access.malformed`; without that,
 * and when it was asked for by name, UsageError is thrown. Throws NotServedError when the hub serves none of the kinds, and the errors of KubeClient.
 */
export async function listInstallations(
  access: HubReading,
  selection: Selection,
  signal: AbortSignal,
): Promise<readonly Component[]> {
  const deadline = withTimeout(systemClock, access.hubTimeoutMs, signal);
  const lists = await Promise.all(
    selection.kinds.map((kind) => listKind(kind, { access, selection }, deadline)),
  );
  if (lists.every((list) => list === undefined)) {
    const kinds = selection.kinds.map((kind) => `"${componentKinds[kind].plural}"`).join(" or ");
    throw new NotServedError(`The server doesn't have a resource type ${kinds}`, installCrds);
  }
  const selected = lists.flatMap((list) => list ?? []);
  return await onSelectedClusters(selected, { access, selection }, deadline);
}

/** What every list says of an installation from its object on the hub. */
export interface InstallationRow {
  readonly namespace: string;
  readonly name: string;
  readonly kind: ComponentKind;
  /** The ClusterProfile of the target; null for the hub itself. */
  readonly cluster: { readonly namespace: string; readonly name: string } | null;
  /** Installed version, as the hub says. */
  readonly version: string | null;
  /** `spec.version`; null when the controller chooses. */
  readonly wantedVersion: string | null;
}

export function installationRow({ kind, metadata, spec, status }: Component): InstallationRow {
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    kind,
    cluster: spec?.clusterProfileRef ?? null,
    version: status?.version ?? null,
    wantedVersion: spec?.version ?? null,
  };
}

/** The selected installations of the hub. */
interface SelectedInstallations {
  readonly components: readonly Component[];
  /** Selected names that no installation has. */
  readonly missing: readonly string[];
}

/** Lists the selected installations, and applies `--failed` and `--reason` to the status on the hub. Throws as `listInstallations` does. */
export async function selectInstallations(
  access: HubReading,
  selection: Selection,
  signal: AbortSignal,
): Promise<SelectedInstallations> {
  const listed = await listInstallations(access, selection, signal);
  return {
    components: inTrouble(listed, selection),
    missing: missingNames(selection, listed.map(componentKeyOf)),
  };
}

/** The components that `--failed` and `--reason` select by their status on the hub, for commands without a live view. */
export function inTrouble(
  components: readonly Component[],
  { failed, reason }: Pick<Selection, "failed" | "reason">,
): readonly Component[] {
  return components.filter((component) => {
    const view = hubViewOf(component);
    const isWell = view.state === "InProgress" || (view.state === "Ready" && view.reason === null);
    if (failed === true && isWell) return false;
    return reason === undefined || isReason(reason, view);
  });
}

/** Whether a reason or its number is the requested one, in any letter case. */
export function isReason(
  requested: string,
  { reason, code }: { readonly reason: string | null; readonly code: string | null },
): boolean {
  return [reason, code].some((word) => word?.toLowerCase() === requested.toLowerCase());
}

async function listKind(
  kind: ComponentKind,
  {
    access: { hub, malformed },
    selection,
  }: { readonly access: HubReading; readonly selection: Selection },
  signal: AbortSignal,
): Promise<readonly Component[] | undefined> {
  const { namespace, labelSelector } = selection;
  const resource = knownResource(operatorApiVersion, kind);
  const list = await ifServed(hub.list({ resource, namespace, labelSelector }, {}, signal));
  const asked = list?.items.filter(({ metadata: { namespace: place = "", name } }) =>
    isSelected(selection, { kind, namespace: place, name }),
  );
  if (malformed === undefined || selection.names.length > 0) {
    return asked?.map((item) => componentOf(item, kind));
  }
  return asked && componentsOf(asked, kind, malformed);
}

/** Items of a list as components. What has not the form of its CRD goes to `malformed`. */
export function componentsOf(
  items: readonly KubeObject[],
  kind: ComponentKind,
  malformed: MalformedObjects,
): readonly Component[] {
  return items.flatMap((item) => {
    const component = wellFormed(item, kind);
    if (component === undefined) malformed.add({ kind, metadata: item.metadata, form: crdForm });
    else malformed.mended(item.metadata.uid);
    return component ?? [];
  });
}

/** What a component of a wrong form has not. */
export const crdForm = "the form of its CRD";

/** An object or an item of a list of that kind, as a component. Throws UsageError for one that another CRD than ours has let in. */
export function componentOf(item: KubeObject, kind: ComponentKind): Component {
  const component = wellFormed(item, kind);
  if (component !== undefined) return component;
  const { namespace = "", name } = item.metadata;
  throw new UsageError(`${kind} ${namespace}/${name} has not ${crdForm}`, [
    words("kubectl", "get", `${kind}.operator.knative.dev`, name, "-n", namespace, "-o", "yaml"),
  ]);
}

function wellFormed(item: KubeObject, kind: ComponentKind): Component | undefined {
  // Items of a list carry neither apiVersion nor kind.
  const object = { ...item, apiVersion: operatorApiVersion, kind };
  return isComponent(object) ? object : undefined;
}

/** The parts that commands go into. The schema of the CRD has checked the rest. */
function isComponent(object: KubeObject): object is Component {
  const { spec = {}, status = {}, metadata } = object;
  if (metadata.namespace === undefined || !isRecord(spec) || !isRecord(status)) return false;
  const { conditions = [], version = "" } = status;
  const isVersion = [version, spec["version"] ?? ""].every((one) => typeof one === "string");
  return isPlaced(spec) && areConditions(conditions) && isVersion;
}

function isPlaced({ clusterProfileRef: ref }: Readonly<Record<string, unknown>>): boolean {
  if (ref === undefined) return true;
  return [stringAt(ref, "namespace"), stringAt(ref, "name")].every((text) => text !== null);
}

/**
 * `InProgress`: an installation or a rollout goes on, and not for too long. `Outdated`: the status is about an older generation of the spec. `Ready` may
 * have a reason, too: something is to be known of it.
 */
export type HubState = "Ready" | "InProgress" | "NotReady" | "Unknown" | "Outdated" | "Deleting";

// The alert on a component that is not ready waits as long.
const longestProgressMs = 15 * 60_000;

/** The status of a component on the hub. */
export interface HubView {
  readonly state: HubState;
  readonly reason: string | null;
  /** The number of the blocking condition, which may be more exact than the reason. Null: nothing blocks. */
  readonly code: KnfCode | null;
  /** Foreign text of the controller that wrote the condition. */
  readonly message: string | null;
  /** When the state began, RFC 3339. */
  readonly since: string | null;
}

/** The status of a component, from its conditions alone. Without `now` nothing takes too long. */
export function hubViewOf({ metadata, spec, status }: Component, now?: Date): HubView {
  const ready = conditionOf(status?.conditions, "Ready");
  const { deletionTimestamp, creationTimestamp } = metadata;
  const conditions = status?.conditions ?? [];
  const isOnHub = spec?.clusterProfileRef === undefined;
  const said = componentCondition(ready, conditions, isOnHub);
  if (deletionTimestamp !== undefined) {
    return { state: "Deleting", ...said, since: deletionTimestamp };
  }
  if (ready === undefined) {
    return { state: "Unknown", ...own("NoStatus"), since: creationTimestamp ?? null };
  }
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return { state: "Outdated", ...said, ...own("NotObserved") };
  }
  return { ...said, ...currentView(ready.status, conditions, now) };
}

/** The view of a status that is up to date. */
function currentView(
  status: Condition["status"],
  conditions: readonly Condition[],
  now: Date | undefined,
): Pick<HubView, "state"> & Partial<HubView> {
  if (status === "True") return { state: "Ready", ...scaleOf(conditions) };
  return { state: isInProgress(conditions, now) ? "InProgress" : states[status] };
}

/** What is to be known of a component that is ready: somebody scaled Deployments of it to zero. */
function scaleOf(conditions: readonly Condition[]): Partial<HubView> {
  const available = conditionOf(conditions, "DeploymentsAvailable");
  if (available?.reason !== scaledToZero) return {};
  const { message = null } = available;
  return { reason: scaledToZero, code: knfOf(scaledToZero), message, since: null };
}

function isInProgress(conditions: readonly Condition[], now: Date | undefined): boolean {
  const blocking = blockingCondition(conditions);
  // A condition Ready alone does not say what goes on.
  if (blocking === undefined || blocking.type === "Ready") return false;
  if (!isUnderWay(blocking)) return false;
  // `Reconciling` begins again with a new spec, also when the component was not ready long before. Upstream's operator does not write it.
  const work = conditionOf(conditions, "Reconciling") ?? conditionOf(conditions, "Ready");
  return !isTooLong(work?.lastTransitionTime ?? null, now);
}

/** Whether what began then has gone on for too long. */
export function isTooLong(since: string | null, now?: Date): boolean {
  const begun = Date.parse(since ?? "");
  return now !== undefined && now.getTime() - begun > longestProgressMs;
}

const states = { False: "NotReady", Unknown: "Unknown" } as const;

function own(reason: OwnReason): Pick<HubView, "reason" | "code" | "message"> {
  return { reason, code: knfOf(reason), message: ownReasons[reason] };
}

function componentCondition(
  ready: Condition | undefined,
  conditions: readonly Condition[],
  isOnHub: boolean,
): Omit<HubView, "state"> {
  const blocking = blockingCondition(conditions);
  const code = blocking === undefined ? null : conditionCode(blocking, conditions);
  return {
    reason: ready?.reason ?? null,
    code: isOnHub && code === "KNF5002" ? "KNF1028" : code,
    message: ready?.message ?? null,
    since: ready?.lastTransitionTime ?? null,
  };
}
