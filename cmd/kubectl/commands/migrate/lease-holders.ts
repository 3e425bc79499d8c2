import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { componentKinds, operatorApiVersion } from "../../../../api/component.ts";
import { recordAt, textAt } from "../../../../api/fields.ts";
import { groupOf, type KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { believedDurationMs } from "../../../../api/shards.ts";
import { accountsOf, flavourOf, roleOf } from "../../hub/find-controller.ts";
import { controllerLeasesIn, isHeldAt } from "../../hub/replicas.ts";
import { itemsAt, numberAt, stringAt } from "../../selection/fields.ts";

/** Who holds the Leases of the two operators now. */
interface LeaseHolders {
  readonly upstream: readonly string[];
  readonly knfleet: readonly string[];
  /** The Leases that prove nothing, in sentences. */
  readonly remarks: readonly string[];
}

interface HeldLease {
  readonly operator: "upstream" | "knfleet";
  readonly namespace: string;
  readonly name: string;
  readonly holder: string;
}

interface HubObjects {
  readonly leases: readonly KubeObject[];
  readonly bindings: readonly KubeObject[];
  readonly nowMs: number;
}

/**
 * Finds who holds the Leases of the two operators. Everybody with a namespace can write a Lease. A Lease counts only where a ClusterRoleBinding, which an administrator
 * writes, makes a ServiceAccount of its namespace an operator. Throws the errors of KubeClient.
 */
export async function readLeaseHolders(
  { leases, bindings, nowMs }: HubObjects,
  hub: Pick<KubeClient, "get">,
  signal: AbortSignal,
): Promise<LeaseHolders> {
  const held = [...heldByKnfleet(leases, nowMs), ...heldByUpstream(leases, nowMs)];
  const proven: HeldLease[] = [];
  for (const lease of held) {
    // oxlint-disable-next-line no-await-in-loop -- rarely more than one Lease needs a request
    if (await isProven(lease, { bindings, hub }, signal)) proven.push(lease);
  }
  const holdersOf = (operator: HeldLease["operator"]): readonly string[] => {
    const own = proven.filter((lease) => lease.operator === operator);
    return [...new Set(own.map(({ holder }) => holder))];
  };
  return {
    upstream: holdersOf("upstream"),
    knfleet: holdersOf("knfleet"),
    remarks: held.filter((lease) => !proven.includes(lease)).map(remarkOf),
  };
}

function remarkOf({ operator, namespace, name, holder }: HeldLease): string {
  const what = operator === "knfleet" ? "knfleet" : "upstream's operator";
  return `Lease ${namespace}/${name}, held by ${holder}, does not count as that of ${what}: no ClusterRoleBinding lets a ServiceAccount of namespace ${namespace} write the status of components. If ${what} is at work there, stop it`;
}

/** Whether a ServiceAccount of the namespace of a Lease has a ClusterRole of an operator, or another one with the rights of an operator, as OLM makes it. */
async function isProven(
  { operator, namespace }: HeldLease,
  { bindings, hub }: Pick<HubObjects, "bindings"> & { readonly hub: Pick<KubeClient, "get"> },
  signal: AbortSignal,
): Promise<boolean> {
  const own = bindings.filter((binding) =>
    accountsOf(binding).some((account) => account.startsWith(`${namespace}/`)),
  );
  const flavours = own.map(flavourOf).filter((flavour) => flavour !== undefined);
  if (flavours.length > 0) return flavours.includes(operator);
  const resource = knownResource("rbac.authorization.k8s.io/v1", "ClusterRole");
  const names = [...new Set(own.map(roleOf))];
  const roles = await Promise.all(names.map((name) => hub.get({ resource, name }, {}, signal)));
  return roles.some((role) => role !== undefined && writesStatus(role));
}

const statusResources = [
  "*",
  "*/status",
  ...Object.values(componentKinds).map(({ plural }) => `${plural}/status`),
];

/** Whether a ClusterRole lets somebody write the status of components, which only an operator does. */
function writesStatus(role: KubeObject): boolean {
  const groups = ["*", groupOf(operatorApiVersion)];
  return itemsAt(role, "rules").some(
    (rule) =>
      hasOne(rule, "apiGroups", groups) &&
      hasOne(rule, "resources", statusResources) &&
      hasOne(rule, "verbs", ["*", "update", "patch"]),
  );
}

function hasOne(rule: unknown, field: string, values: readonly string[]): boolean {
  return itemsAt(rule, field).some((value) => values.includes(String(value)));
}

function heldByKnfleet(leases: readonly KubeObject[], nowMs: number): readonly HeldLease[] {
  return controllerLeasesIn(leases)
    .filter((lease) => isHeldAt(lease, nowMs))
    .map((lease) => ({ operator: "knfleet", ...lease }));
}

/** Knative names a Lease after the package of its reconciler. */
function heldByUpstream(leases: readonly KubeObject[], nowMs: number): readonly HeldLease[] {
  return leases.flatMap((lease): readonly HeldLease[] => {
    const { namespace = "", name } = lease.metadata;
    if (!/knative\.dev\.operator\.pkg\.reconciler\./.test(name)) return [];
    const spec = recordAt(lease, "spec");
    const holder = textAt(spec, "holderIdentity") ?? "";
    const renewed = Date.parse(stringAt(spec, "renewTime") ?? "");
    const durationMs = believedDurationMs((numberAt(spec, "leaseDurationSeconds") ?? 60) * 1_000);
    const isHeld = holder !== "" && renewed + durationMs > nowMs;
    return isHeld ? [{ operator: "upstream", namespace, name, holder }] : [];
  });
}
