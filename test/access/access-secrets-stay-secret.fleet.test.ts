import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test, vi } from "vitest";

import type { ComponentKind } from "../../api/component.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { create, read } from "../e2e/installation.ts";
import { conditionOf } from "../fleet/json-record.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { startControllerProcess } from "../support/controller-process.ts";

const fleet = useFleet({ spokes: [{ name: "spoke-1", kwok: false }] });
// In every place where a secret is: a token of the hub's, what a plugin prints, what it says when it fails.
const canary = "kanarienvogel";
const patience = { timeout: 60_000, interval: 200 };

test("no secret is in logs at their most talkative, in status, events or metrics (T-80)", async () => {
  const talker = join(fleet().folder, "bin", "talker");
  await mkdir(join(talker, ".."), { recursive: true });
  await writeFile(
    talker,
    `#!/bin/sh\necho "token: ${canary} Authorization: Bearer ${canary}" >&2\necho '{"token": "${canary}'\nexit $1\n`,
  );
  await chmod(talker, 0o755);
  const env = [{ name: "POD_NAMESPACE", value: credentialNamespace }];
  const execs = {
    secretreader: { command: "builtin:secretreader", env },
    "kubeconfig-secretreader": { command: talker, args: ["3"] },
  };
  const apiVersion = "client.authentication.k8s.io/v1";
  const providers = Object.entries(execs).map(([name, exec]) => ({
    name,
    execConfig: { apiVersion, provideClusterInfo: true, ...exec },
  }));
  const providerFile = join(fleet().folder, "talking-providers.json");
  await writeFile(providerFile, JSON.stringify({ providers }));
  const refused = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" });
  const failing = await fleet().addProfile(fleet().spoke(0), {
    plugin: "kubeconfig-secretreader",
    name: "failing",
  });
  const { admin } = fleet().hub;
  await admin.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: refused.secret,
    stringData: { token: canary },
  });
  await using controller = await startControllerProcess({
    // With all rights: what it may read is not what is asked here.
    kubeconfig: fleet().hub.adminKubeconfigPath,
    providerFile,
    releaseDir: sampleDirOf(),
    flags: ["--log-level=debug"],
  });
  await create(fleet().hub, { kind: "KnativeServing", on: refused });
  await create(fleet().hub, { kind: "KnativeEventing", on: failing });
  await expect.poll(() => messageOf("KnativeServing"), patience).toContain("[CredentialRejected]");
  await expect.poll(() => messageOf("KnativeEventing"), patience).toContain("[PluginFailed]");
  await vi.waitFor(() => expect(controller.logLines({ level: "warn" })).not.toEqual([]), patience);

  const components = await Promise.all([
    read(fleet().hub, "KnativeServing"),
    read(fleet().hub, "KnativeEventing"),
  ]);
  const said = {
    log: JSON.stringify(controller.logLines()),
    errors: controller.stderr,
    metrics: await controller.metrics(),
    components: JSON.stringify(components),
    events: JSON.stringify(await admin.request("GET", "/apis/events.k8s.io/v1/events")),
  };
  expect(said.log).toContain("CredentialRejected");
  expect(said.log).toContain("spoke.plugin");
  // Also its beginning, and as the Secret on the hub has it.
  const forms = [canary.slice(0, 10), Buffer.from(canary).toString("base64").slice(0, 10)];
  for (const text of Object.values(said)) {
    for (const form of forms) expect(text).not.toContain(form);
  }
}, 600_000);

async function messageOf(kind: ComponentKind): Promise<string> {
  const component = await read(fleet().hub, kind);
  const message = conditionOf(component, "TargetClusterResolved")?.message;
  return typeof message === "string" ? message : "";
}
