import { afterEach, expect, test } from "vitest";

import { keyOf, type KubeObject, type Manifest } from "../../../../../api/kubernetes.ts";
import { componentOf } from "../../../../e2e/installation.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { controllerBinding } from "../../controller-binding.ts";
import type { Ran } from "../../run-knfleet.ts";
import { type Moments, runMigrate } from "./run-migrate.ts";
import { leaseOf } from "./upstream-chart-objects.ts";

const fleet = useFleet({ spokes: 0 });
const kind = "KnativeEventing";
/** On a cluster that nobody can read, because its ClusterProfile does not exist. */
const unread = componentOf({ kind, on: { namespace: "fleet", name: "gone" } });

afterEach(async () => {
  for (const object of [unread, ...(await records())])
    await fleet().hub.admin.remove(keyOf(object));
});

async function makeUnread(): Promise<void> {
  const { namespace } = unread.metadata;
  await given({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, unread);
}

async function given(...manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests) await fleet().hub.admin.apply(manifest);
}

async function records(): Promise<readonly KubeObject[]> {
  const labelSelector = "knfleet.dev/migration";
  const found = await fleet().hub.admin.list({
    apiVersion: "v1",
    kind: "ConfigMap",
    labelSelector,
  });
  return found.map((record) => ({ ...record, apiVersion: "v1", kind: "ConfigMap" }));
}

/** Nobody is at work on the hub, so that a migration waits for somebody to install knfleet. */
function migrate(more: readonly string[], moments: Moments = []): Promise<Ran> {
  const env = { KUBECONFIG: fleet().hub.adminKubeconfigPath };
  return runMigrate(["from-upstream", "--apply", "--yes", ...more], { env, moments });
}

const waiting = "by hand: 3 install-knfleet";
const goesOn = [
  "warning: The migration is not over: what its steps did stays. The last step of either direction deletes ConfigMap kube-system/knfleet-migration, the state before",
  "hint: Run the command again: it goes on where it was.",
  "hint: Or go back:",
  "next: kubectl knfleet migrate to-upstream --apply",
  "",
].join("\n");

test("a migration whose time is over says so on standard error, and how it goes on", async () => {
  const { stdout, stderr, exitCode } = await migrate(["--timeout", "1s"]);
  expect(stdout).toContain(waiting);
  expect(stderr).toBe(
    `error: Step 3 install-knfleet is not done in time: Install knfleet with Helm\n${goesOn}`,
  );
  expect(exitCode).toBe(124);
  expect(await records()).toHaveLength(1);
});

test("a migration that a cluster holds from the beginning says so on standard error", async () => {
  await makeUnread();
  const { stderr, exitCode } = await migrate([]);
  expect(stderr).toMatch(
    /^error: Not every cluster can be read: fleet\/gone: .+\nhint: --skip-unread goes on without what cannot be read\.\n$/,
  );
  expect(exitCode).toBe(3);
  expect(await records()).toEqual([]);
});

test("a migration that a cluster holds in the middle says how it goes on", async () => {
  const { stdout, stderr, exitCode } = await migrate(["--timeout", "6s"], [[waiting, makeUnread]]);
  expect(stdout).toContain("not read: fleet/gone: ");
  expect(stderr).toMatch(/^error: Not every cluster can be read: fleet\/gone: /);
  expect(stderr.endsWith(goesOn)).toBe(true);
  expect(exitCode).toBe(3);
});

test("a migration that is interrupted says how it goes on", async () => {
  const { stderr, exitCode } = await migrate(
    [],
    [[waiting, async (child) => void child.kill("SIGINT")]],
  );
  expect(stderr).toBe(goesOn);
  expect(exitCode).toBe(130);
});

test("a migration that left a cluster out says so on standard error at its end", async () => {
  await makeUnread();
  await given(
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "knfleet-system" } },
    controllerBinding("knfleet", "knfleet-system"),
    leaseOf("knfleet-system", "knfleet-controller"),
  );
  const { stdout, stderr, exitCode } = await migrate(["--skip-unread"]);
  expect(stdout).toContain("done: 8 finish");
  expect(stderr).toMatch(
    /^error: Not every cluster can be read: fleet\/gone: .+\nhint: Run the command again when they can be read: it migrates them then\.\n$/,
  );
  expect(exitCode).toBe(3);
});
