import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { listAt, recordAt, textAt } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { itemsAt, numberAt, stringAt } from "../selection/fields.ts";
import { ifDenied } from "../spokes/spoke-reading.ts";
import { type ControllerLease, listControllerLeases } from "./replicas.ts";

/** A Deployment of a controller for the components. */
export interface ControllerDeployment {
  readonly flavour: "knfleet" | "upstream";
  readonly namespace: string;
  readonly name: string;
  readonly serviceAccount: string;
  readonly available: number;
  readonly wanted: number;
  readonly object: KubeObject;
}

/** The controllers of the components. Undefined without the right to list them. */
export interface Controllers {
  readonly deployments: readonly ControllerDeployment[] | undefined;
  readonly leases: readonly ControllerLease[] | undefined;
}

/** Finds the controllers of knfleet and of upstream in all namespaces of the hub. */
export async function findControllers(hub: KubeClient, signal: AbortSignal): Promise<Controllers> {
  const [deployments, leases] = await Promise.all([
    listControllerDeployments(hub, signal).catch(ifDenied),
    listControllerLeases(hub, signal).catch(ifDenied),
  ]);
  return { deployments, leases };
}

/** Lists the Deployments of controllers in all namespaces. Throws the errors of KubeClient. */
export async function listControllerDeployments(
  hub: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<readonly ControllerDeployment[]> {
  const { items } = await hub.list(
    { resource: knownResource("apps/v1", "Deployment") },
    {},
    signal,
  );
  return items.flatMap((object) => controllerOf(object) ?? []);
}

function controllerOf(object: KubeObject): ControllerDeployment | undefined {
  const flavour = flavourOf(object);
  if (flavour === undefined) return undefined;
  const { namespace = "", name } = object.metadata;
  return {
    flavour,
    namespace,
    name,
    serviceAccount: stringAt(object, "spec", "template", "spec", "serviceAccountName") ?? "default",
    available: numberAt(object, "status", "availableReplicas") ?? 0,
    wanted: numberAt(object, "spec", "replicas") ?? 1,
    object,
  };
}

function flavourOf(object: KubeObject): ControllerDeployment["flavour"] | undefined {
  const { name } = object.metadata;
  const words = itemsAt(object, "spec", "template", "spec", "containers").flatMap((container) => [
    stringAt(container, "image") ?? "",
    ...[...itemsAt(container, "command"), ...itemsAt(container, "args")].map(String),
  ]);
  const isOurs = /(?:^|-)knfleet-controller$/.test(name);
  if (isOurs || words.some((word) => /(?:^|\/)knfleet-controller(?:\.\w+)?$/.test(word))) {
    return "knfleet";
  }
  const isUpstream = words.some((word) => word.includes("knative.dev/operator"));
  return name === "knative-operator" || isUpstream ? "upstream" : undefined;
}

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
