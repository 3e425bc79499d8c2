import { request } from "node:http";
import { text } from "node:stream/consumers";

import type { Cluster } from "../../fleet/cluster.ts";
import { etcdSocketOf } from "../../fleet/control-plane.ts";

const figure = /^etcd_mvcc_db_total_size_in_use_in_bytes (\S+)$/m;

/** Bytes that the etcd of a cluster uses, from its metrics. Older revisions count until they are compacted, every five minutes. */
export async function etcdBytes(cluster: Pick<Cluster, "folder">): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sent = request({ socketPath: etcdSocketOf(cluster), path: "/metrics" }, (answer) => {
    text(answer).then(resolve, reject);
  });
  sent.on("error", reject).end();
  const [, bytes] = figure.exec(await promise) ?? [];
  if (bytes === undefined) throw new Error("The metrics of etcd do not tell its size");
  return Number(bytes);
}
