import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Anchor } from "../../../controller/apply/anchor/anchor.ts";
import type { Cluster } from "../../fleet/fleet.ts";

/** A client of which the n-th apply, and each one after it, waits for what somebody else does meanwhile. */
export function interruptedClient(
  client: KubeClient,
  nth: number,
  meanwhile: () => Promise<void>,
): { readonly client: KubeClient; readonly applies: () => number } {
  let applies = 0;
  let done: Promise<void> | undefined;
  return {
    applies: () => applies,
    client: {
      ...client,
      apply: async (...args) => {
        applies += 1;
        if (applies >= nth) await (done ??= meanwhile());
        return client.apply(...args);
      },
    },
  };
}

/** Deletes an anchor and makes another one that looks the same. */
export async function replaceAnchor({ admin }: Cluster, anchor: Anchor | undefined): Promise<void> {
  if (anchor === undefined) throw new Error("There is no anchor");
  const { key, object } = anchor;
  const { namespace, name, labels, annotations } = object.metadata;
  const { apiVersion, kind } = key;
  await admin.remove(key);
  const metadata = { namespace, name, labels, annotations };
  await admin.create({ apiVersion, kind, metadata, data: object["data"] });
}
