import type { LogRef } from "../../../access/kube/kube-client.ts";
import { UsageError } from "../errors.ts";
import type { LogList } from "../spokes/log-line.ts";
import { UnreadError } from "../spokes/spoke-reading.ts";
import { documentOf } from "./bundle-document.ts";
import { logsFile, type RecordedCluster, type RecordedFleet } from "./bundle.ts";

/** The logs of a bundle. Throws UsageError for a bundle without logs, and for logs that are not what gather writes. */
export function logsOf(fleet: RecordedFleet): LogList {
  const list = documentOf(fleet, logsFile);
  if (list !== undefined) return list;
  throw new UsageError(`The bundle ${fleet.path} holds no logs`, [
    "kubectl knfleet gather --tail 500 -o fleet.tgz",
  ]);
}

/** The lines of one container as its API server sent them. Throws UnreadError for logs that could not be read. */
export function recordedLines(
  { items, errors }: LogList,
  { cluster }: Pick<RecordedCluster, "cluster">,
  ref: LogRef,
): readonly string[] {
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
