import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { portOf } from "../../../../fleet/ports.ts";
import { runText } from "../../run-text.ts";
import { startStubHub, type StubHub } from "../../stub-hub.ts";

let folder: string;
let hub: StubHub;
let silent: Server;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-register-"));
  hub = await startStubHub([]);
  silent = createServer();
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  silent.close();
  await rm(folder, { recursive: true });
});

/** A kubeconfig with the context `hub`, and `eu-1` of a server on a port. */
async function kubeconfigFor(port: number): Promise<string> {
  const path = join(folder, `eu-1-${port}`);
  const clusters = [
    { name: "hub", cluster: { server: hub.url } },
    { name: "eu-1", cluster: { server: `http://127.0.0.1:${port}` } },
  ];
  const contexts = clusters.map(({ name }) => ({ name, context: { cluster: name, user: "me" } }));
  const users = [{ name: "me", user: { token: "none" } }];
  const document = { "current-context": "hub", clusters, contexts, users };
  await writeFile(path, JSON.stringify(document));
  return path;
}

test.each([
  // Port 9 (discard) of the loopback address: nobody listens.
  { name: "refuses", port: () => 9, limit: "20s", why: /refused the connection/ },
  { name: "is silent", port: () => portOf(silent.address()), limit: "1s", why: /in time/ },
])("a cluster that $name is told from the hub", async ({ port, limit, why }) => {
  const env = { KUBECONFIG: await kubeconfigFor(port()) };
  const args = ["register", "eu-1", "--spoke-timeout", limit];
  const { exitCode, stderr } = await runText(args, { env });
  expect(stderr).toMatch(/^error: The cluster of context "eu-1": /);
  expect(stderr).toMatch(why);
  expect(exitCode).toBe(2);
});

test("a context that does not exist is named, with the way to list them", async () => {
  const env = { KUBECONFIG: await kubeconfigFor(9) };
  const { exitCode, stderr } = await runText(["register", "eu-2"], { env });
  expect(stderr).toContain('has no context "eu-2"');
  expect(stderr).toContain("next: kubectl config get-contexts");
  expect(exitCode).toBe(2);
});
