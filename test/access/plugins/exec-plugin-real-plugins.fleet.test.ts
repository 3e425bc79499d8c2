import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { connectHub, type HubConnection } from "../../../access/hub/hub.ts";
import { openSpokes } from "../../../access/spokes/open-spokes.ts";
import type { Spokes } from "../../../access/spokes/spokes.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { ensureBinaries } from "../../fleet/binaries.ts";
import { credentialNamespace } from "../../fleet/profiles.ts";
import { useFleet } from "../../fleet/use-fleet.ts";

const fleet = useFleet({ spokes: [{ name: "spoke-1", kwok: false }] });
const userAgent = "knfleet-real-plugins-test/0";
const rbac = "rbac.authorization.k8s.io";
const apiVersion = "client.authentication.k8s.io/v1";

let hub: HubConnection;

beforeAll(async () => {
  hub = await connectHub({
    clock: systemClock,
    kubeconfig: await fleet().controllerKubeconfig(),
    environment: {},
    userAgent,
  });
  const { admin } = fleet().hub;
  const metadata = { namespace: credentialNamespace, name: "knfleet-credentials" };
  const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }];
  await admin.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: credentialNamespace },
  });
  await admin.apply({ apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules });
  await admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: rbac, kind: "Role", name: metadata.name },
    subjects: [{ kind: "ServiceAccount", namespace: "knfleet-system", name: "knfleet-controller" }],
  });
}, 600_000);

afterAll(async () => hub[Symbol.asyncDispose]());

/** The spokes as a provider file with this one provider sees them. */
async function spokesBy(provider: { readonly name: string; readonly execConfig: object }) {
  const providerFile = join(fleet().folder, `${provider.name}-only.json`);
  await writeFile(providerFile, JSON.stringify({ providers: [provider] }));
  const environment = { KUBECONFIG: "/nonexistent", PATH: process.env["PATH"] };
  return openSpokes(
    { clock: systemClock, hub: hub.client, providerFile, environment, userAgent },
    AbortSignal.timeout(60_000),
  );
}

/** Who the spoke says that we are. */
async function nameAt(spokes: Spokes, ref: { namespace: string; name: string }): Promise<unknown> {
  const signal = AbortSignal.timeout(60_000);
  const { client } = await vi.waitFor(() => spokes.acquire(ref, signal), { timeout: 60_000 });
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  return client.request("POST", path, body, signal);
}

test.each(["secretreader", "kubeconfig-secretreader"] as const)(
  "the built-in %s leads to a spoke without a process",
  async (name) => {
    const execConfig = {
      apiVersion,
      command: `builtin:${name}`,
      env: [{ name: "POD_NAMESPACE", value: credentialNamespace }],
      provideClusterInfo: true,
    };
    await using spokes = await spokesBy({ name, execConfig });
    const ref = await fleet().addProfile(fleet().spoke(0), { plugin: name, name: `by-${name}` });
    expect(await nameAt(spokes, ref)).toMatchObject({
      status: { userInfo: { username: "system:serviceaccount:knfleet:knfleet-hub" } },
    });
  },
);

// Generous, because the plugin may have to be built.
const building = { timeout: 600_000 };

test("the plugin of Open Cluster Management leads to a spoke", building, async () => {
  const binary = await ensureBinaries(["clusterprofile-credentials-plugin"]);
  const { token } = await fleet().spoke(0).serviceAccountToken({
    namespace: "knfleet",
    name: "ocm-account",
  });
  await fleet().hub.admin.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: credentialNamespace, name: "spoke-1-fleet-operator" },
    stringData: { token },
  });
  const name = "open-cluster-management";
  const hubToken = await fleet().hub.serviceAccountToken({
    namespace: "knfleet-system",
    name: "knfleet-controller",
  });
  const kubeconfig = await fleet().hub.writeKubeconfig("ocm.kubeconfig", { identity: hubToken });
  const execConfig = {
    apiVersion,
    command: binary("clusterprofile-credentials-plugin"),
    args: ["--managed-serviceaccount=fleet-operator"],
    env: [
      { name: "NAMESPACE", value: credentialNamespace },
      { name: "KUBECONFIG", value: kubeconfig },
    ],
    provideClusterInfo: true,
    interactiveMode: "Never",
  };
  await using spokes = await spokesBy({ name, execConfig });
  const ref = await offeredAs(name, { clusterName: "spoke-1" });
  expect(await nameAt(spokes, ref)).toMatchObject({
    status: { userInfo: { username: "system:serviceaccount:knfleet:ocm-account" } },
  });
});

test("the token of another cluster is refused by the spoke, and said so", async () => {
  const { token } = await fleet().hub.serviceAccountToken({
    namespace: "default",
    name: "foreign",
  });
  await fleet().hub.admin.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: credentialNamespace, name: "of-another" },
    stringData: { token },
  });
  const execConfig = {
    apiVersion,
    command: "builtin:secretreader",
    env: [{ name: "POD_NAMESPACE", value: credentialNamespace }],
    provideClusterInfo: true,
  };
  await using spokes = await spokesBy({ name: "foreign", execConfig });
  const ref = await offeredAs("foreign", { clusterName: "of-another" });
  const codeOf = async (): Promise<unknown> => {
    const error: unknown = await spokes.acquire(ref, AbortSignal.timeout(60_000)).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return error instanceof FleetError ? error.code : error;
  };
  await expect.poll(codeOf, { timeout: 60_000 }).toBe("CredentialRejected");
});

/** A profile that offers only this provider. */
async function offeredAs(
  name: string,
  extension: object,
): Promise<{ namespace: string; name: string }> {
  const ref = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader", name });
  const { server, caPem } = fleet().spoke(0);
  await fleet().hub.admin.apply(
    {
      apiVersion: "multicluster.x-k8s.io/v1alpha1",
      kind: "ClusterProfile",
      metadata: { namespace: ref.namespace, name },
      status: {
        conditions: [
          {
            type: "ControlPlaneHealthy",
            status: "True",
            reason: "Healthy",
            message: "",
            lastTransitionTime: "2026-11-01T00:00:00Z",
          },
        ],
        accessProviders: [
          {
            name,
            cluster: {
              server,
              "certificate-authority-data": Buffer.from(caPem).toString("base64"),
              extensions: [{ name: "client.authentication.k8s.io/exec", extension }],
            },
          },
        ],
      },
    },
    { subresource: "status" },
  );
  return { namespace: ref.namespace, name };
}
