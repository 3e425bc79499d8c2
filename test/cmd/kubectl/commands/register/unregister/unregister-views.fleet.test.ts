import { beforeAll, expect, test } from "vitest";

import { connectHub } from "../../../../../../access/hub/hub.ts";
import { systemClock } from "../../../../../../access/time/system-clock.ts";
import { readServed } from "../../../../../../cmd/kubectl/spokes/object-table.ts";
import { builtInProviderFile } from "../../../../../e2e/built-in-access.ts";
import { useFleet } from "../../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../../fleet/wait-for.ts";
import { type Ran, runOnFleet } from "../../../run-knfleet.ts";

const fleet = useFleet({ spokes: 1 });
const rbac = "rbac.authorization.k8s.io/v1";
const knfleetNamespace = { apiVersion: "v1", kind: "Namespace", name: "knfleet" };
const role = { apiVersion: rbac, kind: "ClusterRole", name: "knfleet-spoke" };

let providerFile: string;
beforeAll(async () => {
  providerFile = await builtInProviderFile(fleet(), { name: "views" });
  for (const name of ["fleet", "fleet-credentials"]) {
    await fleet().hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
}, 600_000);

function knfleet(...args: readonly string[]): Promise<Ran> {
  return runOnFleet(fleet(), providerFile, args);
}

async function registered(): Promise<void> {
  const { stdout, stderr } = await knfleet(
    "register",
    "eu-1",
    "--from-context",
    "spoke-1",
    "--yes",
  );
  expect(`${stdout}${stderr}`).toContain("ClusterProfile fleet/eu-1 is registered");
}

/** Serves a group version through a Service that is not there, until it is disposed. */
async function serveSilently(group: string, version: string): Promise<AsyncDisposable> {
  const { admin, adminKubeconfigPath: kubeconfig } = fleet().spoke(0);
  const key = {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    name: `${version}.${group}`,
  };
  await admin.create({
    apiVersion: key.apiVersion,
    kind: key.kind,
    metadata: { name: key.name },
    spec: {
      group,
      version,
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { namespace: "default", name: "nobody" },
    },
  });
  await using spoke = await connectHub({
    clock: systemClock,
    kubeconfig,
    environment: {},
    userAgent: "test",
  });
  await waitFor("a stale API", async () => {
    const { stale } = await readServed(spoke.client, AbortSignal.timeout(10_000));
    return stale.includes(`${group}/${version}`);
  });
  return { [Symbol.asyncDispose]: async () => void (await admin.remove(key)) };
}

test("metrics that do not answer keep no namespace, and bindings in other namespaces keep the role", async () => {
  const { admin } = fleet().spoke(0);
  await registered();
  const binding = { apiVersion: rbac, kind: "RoleBinding" };
  await admin.create({
    ...binding,
    metadata: { namespace: "default", name: "theirs" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: role.kind, name: role.name },
    subjects: [{ kind: "ServiceAccount", namespace: "knfleet", name: "knfleet-hub" }],
  });
  {
    await using _metrics = await serveSilently("metrics.k8s.io", "v1beta1");
    const { stderr, exitCode } = await knfleet("unregister", "eu-1", "--yes");
    expect(exitCode).toBe(0);
    expect(stderr).toContain(
      "RoleBinding default/theirs still names ServiceAccount knfleet/knfleet-hub",
    );
    expect(stderr).toContain(
      "Kubernetes deletes namespace knfleet of the cluster when metrics.k8s.io/v1beta1 answers again; to see why it does not: kubectl get apiservice v1beta1.metrics.k8s.io",
    );
    expect((await admin.get(knfleetNamespace))?.metadata.deletionTimestamp).toBeDefined();
  }
  await waitFor("the namespace to go", async () => {
    return (await admin.get(knfleetNamespace)) === undefined;
  });
  expect(await admin.get(role)).toBeDefined();
  await admin.remove({ ...binding, namespace: "default", name: "theirs" });
});

test("another API that does not answer keeps the namespace, and is named with the command that says why", async () => {
  const { admin } = fleet().spoke(0);
  await registered();
  await using _away = await serveSilently("away.example.com", "v1");
  const { stderr, exitCode } = await knfleet("unregister", "eu-1", "--yes");
  expect(exitCode).toBe(0);
  expect(stderr).toContain(
    "Namespace knfleet of the cluster stays: could not list away.example.com/v1 (to see why: kubectl get apiservice v1.away.example.com)",
  );
  const found = await admin.get(knfleetNamespace);
  expect(found).toBeDefined();
  expect(found?.metadata.deletionTimestamp).toBeUndefined();
});
