import type { ChildProcess } from "node:child_process";
import { join } from "node:path";

import { type Ran, runKnfleet } from "../../cmd/kubectl/run-knfleet.ts";
import { builtInProviderFile } from "../../e2e/built-in-access.ts";
import type { Cluster, Fleet } from "../../fleet/fleet.ts";
import { writeKubeconfig } from "../../fleet/kubeconfig.ts";
import { cleanUp, contentsOf } from "../clean-up.ts";
import { startFaultProxy, type FaultProxy } from "../fault-proxy.ts";
import { WriteLog } from "../write-log.ts";
import { allRights, type LimitedUser } from "./limited-user.ts";
import { type Shape, shapeOf } from "./shape.ts";

/** A cluster, and the proxy through which commands come to it. */
export interface Place {
  readonly cluster: Cluster;
  readonly proxy: FaultProxy;
  /** A user with all rights but one. */
  readonly limited: LimitedUser;
  /** What it holds before any case. */
  readonly contents: ReadonlySet<string>;
}

/** A hub and a spoke behind fault proxies, and the plugin that writes to them. */
export interface CommandBench extends AsyncDisposable {
  readonly fleet: Fleet;
  /** The hub comes first. */
  readonly places: readonly Place[];
  /** Writes to both clusters, in one count. */
  readonly log: WriteLog;
  /** Runs the plugin through the proxies. `isLimited`: as the users of whom a right can be taken. */
  run(args: readonly string[], how?: RunHow): Promise<Ran>;
  /** What both clusters hold. */
  shape(): Promise<Shape>;
  /** Makes both clusters as they were before any case. */
  clear(): Promise<void>;
}

interface RunHow {
  readonly isLimited?: boolean;
  readonly during?: (child: ChildProcess) => void;
}

const limitMs = 180_000;

/** Starts the proxies in front of the hub and the first spoke of a fleet, and gives others something on both. */
export async function startCommandBench(fleet: Fleet): Promise<CommandBench> {
  await using undo = new AsyncDisposableStack();
  const log = new WriteLog();
  const clusters = [fleet.hub, fleet.spoke(0)];
  await Promise.all(clusters.map(giveOthers));
  await giveHub(fleet.hub);
  // The fleet has made it; here `register` is to make it.
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
  await fleet.spoke(0).admin.remove({ ...role, name: "knfleet-spoke" });
  const opened = await Promise.all(
    clusters.map(async (cluster) => {
      const { name, server, caPem } = cluster;
      const proxy = undo.use(await startFaultProxy({ cluster: name, server, caPem, log }));
      const limited = await allRights(cluster);
      const rights = { namespace: "bench", name: "admin", clusterRoles: ["cluster-admin"] };
      const { token } = await cluster.serviceAccountToken(rights);
      const write = (user: string, identity: { readonly token: string }): Promise<string> =>
        writeKubeconfig(join(fleet.folder, `${name}-${user}.kubeconfig`), {
          name,
          server: proxy.url,
          caPem: proxy.caPem,
          identity,
        });
      const admin = await write("admin", { token });
      return { cluster, proxy, limited, admin, few: await write("limited", limited) };
    }),
  );
  const places = await Promise.all(
    opened.map(async (place) => ({ ...place, contents: await contentsOf(place.cluster) })),
  );
  const providerFile = await builtInProviderFile(fleet, { name: "bench" });
  const running = undo.move();
  return {
    fleet,
    places,
    log,
    async run(args, { isLimited = false, during = () => undefined } = {}) {
      const files = places.map(({ admin, few }) => (isLimited ? few : admin));
      const env = { KUBECONFIG: files.join(":"), KNFLEET_PROVIDER_FILE: providerFile };
      return runKnfleet(args, { env, during, timeoutMs: limitMs });
    },
    shape: () => shapeOf(clusters),
    async clear() {
      await Promise.all(places.map(({ cluster, contents }) => cleanUp(cluster, contents)));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** What others have on each cluster. No command may touch it. */
async function giveOthers({ admin }: Cluster): Promise<void> {
  const metadata = { namespace: "shop", name: "shop" };
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  for (const kind of ["ConfigMap", "Secret", "ServiceAccount"]) {
    // oxlint-disable-next-line no-await-in-loop -- three objects
    await admin.apply({ apiVersion: "v1", kind, metadata });
  }
  const rbac = "rbac.authorization.k8s.io";
  await admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: "shop" },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "view" },
    subjects: [{ kind: "ServiceAccount", ...metadata }],
  });
}

async function giveHub({ admin }: Cluster): Promise<void> {
  for (const name of ["fleet", "fleet-credentials", "knfleet-system"]) {
    // oxlint-disable-next-line no-await-in-loop -- three namespaces
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
}
