import { clusterProfileApiVersion } from "../../../../api/cluster-profile.ts";
import type { CommandBench } from "../command-bench.ts";

/** Publishes the spoke of a bench, behind its proxy, if it is not published. Returns its ClusterProfile. */
export async function addSpokeProfile({
  fleet,
  places,
}: CommandBench): Promise<{ readonly namespace: string; readonly name: string }> {
  const spoke = fleet.spoke(0);
  const [, behind] = places;
  if (behind === undefined) throw new Error("The bench has no proxy before the spoke");
  const on = { namespace: "fleet", name: spoke.name };
  const profile = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile", ...on };
  if ((await fleet.hub.admin.get(profile)) !== undefined) return on;
  await fleet.addProfile(spoke, {
    plugin: "secretreader",
    identity: { namespace: "bench", name: "limited" },
    via: behind.proxy.url,
    cluster: {
      server: behind.proxy.url,
      "certificate-authority-data": Buffer.from(behind.proxy.caPem, "utf8").toString("base64"),
      extensions: [
        {
          name: "client.authentication.k8s.io/exec",
          extension: { clusterName: spoke.name },
        },
      ],
    },
  });
  return on;
}
