import { revisionAnnotations, setAnnotations } from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { childrenOf, imageOn, setKey } from "../../e2e/set-scene.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { isRecord } from "../../fleet/json-record.ts";
import type { SpokeDump } from "../../support/spoke-dump.ts";
import { componentDumpOf } from "../component-dump.ts";

/** What a set has come to, without times: its status, its revisions, its components, and what the spokes run. */
export async function setStateOf({ hub, spokes }: Fleet, name: string): Promise<SpokeDump> {
  const key = setKey(name);
  const [set, revisions, children] = await Promise.all([
    hub.admin.get(key),
    hub.admin.list({ ...key, apiVersion: "apps/v1", kind: "ControllerRevision" }),
    childrenOf(hub, name),
  ]);
  const images = await Promise.all(spokes.map(async (spoke) => [spoke.name, await imageOn(spoke)]));
  return {
    set: { finalizers: set?.metadata.finalizers, status: withoutTimes(set?.["status"]) },
    ...Object.fromEntries(revisions.map((one) => [one.metadata.name, revisionOf(one)])),
    ...Object.fromEntries([...children.values()].map((one) => [one.metadata.name, childOf(one)])),
    images: Object.fromEntries(images),
  };
}

function revisionOf({ metadata, revision, data }: KubeObject) {
  const { labels, annotations: { [revisionAnnotations.record]: told, ...annotations } = {} } =
    metadata;
  // Each entry is there once, whoever dies; only its time may differ.
  const entries: unknown = told === undefined ? [] : JSON.parse(told);
  const said = withoutTimes(entries);
  return { labels, annotations, said, owners: metadata.ownerReferences?.length, revision, data };
}

/** The generation tells how often its spec was written. */
function childOf(component: KubeObject) {
  const { annotations = {}, generation } = component.metadata;
  const { [setAnnotations.updatedAt]: _at, [setAnnotations.setUid]: _uid, ...others } = annotations;
  const [said] = Object.values(componentDumpOf(component));
  return { said: { ...record(said), annotations: others }, generation, spec: component["spec"] };
}

const times = ["at", "startedAt", "doneAt", "lastTransitionTime", "since"];

function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      times.includes(name) ? [] : [[name, withoutTimes(inner)]],
    ),
  );
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
