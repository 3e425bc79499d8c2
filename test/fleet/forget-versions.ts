import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import type { Cluster } from "./fleet.ts";
import { valueAt } from "./json-record.ts";

/** Makes the store of a cluster forget all versions but the newest, as it does of those that are five minutes old. */
export async function forgetVersions(cluster: Cluster): Promise<void> {
  const found: unknown = JSON.parse(await askStore(cluster, "range", { key: "Lw==" }));
  const revision = valueAt(found, "header", "revision");
  await askStore(cluster, "compaction", { revision, physical: true });
}

function askStore({ folder }: Cluster, what: string, body: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      socketPath: join(folder, "etcd.sock:0"),
      path: `/v3/kv/${what}`,
      method: "POST",
    };
    const asked = request(options, (answer) => resolve(text(answer)));
    asked.on("error", reject);
    asked.end(JSON.stringify(body));
  });
}
