import { valueAt } from "../../../fleet/json-record.ts";
import type { CommandBench } from "../command-bench.ts";
import type { CommandCase } from "../command-case.ts";

const register = ["register", "eu-1", "--from-context", "spoke-1", "--yes"];
const unregister = ["unregister", "fleet/eu-1", "--from-context", "spoke-1", "--yes"];
const registrar = { "app.kubernetes.io/managed-by": "knfleet-register" };

/** `register` and `unregister`, which take back each other. */
export const registerCases: readonly CommandCase[] = [
  {
    command: "register",
    prepare: async () => undefined,
    line: register,
    dryRun: [...register, "--dry-run"],
    counterpart: unregister,
    faultsAfter: liveToken,
  },
  {
    command: "register",
    about: "of a cluster whose account belongs to another hub",
    prepare: async ({ fleet }) => {
      const { admin } = fleet.spoke(0);
      const metadata = { namespace: "knfleet", name: "knfleet-hub", labels: registrar };
      const annotations = {
        "knfleet.dev/cluster-profile": "fleet/eu-1",
        "knfleet.dev/hub-uid": "6f1b0c7e-0000-4000-8000-000000000000",
      };
      const knfleet = { name: "knfleet", labels: registrar };
      await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: knfleet });
      await admin.apply({
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { ...metadata, annotations },
      });
    },
    line: register,
    dryRun: [...register, "--dry-run"],
    exitCode: 2,
    isRefused: true,
  },
  {
    command: "unregister",
    prepare: async (bench) => {
      const { exitCode, stderr } = await bench.run(register);
      if (exitCode !== 0) throw new Error(`register ended with ${exitCode}: ${stderr}`);
    },
    line: unregister,
    dryRun: [...unregister, "--dry-run"],
    isOnce: true,
    warns: /^warning: Namespace knfleet of the cluster stays: could not list/m,
  },
];

/** The hub holds the one token that the cluster has. */
async function liveToken({ fleet: { hub, ...fleet } }: CommandBench): Promise<readonly string[]> {
  const place = { apiVersion: "v1", kind: "Secret", namespace: "knfleet" };
  const labelSelector = "app.kubernetes.io/managed-by=knfleet-register";
  const secrets = await fleet.spoke(0).admin.list({ ...place, labelSelector });
  const held = await hub.admin.get({ ...place, namespace: "fleet-credentials", name: "eu-1" });
  const tokens = secrets.map((secret) => valueAt(secret, "data", "token"));
  const isLive = tokens.length === 1 && tokens[0] === valueAt(held, "data", "token");
  return isLive
    ? []
    : [`The hub does not hold the one token of the cluster, which has ${tokens.length}`];
}
