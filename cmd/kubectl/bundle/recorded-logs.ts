import type { LogRef } from "../../../access/kube/kube-client.ts";
import { isRecord } from "../../../api/fields.ts";
import type { LogItem } from "../commands/logs/log-line.ts";
import type { LogList } from "../commands/logs/read-logs.ts";
import { UsageError } from "../errors.ts";
import { reportApiVersion } from "../output/report.ts";
import { itemsAt, stringAt } from "../selection/fields.ts";
import { UnreadError } from "../spokes/spoke-reading.ts";
import { logsFile, type RecordedCluster, type RecordedFleet } from "./bundle.ts";

/** The logs of a bundle. Throws UsageError for a bundle without logs. */
export function logsOf({ path, documents }: RecordedFleet): LogList {
  const list = documents.get(logsFile);
  if (isLogList(list)) return list;
  throw new UsageError(`The bundle ${path} holds no logs`, [
    "kubectl knfleet gather --tail 500 -o fleet.tgz",
  ]);
}

/** Whether a bundle has logs. */
export function hasLogs({ documents }: RecordedFleet): boolean {
  return isLogList(documents.get(logsFile));
}

/**
 * The lines of one container as its API server sent them. Throws UsageError for a bundle without logs, and UnreadError for logs that could not be read.
 */
export function recordedLines(
  fleet: RecordedFleet,
  { cluster }: Pick<RecordedCluster, "cluster">,
  ref: LogRef,
): readonly string[] {
  const { items, errors } = logsOf(fleet);
  const { namespace, pod, container, sinceTime, tailLines } = ref;
  const here = errors.filter((error) => error.cluster === cluster);
  const prefix = `${namespace}/${pod} ${container}: `;
  const refusal = here.find(({ message }) => message.startsWith(prefix));
  if (refusal !== undefined) {
    const message = refusal.message.slice(prefix.length);
    throw new UnreadError({ state: "Unknown", reason: refusal.reason, message });
  }
  const own = items.filter(
    (item) =>
      item.cluster === cluster &&
      item.namespace === namespace &&
      item.pod === pod &&
      item.container === container,
  );
  const limit = here.find(({ reason }) => reason === "StreamLimit");
  if (own.length === 0 && limit !== undefined) {
    const message =
      "gather read as many containers as it does at most, and this one may be none of them";
    throw new UnreadError({ state: "Unknown", reason: limit.reason, message });
  }
  const since = sinceTime === undefined ? 0 : Date.parse(sinceTime);
  const lines = own
    .filter(({ time }) => time === null || Date.parse(time) >= since)
    .map(({ time, line }) => (time === null ? line : `${time} ${line}`));
  return tailLines === undefined ? lines : lines.slice(Math.max(0, lines.length - tailLines));
}

function isLogList(value: unknown): value is LogList {
  if (!isRecord(value) || value["kind"] !== "LogList" || value["apiVersion"] !== reportApiVersion) {
    return false;
  }
  const { items, errors } = value;
  const isRead = Array.isArray(items) && Array.isArray(errors);
  return isRead && items.every(isLine) && itemsAt(value, "errors").every(isError);
}

function isLine(value: unknown): value is LogItem {
  const fields = ["namespace", "pod", "container", "line"];
  return isRecord(value) && fields.every((field) => typeof value[field] === "string");
}

function isError(value: unknown): boolean {
  return stringAt(value, "reason") !== null && stringAt(value, "message") !== null;
}
