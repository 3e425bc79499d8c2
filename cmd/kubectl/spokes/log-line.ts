import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import { byText, isRecord, jsonOf, recordAt } from "../../../api/fields.ts";
import { redactSecrets } from "../../../api/foreign-text.ts";
import { targetId } from "../../../api/keys.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { findControllers } from "../hub/find-controller.ts";
import type { ReportDocument } from "../output/report.ts";
import { itemsAt, stringAt } from "../selection/fields.ts";
import { isOf, workloadsOf } from "./live-view.ts";
import { readSpokeFacts } from "./spoke-facts.ts";
import type { WorkloadKey } from "./workload-fact.ts";

/** One line of a container's log. */
export interface LogItem {
  /** Time at which the kubelet got the line, RFC 3339; null without a time. */
  readonly time: string | null;
  /** `namespace/name` of the ClusterProfile of the cluster; null for the hub. */
  readonly cluster: string | null;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Foreign text; everything that looks like a secret is removed. */
  readonly line: string;
}

interface LogSummary {
  readonly lines: number;
  /** Containers that were read. */
  readonly streams: number;
  readonly clusters: number;
  readonly unread: number;
}

export type LogList = ReportDocument<"LogList", LogSummary, LogItem>;

/** One container whose log is read. */
export interface LogSource extends Pick<LogItem, "namespace" | "pod" | "container"> {
  /** Absent: every line is wanted. */
  readonly isWanted?: (line: string) => boolean;
}

const timed = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ?(.*)$/s;

/** Splits a line of the API server into time and text. */
function splitTime(line: string): { readonly time: string | null; readonly text: string } {
  const [, time, text = ""] = timed.exec(line) ?? [];
  return time === undefined ? { time: null, text: line } : { time, text };
}

/** The item for a line; undefined when the line is not wanted. */
export function itemOf(
  line: string,
  cluster: string | null,
  { namespace, pod, container, isWanted = () => true }: LogSource,
): LogItem | undefined {
  const { time, text } = splitTime(line);
  if (!isWanted(text)) return undefined;
  return { time, cluster, namespace, pod, container, line: redactSecrets(text) };
}

/** Whether a line of a controller is about a component. Reads lines of knfleet, as JSON or text, and of the upstream operator (zap). */
export function isAbout(component: Component): (line: string) => boolean {
  const { kind, metadata } = component;
  const key = `${metadata.namespace}/${metadata.name}`;
  const own = `${kind} ${key}`;
  const asText = `component=${JSON.stringify(own)}`;
  return (line) => {
    // This is cheaper than to parse each line of a controller that has hundreds of components.
    if (!line.includes(key)) return false;
    const fields = fieldsOf(line);
    if (fields === undefined) return line.includes(asText);
    if (fields["component"] !== undefined) return fields["component"] === own;
    const theirs = fields["knative.dev/kind"];
    const isKind = typeof theirs === "string" && theirs.toLowerCase().endsWith(kind.toLowerCase());
    return fields["knative.dev/key"] === key && isKind;
  };
}

function fieldsOf(line: string): Readonly<Record<string, unknown>> | undefined {
  const fields = line.startsWith("{") ? jsonOf(line) : undefined;
  return isRecord(fields) ? fields : undefined;
}

/** Lines by time; a line without a time stays behind the line before it. */
export function inTimeOrder(streams: readonly (readonly LogItem[])[]): readonly LogItem[] {
  return streams
    .flatMap((items) => {
      let at = 0;
      return items.map((item) => {
        at = Math.max(at, Date.parse(item.time ?? "") || 0);
        return { at, item };
      });
    })
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

const podResource = knownResource("v1", "Pod");

/**
 * Finds the containers of knfleet's controller and of the upstream operator on the hub; only their lines about the components are wanted. Undefined when
 * Deployments may not be listed. Throws what KubeClient throws.
 */
export async function findControllerSources(
  components: readonly Component[],
  hub: KubeClient,
  signal: AbortSignal,
): Promise<readonly LogSource[] | undefined> {
  const { deployments } = await findControllers(hub, signal);
  if (deployments === undefined) return undefined;
  const tests = components.map(isAbout);
  const isWanted = (line: string): boolean => tests.some((test) => test(line));
  const workloads = deployments.map(({ namespace, name }): WorkloadKey => ({
    kind: "Deployment",
    namespace,
    name,
  }));
  const sources = await findSources(workloads, hub, signal);
  return sources.map((source) => ({ ...source, isWanted }));
}

/** Finds the containers of the installations' workloads on the cluster with this id. Throws what KubeClient throws. */
export async function findSpokeSources(
  components: readonly Component[],
  { id, client }: { readonly id: string; readonly client: KubeClient },
  signal: AbortSignal,
): Promise<readonly LogSource[]> {
  const own = components.filter((component) => targetId(component) === id);
  const facts = await readSpokeFacts(client, { provider: null }, signal);
  const workloads = own.flatMap((component) => workloadsOf(component, facts));
  return await findSources(workloads, client, signal);
}

async function findSources(
  workloads: readonly WorkloadKey[],
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly LogSource[]> {
  const namespaces = [...new Set(workloads.map(({ namespace }) => namespace))];
  const lists = await Promise.all(
    namespaces.map((namespace) => client.list({ resource: podResource, namespace }, {}, signal)),
  );
  return lists
    .flatMap(({ items }) => items)
    .filter((pod) => workloads.some((workload) => isOf(pod, workload)))
    .toSorted(byText(podName))
    .flatMap(containersOf);
}

function containersOf(pod: KubeObject): readonly LogSource[] {
  const { namespace = "", name } = pod.metadata;
  return itemsAt(pod, "spec", "containers").flatMap((container) => {
    const found = stringAt(recordAt(container), "name");
    return found === null ? [] : [{ namespace, pod: name, container: found }];
  });
}

function podName({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
