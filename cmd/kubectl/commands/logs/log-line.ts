import { scrubbed } from "../../../../access/scrubbed.ts";
import type { Component } from "../../../../api/component.ts";
import { isRecord } from "../../../../api/fields.ts";

/** One line of a container's log. */
export interface LogItem {
  /** When the kubelet got it, RFC 3339; null when it says no time. */
  readonly time: string | null;
  /** `namespace/name` of the ClusterProfile of the cluster; null for the hub. */
  readonly cluster: string | null;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Foreign text, without what looks like a secret. */
  readonly line: string;
}

/** One container whose log is read. */
export interface LogSource extends Pick<LogItem, "namespace" | "pod" | "container"> {
  /** Absent: every line is wanted. */
  readonly isWanted?: (line: string) => boolean;
}

const timed = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ?(.*)$/s;

/** Divides a line of the API server into time and text. */
function divided(line: string): { readonly time: string | null; readonly text: string } {
  const [, time, text = ""] = timed.exec(line) ?? [];
  return time === undefined ? { time: null, text: line } : { time, text };
}

/** The item for a line, when it is wanted. */
export function itemOf(
  line: string,
  cluster: string | null,
  { namespace, pod, container, isWanted = () => true }: LogSource,
): LogItem | undefined {
  const { time, text } = divided(line);
  if (!isWanted(text)) return undefined;
  return { time, cluster, namespace, pod, container, line: scrubbed(text) };
}

/** Whether a line of a controller is about a component: of knfleet's, as JSON or as text, and of the upstream operator's (zap). */
export function isAbout(component: Component): (line: string) => boolean {
  const { kind, metadata } = component;
  const key = `${metadata.namespace}/${metadata.name}`;
  const own = `${kind} ${key}`;
  const asText = `component=${JSON.stringify(own)}`;
  return (line) => {
    // Cheaper than to read each line of a controller that works on hundreds of components.
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
  if (!line.startsWith("{")) return undefined;
  try {
    const fields: unknown = JSON.parse(line);
    return isRecord(fields) ? fields : undefined;
  } catch {
    return undefined;
  }
}

/** Lines by time; those without one keep their place behind the line before them. */
export function inOrder(streams: readonly (readonly LogItem[])[]): readonly LogItem[] {
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
