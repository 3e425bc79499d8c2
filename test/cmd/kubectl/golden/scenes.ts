import { componentKinds } from "../../../../api/component.ts";
import { timestampOf } from "../../../../api/conditions.ts";
import {
  anchorLabels,
  anchorNameOf,
  componentUidLabel,
  managedByValue,
} from "../../../../installation/anchor.ts";
import type { Fleet } from "../../../fleet/fleet.ts";
import { createComponent, installByHand } from "../fleet-scene.ts";

/** Selects what a scene is about. */
export const sceneArgs = {
  /** Serving on one spoke and Eventing on another, all of it well. */
  fine: ["-n", "team-fine"],
  /** What `setScene` makes: well, half broken, unreachable, refused, and on the hub itself. */
  broken: ["-A", "-l", "run!=upstream,run!=fine"],
  /** What the upstream operator leaves: other places, Ready although nothing can be reached, a deletion that hangs. */
  upstream: ["-A", "-l", "run=upstream"],
  /** All of it, with what is left over of components that are gone, and logs. */
  whole: ["-A"],
} as const;

export type SceneName = keyof typeof sceneArgs;

export const sceneNames: readonly SceneName[] = ["fine", "broken", "upstream", "whole"];

/** Adds the scene `fine` to a fleet whose spokes have profiles. */
export async function setFineScene(fleet: Fleet): Promise<void> {
  const [first, second] = [fleet.spoke("spoke-1"), fleet.spoke("spoke-2")];
  const labels = { run: "fine" };
  const serving = { kind: "KnativeServing", namespace: "team-fine" } as const;
  const eventing = { kind: "KnativeEventing", namespace: "team-fine" } as const;
  await createComponent(fleet.hub, { ...serving, profile: "spoke-1", labels });
  await createComponent(fleet.hub, { ...eventing, profile: "spoke-2", labels });
  await installByHand(first, { ...serving, healthy: ["activator", "autoscaler", "controller"] });
  await installByHand(second, { ...eventing, healthy: ["eventing-controller"] });
}

/**
 * Adds the scene `upstream` to a fleet, as the code of the upstream operator says (cli.md): D12 fixed namespaces, D2 and D3 Ready=True beside
 * an Event InternalError, D5 a deletion that waits for a profile which nobody resolves, D1 MulticlusterDisabled, D13 no condition of health.
 */
export async function setUpstreamScene(fleet: Fleet): Promise<void> {
  const { hub } = fleet;
  const [first, second] = [fleet.spoke("spoke-1"), fleet.spoke("spoke-2")];
  const labels = { run: "upstream" };
  const serving = { kind: "KnativeServing", labels, recorded: false } as const;
  const name = componentKinds.KnativeServing.label;
  await fleet.addProfile(second, { plugin: "secretreader", name: "no-word", healthy: "missing" });
  await fleet.addProfile(second, {
    plugin: "secretreader",
    name: "silent",
    via: "https://127.0.0.1:9",
  });
  await createComponent(hub, { ...serving, namespace: "up-fixed", profile: "spoke-1" });
  await installByHand(first, {
    kind: "KnativeServing",
    namespace: name,
    healthy: ["activator"],
    broken: ["controller"],
  });
  const uid = await createComponent(hub, { ...serving, namespace: "up-stale", profile: "silent" });
  await hub.admin.apply({
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace: "up-stale", name: "told" },
    type: "Warning",
    reason: "InternalError",
    message: "failed to create the anchor: getting credentials: exec: exit status 1",
    lastTimestamp: timestampOf(new Date()),
    involvedObject: {
      apiVersion: "operator.knative.dev/v1beta1",
      kind: "KnativeServing",
      namespace: "up-stale",
      name,
      uid,
    },
    source: { component: "knativeserving-controller" },
  });
  const disabled = { ready: "False", reason: "MulticlusterDisabled" } as const;
  await createComponent(hub, { ...serving, ...disabled, namespace: "up-off", profile: "no-word" });
  const hanging = {
    ready: "False",
    reason: "ClusterProfileUnavailable",
    finalizers: ["knativeservings.operator.knative.dev"],
  } as const;
  await createComponent(hub, { ...serving, ...hanging, namespace: "up-hangs", profile: "silent" });
  const key = { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing" };
  await hub.admin.remove({ ...key, namespace: "up-hangs", name });
}

const leftUid = "0b5e7a52-6d0c-4b1e-9c43-5f0d8f6f2c11";

/** Adds to spoke-2 what two components have left that nobody knows any more: the anchor of one, and of the other objects without an anchor. */
export async function setLeftovers(fleet: Fleet): Promise<void> {
  const { admin } = fleet.spoke("spoke-2");
  const namespace = "left-over";
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const gone = { kind: "KnativeServing", name: "gone" } as const;
  await admin.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace,
      name: anchorNameOf(gone),
      labels: {
        [anchorLabels.managedBy]: managedByValue,
        [anchorLabels.componentName]: gone.name,
      },
    },
  });
  const labels = { [componentUidLabel]: leftUid };
  const rbac = "rbac.authorization.k8s.io/v1";
  await admin.apply({ apiVersion: rbac, kind: "ClusterRole", metadata: { name: "lost", labels } });
  await admin.apply({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { namespace, name: "lost", labels },
  });
}
