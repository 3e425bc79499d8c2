import { join } from "node:path";

import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { keyOf, type KubeObject } from "../../../../api/kubernetes.ts";
import { allRights, type LimitedUser } from "../../../faults/commands/limited-user.ts";
import { type FaultProxy, startFaultProxy } from "../../../faults/fault-proxy.ts";
import { failure, type Fault } from "../../../faults/fault.ts";
import { WriteLog } from "../../../faults/write-log.ts";
import { writeKubeconfig } from "../../../fleet/kubeconfig.ts";
import { useFleet } from "../../../fleet/use-fleet.ts";
import { deployController } from "../commands/diagnose/controller-deployment.ts";
import { type Ran, runKnfleet } from "../run-knfleet.ts";

const fleet = useFleet({ spokes: 1 });
const log = new WriteLog();
let proxy: FaultProxy;
let user: LimitedUser;
let kubeconfig: string;
let providerFile: string;

beforeAll(async () => {
  const { hub, folder } = fleet();
  const { name: cluster, server, caPem } = hub;
  providerFile = await fleet().providerFile();
  await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" });
  await deployController(fleet(), providerFile);
  user = await allRights(hub);
  proxy = await startFaultProxy({ cluster, server, caPem, log });
  kubeconfig = await writeKubeconfig(join(folder, "through-proxy.kubeconfig"), {
    name: "hub",
    server: proxy.url,
    caPem: proxy.caPem,
    identity: user,
  });
});
afterAll(() => proxy[Symbol.asyncDispose]());
afterEach(async () => {
  await user.take(undefined);
  for (const job of await jobs()) await fleet().hub.admin.remove(keyOf(job));
});

async function jobs(): Promise<readonly KubeObject[]> {
  const type = { apiVersion: "batch/v1", kind: "Job" };
  const found = await fleet().hub.admin.list({ ...type, namespace: "knfleet-system" });
  return found.map((job) => ({ ...job, ...type }));
}

/** The pod of the Job never starts, because its node does not exist. */
function walk(): Promise<Ran> {
  const args = ["diagnose", "fleet/spoke-1", "--from", "controller", "--yes", "--timeout", "8s"];
  const env = { KUBECONFIG: kubeconfig, KNFLEET_PROVIDER_FILE: providerFile };
  return runKnfleet(args, { env });
}

async function walkWith(method: string, fault: Fault): Promise<Ran> {
  let isDone = false;
  using _rule = proxy.inject((request) => {
    if (isDone || request.method !== method || !request.path.includes("/jobs")) return undefined;
    isDone = true;
    return fault;
  });
  return await walk();
}

test.each([
  ["create", "batch", "jobs"],
  ["get", "batch", "jobs"],
  ["delete", "batch", "jobs"],
  ["list", "", "pods"],
])("without the right to %s %s/%s no Job is made, and the right is named", async (...right) => {
  const [verb, group, resource] = right;
  await user.take({ verb, group, resource });
  const { stderr, exitCode } = await walk();
  expect(stderr).toMatch(`error: You lack rights on the hub: ${verb} ${resource}`);
  expect(exitCode).toBe(2);
  expect(await jobs()).toEqual([]);
});

test("a Job that cannot be deleted is named, with the command that deletes it", async () => {
  const { stderr, exitCode } = await walkWith("DELETE", failure(403, "Forbidden", "no"));
  const [job] = await jobs();
  const name = job?.metadata.name ?? "";
  expect(stderr).toContain(`warning: Job knfleet-system/${name} may be left`);
  expect(stderr).toContain(`kubectl delete job ${name} -n knfleet-system\n`);
  expect(exitCode).toBe(2);
});

test("a Job goes when the answer of its creation is lost", async () => {
  log.restart();
  const { stderr, exitCode } = await walkWith("POST", { kind: "reset", when: "after" });
  expect(stderr).not.toContain("may be left");
  expect(exitCode).toBe(2);
  expect(await jobs()).toEqual([]);
  const deleted = log.writes.filter(({ method }) => method === "DELETE");
  expect(deleted.map(({ body }) => body)).toEqual([expect.stringContaining('"uid"')]);
});
