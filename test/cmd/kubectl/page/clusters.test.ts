import { expect, test } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { startUi } from "../commands/ui/ui-session.ts";
import { startStubHub } from "../stub-hub.ts";

test("a cluster that goes is not healthy, and an entry without a server is not its way in", async () => {
  const profile: KubeObject = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: {
      namespace: "fleet",
      name: "eu-1",
      uid: "eu-1",
      resourceVersion: "1",
      deletionTimestamp: "2026-11-21T11:00:00Z",
      finalizers: ["example.com/held"],
    },
    status: {
      conditions: [{ type: "ControlPlaneHealthy", status: "True" }],
      accessProviders: [
        { name: "dead", cluster: { server: "" } },
        { name: "live\u009b8m", cluster: { server: "https://eu-1.example.com" } },
      ],
      version: { kubernetes: "v1.36\u202e.3" },
    },
  };
  await using hub = await startStubHub([profile]);
  await using ui = await startUi(["--no-live"], hub.env);
  const { text } = await ui.read("/api/v1/clusters");
  expect(JSON.parse(text).items).toMatchObject([
    {
      name: "eu-1",
      healthy: false,
      message: expect.stringContaining("being deleted"),
      provider: expect.stringMatching(/^live[^\u0080-\u009f]*$/u),
      server: "https://eu-1.example.com",
      kubernetesVersion: expect.stringMatching(/^v1\.36[^\u202e]*\.3$/u),
    },
  ]);
});
