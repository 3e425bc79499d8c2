import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { runCli } from "../../../cmd/kubectl/cli.ts";
import { anchorLabels, anchorNameOf, managedByValue } from "../../../installation/anchor.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { quickenSystemClock } from "../../support/quick-system-clock.ts";
import { startChangingCluster, type ChangingCluster } from "./changing-cluster.ts";
import { recordedBinding } from "./controller-binding.ts";
import { component, deployment } from "./fleet-facts.ts";
import { binding, configMap, fileOf } from "./hub-file.ts";
import { lease } from "./hub/lease-facts.ts";
import { fleetOf, secret } from "./stub-spoke.ts";

const namespace = "team-a";
const reader = { name: "secretreader", command: "builtin:secretreader" };

/** What the chart makes: the provider file, and the binding by which it is believed. */
const installed: readonly KubeObject[] = [
  binding,
  configMap({ data: { "config.json": fileOf(reader) } }),
  secret("knfleet-system", "eu-1", { token: "t-1" }),
];

function event(name: string, about: object): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name, uid: name, resourceVersion: "8" },
    involvedObject: { namespace, ...about },
    reason: "Told",
    message: name,
    type: "Normal",
    count: 1,
    lastTimestamp: "2026-11-21T11:00:00Z",
  };
}

const aboutServing = { kind: "KnativeServing", name: "knative-serving", uid: "s" };

function pod(name: string, of: string): KubeObject {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${of}-7c9f`, uid: "r" };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: of === "knfleet-controller" ? "knfleet-system" : namespace,
      name,
      uid: name,
      resourceVersion: "8",
      labels: { "pod-template-hash": "7c9f" },
      ownerReferences: [owner],
    },
    spec: { containers: [{ name: "main" }] },
  };
}

const anchor: KubeObject = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    namespace,
    name: anchorNameOf({ kind: "KnativeServing", name: "knative-serving" }),
    uid: "uid-knativeserving-knative-serving-root-owner",
    resourceVersion: "8",
    labels: {
      [anchorLabels.managedBy]: managedByValue,
      [anchorLabels.componentName]: "knative-serving",
    },
  },
};

/** A line of the controller about Serving. */
function said(msg: string): string {
  return JSON.stringify({ component: `KnativeServing ${namespace}/knative-serving`, msg });
}

interface Going {
  readonly out: () => string;
  readonly err: () => string;
  /** Interrupts it, and resolves to its exit code. */
  readonly stop: () => Promise<number>;
}

/** A command that goes on, in this process. */
function start(hub: ChangingCluster, ...args: readonly string[]): Going {
  const end = new AbortController();
  const written = { stdout: "", stderr: "" };
  const terminal = {
    args,
    env: hub.env,
    stdout: { write: (text: string) => (written.stdout += text) !== "" },
    stderr: { write: (text: string) => (written.stderr += text) !== "" },
    now: () => new Date(),
  };
  const running = runCli(terminal, end.signal);
  return {
    out: () => written.stdout,
    err: () => written.stderr,
    stop: () => {
      end.abort();
      return running;
    },
  };
}

function printed({ out }: Going, text: string): Promise<true> {
  return waitFor(text, () => out().includes(text));
}

describe("status -w", () => {
  test("tells of the first component that comes, and goes on when the hub was away", async () => {
    // A command looks at the hub every two seconds at most.
    quickenSystemClock(10);
    await using hub = await startChangingCluster();
    const going = start(hub, "status", "-A", "-w", "--no-live", "--request-timeout=20s");
    const trouble = /<hub>: .*(?:ServerError|HubUnavailable)/g;
    await waitFor("its watches", () => hub.watches === 2);
    const serving = component();
    hub.put(serving);
    await printed(going, "knative-serving");
    expect(going.out()).toMatch(/^NAMESPACE +NAME [^]*\nteam-a +knative-serving /);
    hub.setAway(true);
    const generation = (to: number) => ({
      ...serving,
      metadata: { ...serving.metadata, generation: to },
    });
    // It looks at once when its watches tell of a change.
    hub.put(generation(2));
    await waitFor("what is wrong", () => going.err().match(trouble) !== null);
    const { length: refused } = hub.requests;
    hub.endWatches();
    await waitFor("a watch that is refused", () => hub.requests.length > refused);
    const { length } = going.out();
    hub.setAway(false);
    hub.put(generation(3));
    await waitFor("the row that changed", () => going.out().length > length);
    expect(going.err().match(trouble)).toHaveLength(1);
    expect(await going.stop()).toBe(130);
  });
});

test("status -w says once that the controller has stopped meanwhile", async () => {
  quickenSystemClock(10);
  const serving = component({ cluster: null });
  const held: KubeObject & { readonly spec?: object } = lease("knfleet-controller", {
    holder: "pod-a",
  });
  const renewTime = new Date().toISOString();
  await using hub = await startChangingCluster(
    serving,
    { ...held, spec: { ...held.spec, renewTime } },
    recordedBinding("knfleet", "knfleet-system"),
  );
  const going = start(hub, "status", "-A", "-w", "--no-live", "--request-timeout=20s");
  await waitFor("its watches", () => hub.watches === 2);
  await printed(going, "knative-serving");
  expect(going.err()).not.toContain("No controller");
  hub.put(lease("knfleet-controller", { age: 100 }));
  const stopped = /^error: No controller works since 2026-11-21T11:58:20Z: /gm;
  await waitFor("what is wrong", () => going.err().match(stopped) !== null);
  const { length } = going.out();
  hub.put({ ...serving, metadata: { ...serving.metadata, generation: 2 } });
  await waitFor("the row that changed", () => going.out().length > length);
  expect(going.err().match(stopped)).toHaveLength(1);
  expect(await going.stop()).toBe(130);
});

/** A provider file of this machine with an exec plugin that counts its runs. */
async function countingPlugin() {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-counting-"));
  const command = join(folder, "plugin");
  const credential = {
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    status: { token: "t" },
  };
  const script = `#!/bin/sh\necho run >> ${folder}/runs\necho '${JSON.stringify(credential)}'\n`;
  await writeFile(command, script, { mode: 0o755 });
  const file = join(folder, "providers.json");
  await writeFile(file, fileOf({ name: "counting", command }));
  return {
    file,
    runs: async () => (await readFile(join(folder, "runs"), "utf8")).trim().split("\n").length,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

describe("status -w", () => {
  test("keeps its connections and credentials from one look to the next, and begins anew when the way changes", async () => {
    await using spoke = await startChangingCluster(anchor, deployment({ name: "activator" }));
    await using hub = await startChangingCluster();
    await using plugin = await countingPlugin();
    const [profile, serving] = fleetOf(spoke.url, "counting", { clusterName: "eu-1" });
    if (profile === undefined || serving === undefined) throw new Error("Unreachable");
    hub.put(profile, serving);
    const going = start(hub, "status", "-A", "-w", "--clusterprofile-provider-file", plugin.file);
    await printed(going, "Ready");
    const { length: connections } = spoke.connections;
    expect(connections).toBeGreaterThan(0);
    for (const version of ["1.23.1", "1.23.2", "1.23.3"]) {
      const before = spoke.requests.length;
      const status = { ...Object(serving["status"]), version };
      hub.put({ ...serving, status });
      // oxlint-disable-next-line no-await-in-loop -- one look after another
      await printed(going, version);
      expect(spoke.requests.length).toBeGreaterThan(before);
    }
    expect(await plugin.runs()).toBe(1);
    expect(spoke.connections).toHaveLength(connections);
    const [other] = fleetOf(spoke.url, "counting", { clusterName: "eu-2" });
    if (other === undefined) throw new Error("Unreachable");
    hub.put(other, { ...serving, status: { ...Object(serving["status"]), version: "1.23.4" } });
    await printed(going, "1.23.4");
    expect(await plugin.runs()).toBe(2);
    expect(await going.stop()).toBe(130);
  });
});

describe("events -w", () => {
  test("tells of components, and of their clusters, that come after it began, and goes on when they go", async () => {
    quickenSystemClock(10);
    await using spoke = await startChangingCluster(
      event("on-the-spoke", { kind: "Pod", name: "p" }),
    );
    await using hub = await startChangingCluster(...installed);
    const [profile, serving] = fleetOf(spoke.url, "secretreader", { clusterName: "eu-1" });
    if (profile === undefined || serving === undefined) throw new Error("Unreachable");
    const going = start(hub, "events", "-A", "-w", "-o", "json");
    await waitFor("its first look", () => hub.requests.length > 1);
    // The Event is there before anybody knows whom it is about.
    hub.put(event("before-it", aboutServing), profile, serving);
    await printed(going, "before-it");
    await printed(going, "on-the-spoke");
    hub.put(event("after-it", aboutServing));
    await printed(going, "after-it");
    hub.remove(serving);
    hub.put(event("at-its-end", aboutServing));
    await printed(going, "at-its-end");
    const again = { ...serving, metadata: { ...serving.metadata, uid: "s2" } };
    hub.put(again, event("of-the-next", { ...aboutServing, uid: "s2" }));
    await printed(going, "of-the-next");
    expect(await going.stop()).toBe(130);
    expect(going.out().match(/"message":"on-the-spoke"/g)).toHaveLength(1);
    expect(going.err()).not.toContain("rror");
  });
});

describe("logs -f", () => {
  test("follows what comes after it began, also what was said before it was known, and goes on when it goes", async () => {
    quickenSystemClock(10);
    await using spoke = await startChangingCluster(
      anchor,
      deployment({ name: "activator" }),
      pod("activator-7c9f-x1", "activator"),
    );
    await using hub = await startChangingCluster(
      ...installed,
      deployment({ name: "knfleet-controller", namespace: "knfleet-system", owner: null }),
      recordedBinding("knfleet", "knfleet-system"),
      pod("knfleet-controller-7c9f-x1", "knfleet-controller"),
    );
    const [profile, serving] = fleetOf(spoke.url, "secretreader", { clusterName: "eu-1" });
    if (profile === undefined || serving === undefined) throw new Error("Unreachable");
    const going = start(hub, "logs", "-A", "-f", "--tail=5");
    await waitFor("the controller's follower", () => hub.followers === 1);
    expect(going.err()).toContain("No installation matches yet: waiting for one.");
    hub.say("knfleet-controller-7c9f-x1", said("said before"));
    hub.say("knfleet-controller-7c9f-x1", JSON.stringify({ msg: "about nobody" }));
    hub.put(profile, serving);
    await printed(going, "said before");
    await waitFor("the spoke's follower", () => spoke.followers === 1);
    spoke.say("activator-7c9f-x1", "first");
    await printed(going, "first");
    spoke.remove(pod("activator-7c9f-x1", "activator"));
    spoke.put(pod("activator-7c9f-x2", "activator"));
    await waitFor("the follower of the new pod", () => spoke.followers === 1);
    spoke.say("activator-7c9f-x2", "second");
    await printed(going, "second");
    hub.remove(serving);
    hub.say("knfleet-controller-7c9f-x1", said("said at its end"));
    await printed(going, "said at its end");
    expect(await going.stop()).toBe(130);
    expect(going.out()).not.toContain("about nobody");
    expect(going.err()).not.toMatch(/not found|rror/);
  });
});
