import { ifServed } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { listAt, recordAt, textAt } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { UsageError } from "../errors.ts";
import { itemsAt, numberAt, stringAt } from "../selection/fields.ts";
import { ifDenied } from "../spokes/spoke-reading.ts";
import { type ControllerLease, listControllerLeases } from "./replicas.ts";

type Flavour = "knfleet" | "upstream";

/** A Deployment of a controller for the components. */
export interface ControllerDeployment {
  readonly flavour: Flavour;
  readonly namespace: string;
  readonly name: string;
  readonly serviceAccount: string;
  readonly available: number;
  readonly wanted: number;
  readonly object: KubeObject;
}

/** The controllers of the components. Undefined without the right to list them, or what proves them. */
export interface Controllers {
  readonly deployments: readonly ControllerDeployment[] | undefined;
  readonly leases: readonly ControllerLease[] | undefined;
}

/** What a user needs to know the controllers. */
export const controllerRights =
  "the right to list deployments.apps or clusterrolebindings.rbac.authorization.k8s.io";

/** Finds the controllers of knfleet and of upstream in all namespaces of the hub. */
export async function findControllers(hub: KubeClient, signal: AbortSignal): Promise<Controllers> {
  const [controllers, leases] = await Promise.all([
    listControllers(hub, signal).catch(ifDenied),
    listControllerLeases(hub, signal).catch(ifDenied),
  ]);
  if (controllers === undefined) return { deployments: undefined, leases: undefined };
  const { deployments, bindings } = controllers;
  return { deployments, leases: leases && provenLeases(leases, bindings) };
}

/** The Leases in namespaces where a ClusterRoleBinding makes a ServiceAccount the controller. Everybody with a namespace can write the others. Security: T-16. */
export function provenLeases(
  leases: readonly ControllerLease[],
  bindings: readonly KubeObject[],
): readonly ControllerLease[] {
  const ours = bindings.filter((binding) => flavourOf(binding) === "knfleet");
  const namespaces = new Set(ours.flatMap(accountsOf).map((account) => account.split("/")[0]));
  return leases.filter(({ namespace }) => namespaces.has(namespace));
}

/** Lists the Deployments of controllers in all namespaces. Throws the errors of KubeClient, also for a right that is missing. */
export async function listControllerDeployments(
  hub: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<readonly ControllerDeployment[]> {
  return (await listControllers(hub, signal)).deployments;
}

/** Lists the controllers, and all ClusterRoleBindings, which prove them. Throws the errors of KubeClient. */
export async function listControllers(
  hub: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<{
  readonly deployments: readonly ControllerDeployment[];
  readonly bindings: readonly KubeObject[];
}> {
  const resource = knownResource("apps/v1", "Deployment");
  // A bundle without one of the kinds proves no controller.
  const [deployments, bindings] = await Promise.all([
    ifServed(hub.list({ resource }, {}, signal)),
    listBindings(hub, signal),
  ]);
  return { deployments: controllersAmong(deployments?.items ?? [], bindings), bindings };
}

/** Lists all ClusterRoleBindings. Throws the errors of KubeClient. */
export async function listBindings(
  hub: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const resource = knownResource("rbac.authorization.k8s.io/v1", "ClusterRoleBinding");
  return (await ifServed(hub.list({ resource }, {}, signal)))?.items ?? [];
}

/**
 * The controllers among Deployments. Only an administrator writes ClusterRoleBindings, so a Deployment is a controller when its ServiceAccount has the ClusterRole
 * of one. Its name, labels, arguments and annotations prove nothing: everybody with a namespace can write them. Security: T-16.
 */
export function controllersAmong(
  deployments: readonly KubeObject[],
  bindings: readonly KubeObject[],
): readonly ControllerDeployment[] {
  const flavours = new Map(
    bindings.flatMap((binding) => {
      const flavour = flavourOf(binding);
      return accountsOf(binding).flatMap((account) =>
        flavour === undefined ? [] : [[account, flavour] as const],
      );
    }),
  );
  return deployments.flatMap((object) => {
    const flavour = flavours.get(accountOf(object));
    if (flavour === undefined) return [];
    const { namespace = "", name } = object.metadata;
    const serviceAccount = serviceAccountOf(object);
    const available = numberAt(object, "status", "availableReplicas") ?? 0;
    const wanted = numberAt(object, "spec", "replicas") ?? 1;
    return [{ flavour, namespace, name, serviceAccount, available, wanted, object }];
  });
}

function serviceAccountOf(deployment: KubeObject): string {
  return stringAt(deployment, "spec", "template", "spec", "serviceAccountName") ?? "default";
}

/** `namespace/name` of the ServiceAccount of a Deployment. */
export function accountOf(deployment: KubeObject): string {
  return `${deployment.metadata.namespace ?? ""}/${serviceAccountOf(deployment)}`;
}

/** `namespace/name` of the ServiceAccounts of a binding. */
export function accountsOf(binding: KubeObject): readonly string[] {
  return itemsAt(binding, "subjects").flatMap((subject) => {
    const kind = stringAt(subject, "kind");
    const name = stringAt(subject, "name") ?? "";
    if (kind === "ServiceAccount") return [`${stringAt(subject, "namespace") ?? ""}/${name}`];
    // RBAC takes the user of this name for the ServiceAccount. Other users run no pods.
    const [, place, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name) ?? [];
    return kind === "User" && account !== undefined ? [`${place}/${account}`] : [];
  });
}

/** The ClusterRoles of upstream's operator, which have these names in its chart and in its manifests. */
const upstreamRoles = ["knative-serving-operator", "knative-eventing-operator"];

/** The ClusterRole of docs/hub-role.yaml. */
const plainRole = "knfleet-hub";

/** Whose controller the ServiceAccounts of a ClusterRoleBinding run. Undefined: it is not a binding of a controller. */
export function flavourOf(binding: KubeObject): Flavour | undefined {
  const role = roleOf(binding);
  if (upstreamRoles.includes(role)) return "upstream";
  const { labels = {} } = binding.metadata;
  // The chart names the role after its release.
  const isOfChart =
    labels["app.kubernetes.io/part-of"] === "knfleet" &&
    labels["app.kubernetes.io/component"] === "controller" &&
    role.endsWith("-controller");
  return isOfChart || role === plainRole ? "knfleet" : undefined;
}

/** The name of the ClusterRole of a ClusterRoleBinding. */
export function roleOf(binding: KubeObject): string {
  return stringAt(binding, "roleRef", "name") ?? "";
}

/** The controller of a flavour; undefined when there is none. Throws UsageError when several Deployments may be it. */
export function onlyController(
  controllers: readonly ControllerDeployment[],
  flavour: Flavour,
): ControllerDeployment | undefined {
  const several = severalText(controllers, flavour);
  if (several === undefined) return soleController(controllers, flavour);
  throw new UsageError(several, severalSteps);
}

/** The controller of a flavour for what is only shown; undefined when there is none, and when several may be it, which `severalText` says. */
export function soleController(
  controllers: readonly ControllerDeployment[],
  flavour: Flavour,
): ControllerDeployment | undefined {
  const [first, ...more] = controllers.filter((one) => one.flavour === flavour);
  return more.length === 0 ? first : undefined;
}

/** Names the Deployments that may be the controller of a flavour; undefined when they are not several. */
export function severalText(
  controllers: readonly ControllerDeployment[],
  flavour: Flavour,
): string | undefined {
  const all = controllers.filter((one) => one.flavour === flavour);
  if (all.length < 2) return undefined;
  const names = all.map(({ namespace, name }) => `Deployment ${namespace}/${name}`);
  const what = flavour === "knfleet" ? "the controller of knfleet" : "upstream's operator";
  return `${all.length} Deployments of the hub may be ${what}: ${names.join(", ")}`;
}

/** What to do where several Deployments may be one controller. */
export const severalSteps: readonly string[] = [
  "Delete the one that is not, or take its ServiceAccount out of these bindings:",
  "kubectl get clusterrolebindings --output wide",
];

/** The value of a flag of a Deployment's containers. Undefined when it is not set. */
export function flagOf(controller: ControllerDeployment, flag: string): string | undefined {
  return flagValuesOf(controller, flag)[0];
}

/** All values of a flag that can be repeated. */
export function flagValuesOf({ object }: ControllerDeployment, flag: string): readonly string[] {
  return itemsAt(object, "spec", "template", "spec", "containers").flatMap((container) => {
    const words = [...itemsAt(container, "command"), ...itemsAt(container, "args")].map(String);
    return words.flatMap((word, at) => {
      if (word.startsWith(`${flag}=`)) return [word.slice(flag.length + 1)];
      return word === flag ? (words[at + 1] ?? []) : [];
    });
  });
}

/** The literal value of an environment variable in a Deployment's containers. */
export function variableOf({ object }: ControllerDeployment, name: string): string | undefined {
  for (const container of itemsAt(object, "spec", "template", "spec", "containers")) {
    const found = listAt(recordAt(container), "env").find(
      (entry) => textAt(recordAt(entry), "name") === name,
    );
    if (found !== undefined) return textAt(recordAt(found), "value");
  }
  return undefined;
}
