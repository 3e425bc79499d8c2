import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import { componentOf, create, ready } from "../../e2e/installation.ts";
import { releaseDir } from "../../e2e/release-dir.ts";
import { useScene } from "../../e2e/scene.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { rowsOf, type Ran } from "./run-knfleet.ts";
import { runHere } from "./run-text.ts";
import { testUpgradeOfFleet } from "./upgrade-of-fleet.ts";

const scene = useScene({ spokes: 2 });
const namespace = "knative-serving";
const foreignImage = "registry.example.com/foreign:1";
const userAgent = /^kubectl-knfleet/;

let releases: string;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  const { hub, fleet, profiles } = scene();
  await create(hub, { kind: "KnativeServing", on: profiles[0], spec: { version: "1.22" } });
  await ready(hub, "KnativeServing");
  // It would repair what is changed from now on.
  await scene().controller[Symbol.asyncDispose]();
  await letJobsExpire();
  releases = await releaseDir();
  const identity = hub.adminIdentity;
  environment = {
    KUBECONFIG: await hub.writeKubeconfig("person.kubeconfig", { identity, namespace }),
    KNFLEET_PROVIDER_FILE: await fleet.providerFile(),
  };
}, 300_000);

/** Lets the TTL controller of the spoke remove the finished Jobs, as it does ten minutes after every installation. */
async function letJobsExpire(): Promise<void> {
  const { admin } = scene().fleet.spoke(0);
  const jobs = { apiVersion: "batch/v1", kind: "Job", namespace };
  const names = (await admin.list(jobs)).map(({ metadata }) => metadata.name);
  expect(names.length).toBeGreaterThan(0);
  const spec = { ttlSecondsAfterFinished: 1 };
  await Promise.all(names.map((name) => admin.patch({ ...jobs, name }, { spec })));
  await waitFor("finished Jobs to be removed", async () => (await admin.list(jobs)).length === 0);
}

/** With the time that a busy machine takes. */
function knfleet(...args: readonly string[]): Promise<Ran> {
  const patience = ["--spoke-timeout", "60s", "--timeout", "120s", "--request-timeout", "60s"];
  return runHere([...args, ...patience], environment);
}

function compared(...args: readonly string[]): Promise<Ran> {
  return knfleet(...args, "--release-dir", releases);
}

async function file(name: string, spec: Readonly<Record<string, unknown>>): Promise<string> {
  const path = join(scene().fleet.folder, name);
  const component = componentOf({ kind: "KnativeServing", on: scene().profiles[0], spec });
  await writeFile(path, JSON.stringify(component));
  return path;
}

const activator = { apiVersion: "apps/v1", kind: "Deployment", namespace, name: "activator" };

describe("what the controller has installed", () => {
  test("does not differ from what is rendered", async () => {
    const { stdout, stderr, exitCode } = await compared("diff");
    expect(stdout).toBe("");
    expect(stderr).toMatch(
      /^\d+ objects of 1 installation, live against rendered: no difference\.$/m,
    );
    expect(exitCode).toBe(0);
  });

  test("would not change by the file that it was made from", async () => {
    const { stdout, exitCode } = await compared(
      "plan",
      "-f",
      await file("same.json", { version: "1.22" }),
    );
    expect(stdout).toContain("hub: no change");
    expect(stdout).toContain("cluster: no change");
    expect(exitCode).toBe(0);
  });

  test("misses nothing, though its finished Jobs were removed", async () => {
    const { stdout } = await knfleet("diagnose", "ks/knative-serving", "-o", "json");
    const report: unknown = JSON.parse(stdout);
    const hops = valueAt(report, "items", 0, "hops");
    expect(hops).toContainEqual(
      expect.objectContaining({
        id: "objects",
        state: "OK",
        message: expect.stringMatching(/^\d+ objects as they should be$/),
      }),
    );
    expect(stdout).not.toMatch(/KNF6006|"Job/);
    const tree = await knfleet("tree", "ks/knative-serving");
    expect(tree.stdout).not.toMatch(/FAIL|Job/);
    const checked = await knfleet("check", "--cluster", "spoke-1", "-o", "json");
    expect(checked.stdout).not.toMatch(/KNF6006|"Job/);
  });

  test("leaves nothing over", async () => {
    const { stdout, exitCode } = await knfleet("orphans");
    expect(stdout).toBe("");
    expect(exitCode).toBe(0);
  });
});

testUpgradeOfFleet({ scene, compared, onlyDryRuns });

describe("what somebody has changed since", () => {
  beforeAll(async () => {
    const { admin } = scene().fleet.spoke(0);
    const container = { name: "activator", image: foreignImage };
    const pod = { spec: { containers: [container] } };
    const options = { fieldManager: "somebody" };
    const live = await admin.get(activator);
    await admin.apply(
      { ...keyed(activator), spec: { selector: valueAt(live, "spec", "selector"), template: pod } },
      options,
    );
    await admin.patch(activator, { metadata: { annotations: { foreign: "kept" } } });
    await admin.patch({ ...activator, name: "controller" }, { spec: { replicas: 3 } });
    const config = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "config-network" };
    await admin.patch(config, { data: { "ingress-class": "none", foreign: "kept" } });
    await admin.remove({ ...activator, name: "autoscaler" });
  });

  test("is shown, and nothing else is", async () => {
    const since = new Date();
    const { stdout, exitCode } = await compared("diff", "-o", "wide");
    expect(rowsOf(stdout)).toMatchObject([
      { KIND: "Deployment", NAME: "activator", CHANGE: "changed" },
      { KIND: "Deployment", NAME: "autoscaler", CHANGE: "missing" },
      {
        KIND: "ConfigMap",
        NAME: "config-network",
        CHANGE: "changed",
        FIELDS: ".data.ingress-class",
      },
    ]);
    expect(stdout).toContain(".spec.template.spec.containers[activator].image");
    expect(exitCode).toBe(1);
    await onlyDryRuns(since);
  });

  test("is a unified diff, from what is live to what is rendered", async () => {
    const { stdout, exitCode } = await compared("diff", "ks");
    expect(stdout).toContain(`--- live/fleet/spoke-1/apps.v1.Deployment.${namespace}.activator`);
    expect(stdout).toContain(`-          image: ${foreignImage}`);
    expect(stdout).not.toContain("foreign: kept\n+");
    expect(exitCode).toBe(1);
  });

  test("cannot be told of a cluster that cannot be read: exit code 3", async () => {
    const { proxy } = scene().fleet.spoke(0);
    await proxy.setMode("refuse");
    try {
      const { stdout, stderr, exitCode } = await compared("diff");
      expect(stdout).toBe("");
      expect(stderr).toContain("1 of 1 cluster could not be read:");
      expect(exitCode).toBe(3);
    } finally {
      await proxy.setMode("open");
    }
  });
});

describe("a file with another version", () => {
  test("is planned object by object, and nothing is changed", async () => {
    const since = new Date();
    const path = await file("next.json", { version: "1.23" });
    const { stdout, stderr, exitCode } = await compared("plan", "-f", path, "-o", "json");
    expect(stderr).toBe("");
    const plan: unknown = JSON.parse(stdout);
    expect(plan).toMatchObject({
      kind: "Plan",
      complete: true,
      summary: { components: 1, blocked: 0, unread: 0 },
      items: [
        {
          cluster: { namespace: "fleet", name: "spoke-1" },
          hub: {
            action: "change",
            fields: [{ path: ".spec.version", live: "1.22", wanted: "1.23" }],
          },
          version: {
            installed: expect.stringMatching(/^1\.22\./),
            wanted: expect.stringMatching(/^1\.23\./),
          },
          blocked: null,
        },
      ],
    });
    expect(valueAt(plan, "summary", "change")).toBeGreaterThan(50);
    expect(valueAt(plan, "summary", "pods")).toBeGreaterThan(0);
    expect(exitCode).toBe(1);
    await onlyDryRuns(since);
  });

  test("that may not follow the installed one is refused with its reason", async () => {
    const { stdout, exitCode } = await compared(
      "plan",
      "-f",
      await file("far.json", { version: "1.24" }),
    );
    expect(stdout).toMatch(
      /not possible: (?:KNF\d{4} )?(?:VersionNotEligible|Refused|ReleaseNotFound)/,
    );
    expect(exitCode).toBe(2);
  });
});

describe("check", () => {
  test("walks to every cluster, asks for its version and our rights, and tells what ends when", async () => {
    const { stdout, stderr, exitCode } = await knfleet(
      "check",
      "-o",
      "json",
      "--warn-within",
      "9999d",
    );
    expect(stderr).toBe("");
    const report: unknown = JSON.parse(stdout);
    for (const name of ["spoke-1", "spoke-2"]) {
      const cluster = { namespace: "fleet", name };
      const has = (check: string, state: string, message: RegExp) =>
        expect(report).toMatchObject({
          items: expect.arrayContaining([
            expect.objectContaining({
              check,
              cluster,
              state,
              message: expect.stringMatching(message),
            }),
          ]),
        });
      has("reachable", "OK", /^as system:serviceaccount:knfleet:knfleet-hub/);
      has("Kubernetes", "OK", /^v1\.36\./);
      has("rights", "OK", /rights are there$/);
      has("expiry", "FAIL", /^the stored credential ends /);
      has("expiry", "FAIL", /^the server's certificate ends /);
      has("expiry", "FAIL", /^the authority in the ClusterProfile ends /);
    }
    expect(exitCode).toBe(1);
  });

  test("of a cluster that refuses connections says so", async () => {
    const { proxy } = scene().fleet.spoke(1);
    await proxy.setMode("refuse");
    try {
      const { stdout, exitCode } = await knfleet("check", "-o", "short", "--cluster", "spoke-2");
      expect(stdout).toMatch(/^FAIL spoke-2 reachable: KNF4002 /m);
      expect(exitCode).toBe(1);
    } finally {
      await proxy.setMode("open");
    }
  });
});

describe("a component that went without its installation", () => {
  test("leaves an orphan, which is found with all that it owns", async () => {
    const { hub } = scene();
    const key = { ...componentOf({ kind: "KnativeServing" }).metadata };
    const component = {
      apiVersion: "operator.knative.dev/v1beta1",
      kind: "KnativeServing",
      namespace: key.namespace ?? "",
      name: key.name ?? "",
    };
    await hub.admin.patch(component, { metadata: { finalizers: null } });
    await hub.admin.remove(component);
    await waitFor(
      "the component to be gone",
      async () => (await hub.admin.get(component)) === undefined,
    );
    const { stdout, stderr, exitCode } = await knfleet("orphans", "-o", "wide");
    const rows = rowsOf(stdout);
    expect(rows).toContainEqual(
      expect.objectContaining({
        CLUSTER: "spoke-1",
        FINDING: "Orphan",
        NAME: "knativeserving-knative-serving-root-owner",
      }),
    );
    expect(rows.every(({ CLUSTER }) => CLUSTER === "spoke-1")).toBe(true);
    const orphan = rows.find(({ FINDING }) => FINDING === "Orphan");
    expect(Number(orphan?.["OBJECTS"])).toBeGreaterThan(70);
    expect(stderr).toContain("connect fleet/spoke-1 -- kubectl get -o yaml configmap");
    expect(exitCode).toBe(1);
    expect(await scene().fleet.spoke(0).admin.get(activator)).toBeDefined();
  });
});

function keyed({ apiVersion, kind, namespace: place, name }: typeof activator) {
  return { apiVersion, kind, metadata: { namespace: place, name } };
}

/** What the command asked of both servers: reads, reviews of rights, and dry runs. */
async function onlyDryRuns(since: Date): Promise<void> {
  const { hub, fleet } = scene();
  for (const cluster of [hub, fleet.spoke(0)]) {
    // oxlint-disable-next-line no-await-in-loop -- one log after the other
    const requests = await cluster.auditLog.requests({ userAgent, since });
    const writes = requests.filter(
      ({ verb, uri }) => !/^(?:get|list)$/.test(verb) && !/dryRun=All|\/self\w+reviews$/.test(uri),
    );
    expect(writes.map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
  }
}
