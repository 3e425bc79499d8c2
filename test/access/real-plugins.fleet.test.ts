import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { connectHub, type HubConnection } from "../../access/hub.ts";
import { openSpokes } from "../../access/open-spokes.ts";
import type { Spokes } from "../../access/spokes.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import { useFleet } from "../fleet/use-fleet.ts";

const fleet = useFleet({ spokes: [{ name: "spoke-1", kwok: false }], hub: { kwok: false } });
const userAgent = "knfleet-real-plugins-test/0";
const rbac = "rbac.authorization.k8s.io";
const apiVersion = "client.authentication.k8s.io/v1";

let hub: HubConnection;

beforeAll(async () => {
  hub = await connectHub({
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
}, 60_000);

afterAll(async () => hub[Symbol.asyncDispose]());

/** The spokes as a provider file with this one provider sees them. */
async function spokesBy(provider: { readonly name: string; readonly execConfig: object }) {
  const providerFile = join(fleet().folder, `${provider.name}-only.json`);
  await writeFile(providerFile, JSON.stringify({ providers: [provider] }));
  const environment = { KUBECONFIG: "/nonexistent", PATH: process.env["PATH"] };
  return openSpokes(
    { hub: hub.client, providerFile, environment, userAgent },
    AbortSignal.timeout(10_000),
  );
}

/** Who the spoke says that we are. */
async function nameAt(spokes: Spokes, ref: { namespace: string; name: string }): Promise<unknown> {
  const signal = AbortSignal.timeout(20_000);
  const { client } = await vi.waitFor(() => spokes.acquire(ref, signal), { timeout: 10_000 });
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
