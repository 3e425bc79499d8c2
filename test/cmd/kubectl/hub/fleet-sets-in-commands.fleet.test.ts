import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import { beforeAll, describe, expect, test } from "vitest";

import { operatorApiVersion } from "../../../../api/component.ts";
import { timestampOf } from "../../../../api/conditions.ts";
import {
  fleetSetApiVersion,
  fleetSetKinds,
  type FleetSetStatus,
  type RolloutPhase,
  setLabels,
  type StageStatus,
} from "../../../../api/fleet-set.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { fleetSetCrdOf } from "../../../../api/schema/fleet-set-crd.ts";
import { unpackTar } from "../../../../cmd/kubectl/bundle/tar.ts";
import { useFleet } from "../../../fleet/use-fleet.ts";
import { waitFor } from "../../../fleet/wait-for.ts";
import { runKnfleet, type Ran, type RunOptions } from "../run-knfleet.ts";

const namespace = "platform";
const password = "correct-horse-battery";
const kss = { apiVersion: fleetSetApiVersion, kind: "KnativeServingSet" } as const;
const prod = { ...kss, metadata: { namespace, name: "prod" } };

const fleet = useFleet({ spokes: 0 });
let kubeconfig: string;

async function knfleet(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return await runKnfleet([...args, "--request-timeout", "60s"], {
    ...options,
    env: { KUBECONFIG: kubeconfig, ...options.env },
  });
}

/** Writes the status of the set as its controller would, about the latest spec. */
async function rollOut(
  phase: RolloutPhase,
  canary: StageStatus["state"],
  waitingFor?: string,
): Promise<void> {
  const { admin } = fleet().hub;
  const path = `/apis/${fleetSetApiVersion}/namespaces/${namespace}/knativeservingsets/prod`;
  const set = await admin.request("GET", path);
  const counts = { clusters: 1, failed: 0, updating: 0, unreachable: 0 };
  const isDone = canary === "Passed";
  const said = {
    reason: phase,
    message: waitingFor ?? "",
    lastTransitionTime: timestampOf(new Date()),
  };
  const status: FleetSetStatus = {
    observedGeneration: generationOf(set),
    updateRevision: "prod-7c9f1b77e2",
    rollout: { phase, stage: "canary", ...(waitingFor === undefined ? {} : { waitingFor }) },
    clusters: { selected: 2, done: isDone ? 1 : 0, failed: phase === "Halted" ? 1 : 0 },
    stages: [{ name: "canary", state: canary, ...counts, done: isDone ? 1 : 0 }],
    conditions: [
      { type: "Complete", status: phase === "Complete" ? "True" : "False", ...said },
      { type: "Progressing", status: "False", ...said },
    ],
  };
  await admin.apply({ ...prod, status }, { subresource: "status" });
}

function generationOf(set: unknown): number {
  const { metadata } = JSON.parse(JSON.stringify(set));
  return metadata.generation;
}

async function applyComponent(name: string, labels: Readonly<Record<string, string>>) {
  const { admin } = fleet().hub;
  const component = {
    apiVersion: operatorApiVersion,
    kind: "KnativeServing",
    metadata: { namespace, name },
  } as const;
  const spec = { clusterProfileRef: { namespace: "fleet", name } };
  const { metadata } = await admin.apply({
    ...component,
    metadata: { ...component.metadata, labels },
    spec,
  });
  const ready = { type: "Ready", status: "True", lastTransitionTime: timestampOf(new Date()) };
  await admin.apply(
    {
      ...component,
      status: {
        observedGeneration: metadata.generation,
        version: "1.23.0",
        conditions: [ready],
      },
    },
    { subresource: "status" },
  );
}

function revision(name: string, set: string): Manifest {
  const labels = { [setLabels.set]: set, [setLabels.kind]: kss.kind };
  const metadata = { namespace, name, labels };
  const data = { template: {} };
  return { apiVersion: "apps/v1", kind: "ControllerRevision", metadata, data, revision: 1 };
}

beforeAll(async () => {
  const { hub } = fleet();
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await applyComponent("by-hand", {});
  kubeconfig = await hub.writeKubeconfig("person.kubeconfig", {
    identity: hub.adminIdentity,
    namespace,
  });
});

const setKinds = ["KnativeServingSet", "KnativeEventingSet"] as const;

describe("on a hub without the CRDs of fleet sets", () => {
  beforeAll(async () => {
    const { admin } = fleet().hub;
    const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
    for (const kind of setKinds) {
      const name = `${fleetSetKinds[kind].plural}.knfleet.dev`;
      // oxlint-disable-next-line no-await-in-loop -- two CRDs
      await admin.remove({ ...crd, name });
    }
    const served = async () => JSON.stringify(await admin.request("GET", "/apis"));
    await waitFor("their removal", async () => !(await served()).includes("knfleet.dev"));
  });

  test("status asks for each kind once, and says nothing of sets", async () => {
    const since = new Date();
    const { stdout, stderr, exitCode } = await knfleet(["status", "--no-live"]);
    expect(stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(stderr).toBe("1 installation: 1 healthy.\n");
    expect(exitCode).toBe(0);
    const userAgent = /^kubectl-knfleet/;
    for (const resource of ["knativeservingsets", "knativeeventingsets"]) {
      const filter = { userAgent, since, resource };
      // oxlint-disable-next-line no-await-in-loop -- two kinds
      await waitFor(
        `one request for ${resource}`,
        async () => (await fleet().hub.auditLog.requests(filter)).length === 1,
      );
    }
  });

  test("wait says at once that there are no sets", async () => {
    const { stderr, exitCode } = await knfleet(["wait", "kss/prod"]);
    expect(stderr).toContain(`The server doesn't have a resource type "knativeservingsets"`);
    expect(exitCode).toBe(2);
  });

  test("check says nothing of them", async () => {
    const { stdout } = await knfleet(["check", "-o", "json"]);
    expect(stdout).not.toContain("fleet sets");
  });
});

describe("on a hub with a fleet set", () => {
  beforeAll(async () => {
    const { admin } = fleet().hub;
    for (const kind of setKinds) {
      const crd = JSON.parse(JSON.stringify(fleetSetCrdOf(kind)));
      // oxlint-disable-next-line no-await-in-loop -- two CRDs
      await admin.apply(crd);
    }
    const spec = {
      clusters: { from: "Selector", selector: { namespaces: ["fleet"] } },
      template: { spec: { version: "1.23", config: { registry: { password } } } },
      rollout: {
        stages: [
          { name: "canary", selector: { matchLabels: { ring: "0" } } },
          { name: "rest", selector: {} },
        ],
      },
    };
    await waitFor("the CRDs", async () => await admin.apply({ ...prod, spec }));
    const labels = {
      [setLabels.set]: "prod",
      [setLabels.kind]: kss.kind,
      [setLabels.stage]: "canary",
      [setLabels.revision]: "prod-7c9f1b77e2",
    };
    await applyComponent("prod-eu-1", labels);
    await admin.apply(revision("prod-7c9f1b77e2", "prod"));
    await admin.apply(revision("gone-1", "gone"));
    await rollOut("Rolling", "Rolling");
  });

  test("status shows the set, and with --set its installations alone", async () => {
    const all = await knfleet(["status", "--no-live"]);
    expect(all.stdout).toMatch(/^platform +by-hand /m);
    expect(all.stdout).toMatch(/^platform +kss\/prod +1\.23 +Rolling +canary +0\/2 +0 +<none>$/m);
    const one = await knfleet(["status", "--no-live", "--set", "kss/prod"]);
    expect(one.stdout).toMatch(/^platform +prod-eu-1 /m);
    expect(one.stdout).not.toContain("by-hand");
    const json = await knfleet(["status", "--no-live", "--set", "prod", "-o", "json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      items: [{ name: "prod-eu-1" }],
      sets: [{ kind: "KnativeServingSet", name: "prod", phase: "Rolling", selected: 2, done: 0 }],
    });
    expect((await knfleet(["status", "--no-live", "--set", "kss/gone"])).exitCode).toBe(1);
  });

  test("wait ends when a stage was passed, and when the set is complete", async () => {
    await rollOut("Rolling", "Rolling");
    const stage = await knfleet(["wait", "kss/prod", "--for=stage=canary"], {
      during: () => rollOut("Rolling", "Passed"),
    });
    expect(stage.exitCode).toBe(0);
    const complete = await knfleet(["wait", "kss/prod", "--for=complete"], {
      during: () => rollOut("Complete", "Passed"),
    });
    expect(complete.stdout).toMatch(/^platform +prod +KnativeServingSet .* met /m);
    expect(complete.exitCode).toBe(0);
  });

  test("wait does not take an older status for the latest spec, and ends with 124", async () => {
    await rollOut("Complete", "Passed");
    const { admin } = fleet().hub;
    const patch = { spec: { template: { spec: { version: "1.22" } } } };
    await admin.patch({ ...kss, namespace, name: "prod" }, patch);
    const { stdout, exitCode } = await knfleet(["wait", "kss/prod", "--timeout", "3s"]);
    expect(stdout).toContain("NotObserved");
    expect(exitCode).toBe(124);
  });

  test("wait ends with 1 and the reason when the rollout is halted", async () => {
    await rollOut("Rolling", "Rolling");
    const { stdout, exitCode } = await knfleet(["wait", "kss/prod", "--for=complete"], {
      during: () => rollOut("Halted", "Halted", "1 of 1 clusters failed"),
    });
    expect(stdout).toContain("failed   Halted   1 of 1 clusters failed");
    expect(exitCode).toBe(1);
  });

  test("tree shows the set above its installation, with stage and revision", async () => {
    await rollOut("Halted", "Halted", "1 of 1 clusters failed");
    const { stdout } = await knfleet(["tree"]);
    expect(stdout).toMatch(/^KnativeServingSet platform\/prod +FAIL +Halted, stage canary, 0\/2/m);
    expect(stdout).toMatch(
      /^`- KnativeServing platform\/prod-eu-1 .*stage canary, revision prod-7c9f1b77e2$/m,
    );
    expect(stdout).toMatch(/^KnativeServing platform\/by-hand /m);
  });

  test("top shows the set above the table, and explain says what its words mean", async () => {
    await rollOut("Halted", "Halted", "1 of 1 clusters failed");
    const screen = await knfleet(["top", "--once", "--no-live"], { env: { LINES: "24" } });
    expect(screen.stdout).toMatch(/^kss\/prod -n platform: Halted, stage canary, 0\/2 done/m);
    const words = await knfleet(["explain", "Halted", "SuspiciousShrink", "NotOwned"]);
    expect(words.exitCode).toBe(0);
  });

  test("check tells of the halted set, and of a ControllerRevision without a set", async () => {
    await rollOut("Halted", "Halted", "1 of 1 clusters failed");
    const { stdout, exitCode } = await knfleet(["check", "-o", "short"]);
    expect(stdout).toContain(
      "FAIL KnativeServingSet platform/prod fleet sets: Halted stage canary",
    );
    expect(stdout).toContain(
      "WARN KnativeServingSet platform/gone fleet sets: the set does not exist, and has left 1 ControllerRevision",
    );
    expect(exitCode).toBe(1);
  });

  test("gather takes the set and its ControllerRevisions along, without secrets", async () => {
    const path = join(fleet().folder, "sets.tgz");
    const ran = await knfleet(["gather", "--no-live", "--tail", "0", "-o", path]);
    // No spoke was to be read.
    expect(ran.exitCode).toBe(3);
    const files = await unpackTar(gunzipSync(await readFile(path)));
    const text = (name: string): string =>
      files.find((file) => file.path.endsWith(`hub/${name}.json`))?.text ?? "";
    expect(text("knativeservingsets.knfleet.dev")).toContain('"prod"');
    expect(text("controllerrevisions.apps")).toContain("prod-7c9f1b77e2");
    expect(text("controllerrevisions.apps")).not.toContain("gone-1");
    expect(files.filter((file) => file.text.includes(password))).toEqual([]);
    const bundled = await knfleet(["status", "--no-live", "--bundle", path]);
    expect(bundled.stdout).toMatch(/^platform +kss\/prod /m);
  });

  test("completion offers the set where a set is taken", async () => {
    const env = { KNFLEET_COMPLETION_TIMEOUT: "60s", XDG_CACHE_HOME: "/dev/null" };
    const flag = await runKnfleet(["__complete", "status", "--set", ""], {
      env: { KUBECONFIG: kubeconfig, ...env },
    });
    expect(flag.stdout).toBe("kss/prod\tHalted\n:4\n");
    const argument = await runKnfleet(["__complete", "wait", "k"], {
      env: { KUBECONFIG: kubeconfig, ...env },
    });
    expect(argument.stdout.split("\n")).toEqual(
      expect.arrayContaining(["ks/by-hand\tReady", "kss/prod\tHalted"]),
    );
  });
});
