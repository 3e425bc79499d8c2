import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { findControllers, type ControllerDeployment } from "../diagnose/find-controller.ts";
import { plainVersion, tagOf } from "./image-version.ts";

/** An image, and its version where its tag tells one. */
interface NamedImage {
  readonly name: string;
  readonly image: string;
  readonly version: string | null;
}

/** What works on the components of the hub. */
export interface ControllerVersion {
  readonly flavour: ControllerDeployment["flavour"];
  readonly namespace: string;
  readonly name: string;
  readonly image: string | null;
  readonly version: string | null;
  /** Images that bring exec plugins: those of volumes and of init containers. */
  readonly plugins: readonly NamedImage[];
}

/** The controllers of the hub; null when we may not look. */
export async function controllerVersions(
  hub: KubeClient,
  signal: AbortSignal,
): Promise<readonly ControllerVersion[] | null> {
  const { deployments } = await findControllers(hub, signal);
  return deployments?.map(versionOf) ?? null;
}

function versionOf({ flavour, namespace, name, object }: ControllerDeployment): ControllerVersion {
  const pod = ["spec", "template", "spec"];
  const [container] = itemsAt(object, ...pod, "containers");
  const image = stringAt(container, "image");
  const label = object.metadata.labels?.["app.kubernetes.io/version"];
  const volumes = itemsAt(object, ...pod, "volumes").map((volume) => ({
    name: stringAt(volume, "name"),
    image: stringAt(volume, "image", "reference"),
  }));
  const starters = itemsAt(object, ...pod, "initContainers").map((one) => ({
    name: stringAt(one, "name"),
    image: stringAt(one, "image"),
  }));
  return {
    flavour,
    namespace,
    name,
    image,
    version: label === undefined ? tagOf(image ?? "") : plainVersion(label),
    plugins: [...volumes, ...starters].flatMap((one) =>
      one.name === null || one.image === null
        ? []
        : [{ name: one.name, image: one.image, version: tagOf(one.image) }],
    ),
  };
}
