import { dirname } from "node:path";

import { beforeAll, beforeEach, describe, expect, test } from "vitest";

import { knfCodes } from "../../../../../api/knf/knf-codes.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { accessFaults } from "./access-faults.ts";
import { componentFaults } from "./component-faults.ts";
import { deployController } from "./controller-deployment.ts";
import { deploymentFaults } from "./deployment-faults.ts";
import {
  holdLease,
  providerOf,
  realProvider,
  worldOf,
  writeComponent,
  writeStatus,
  type World,
} from "./diagnose-world.ts";
import { hubFaults } from "./hub-faults.ts";
import { networkFaults } from "./network-faults.ts";
import { behindGateway, oddFaults } from "./odd-faults.ts";
import { playKubelet } from "./played-kubelet.ts";
import { pluginFaults } from "./plugin-faults.ts";
import { spokeFaults, victims } from "./spoke-faults.ts";
import { withEntry } from "./ways-in.ts";

const fleet = useFleet({ spokes: 1, hub: { kwok: true } });
let world: World;
beforeAll(async () => {
  world = await worldOf(fleet(), ["healthy", ...victims]);
}, 600_000);
// A Lease is believed for a minute at most (api/shards.ts), and all tests together take longer.
beforeEach(() => holdLease(fleet(), 60));

const faults = [
  ...hubFaults,
  ...componentFaults,
  ...accessFaults,
  ...pluginFaults,
  ...networkFaults,
  // Before those of spokes, which take the guard away.
  ...deploymentFaults,
  ...spokeFaults,
  ...oddFaults,
];

test("a healthy installation is well in every step", async () => {
  const { report, exitCode } = await world.diagnose(["ke/healthy", "-n", "healthy"]);
  const [diagnosis] = report.items;
  expect(diagnosis?.hops.map(({ id, state }) => `${id} ${state}`)).toEqual(
    [
      ..."hub kinds controller webhook component twin profile health file provider".split(" "),
      ..."endpoint plugin credential dns tcp tls authentication authorization".split(" "),
      ..."version rival anchor guard objects deployments pods conditions workloads".split(" "),
    ].map((id) => `${id} OK`),
  );
  expect(diagnosis?.rootCause).toBeNull();
  expect(exitCode).toBe(0);
});

test("there are at least 40 faults, and each thousand of codes has some", () => {
  expect(faults.length).toBeGreaterThanOrEqual(40);
  expect(new Set(faults.map(({ code }) => code.slice(0, 4))).size).toBe(6);
});

describe("the root cause is found when", () => {
  test.each(faults)(
    "$name: $code",
    async ({ code, severity = "error", says = /./, advises = /./, make }) => {
      const { args, options, undo } = await make(world);
      try {
        const { report, exitCode, stdout, stderr } = await world.diagnose(args, options);
        const cause = report.items[0]?.rootCause;
        expect(cause, `${stdout}${stderr}`).toMatchObject({ code, severity, name: nameOf(code) });
        expect(cause?.message).toMatch(says);
        expect(cause?.next.join("\n")).toMatch(advises);
        expect(exitCode).toBe(exitCodeOf(code, severity));
        for (const profile of world.installed.values()) expect(stdout).not.toContain(profile.token);
      } finally {
        await undo?.();
      }
    },
    120_000,
  );
});

describe("all is well with", () => {
  test("text around the certificates of the CA, as Go has it", async () => {
    const ca = fleet().spoke(0).caPem;
    const data = Buffer.from(`# our bundle\n${ca}\nend of our bundle\n`).toString("base64");
    const { args } = await withEntry(world, "ca-text", { "certificate-authority-data": data });
    expect((await world.diagnose(args)).report.items[0]).toMatchObject({ rootCause: null });
  });

  test("a spoke behind a path of a gateway", async () => {
    const { args, undo } = await behindGateway(world, "right-path", { asked: "/clusters/a/" });
    try {
      expect((await world.diagnose(args)).report.items[0]).toMatchObject({ rootCause: null });
    } finally {
      await undo?.();
    }
  });
});

describe("what a person sees", () => {
  test("of one installation: each step with its time", async () => {
    const { stdout, exitCode } = await world.text(["fleet/healthy"]);
    expect(stdout).toMatch(/^ClusterProfile fleet\/healthy, walked from this machine\n\n/);
    expect(stdout).toMatch(/^OK {8}plugin {12} +\d+ ms {3}\S+secretreader$/m);
    expect(stdout).toContain("All is well.");
    expect(exitCode).toBe(0);
  });

  test("of the whole fleet: a row each, worst first, and equal causes counted", async () => {
    const { stdout, stderr, exitCode } = await world.text(["-A", "--spoke-timeout", "5s"]);
    const [header = "", first = ""] = stdout.split("\n");
    expect(header).toMatch(/^NAMESPACE +NAME +KIND +RESULT +CODE +CAUSE +MESSAGE$/);
    expect(first).toMatch(/ FAIL +KNF\d{4} /);
    expect(stdout).toMatch(
      /^no-profile +no-profile +KnativeEventing +FAIL +KNF2002 +ClusterProfileNotFound/m,
    );
    expect(stderr).toMatch(/^\d+ walked: /m);
    expect(stderr).toMatch(/^causes: \d+ [×x] KNF/m);
    expect(exitCode).toBe(1);
  }, 120_000);

  test("never a login of a proxy, also where a plugin is to be run by hand", async () => {
    const proxied = { "proxy-url": "http://jane:open-sesame@127.0.0.1:9" };
    await withEntry(world, "proxy-login", proxied);
    const file = await world.providers(
      "failing",
      providerOf(await world.script("failing", "exit 1")),
    );
    const args = ["fleet/proxy-login", "--clusterprofile-provider-file", file];
    const { stdout, stderr, report } = await world.diagnose(args);
    expect(report.items[0]?.rootCause?.next.join(" ")).toContain("KUBERNETES_EXEC_INFO=");
    expect(`${stdout}${stderr}`).not.toContain("open-sesame");
  });

  test("of a component on the hub itself: what is there, without a way to a spoke", async () => {
    await writeComponent(fleet(), "at-home", {});
    await writeStatus(fleet(), "at-home", [{ type: "Ready", status: "False" }]);
    const { report } = await world.diagnose(["ke/at-home", "-n", "at-home"]);
    const [diagnosis] = report.items;
    expect(diagnosis?.hops.map(({ id }) => id)).not.toContain("profile");
    expect(diagnosis?.rootCause).toMatchObject({ code: "KNF6009" });
  });

  test("when the time of the command is over: how far it got", async () => {
    const { proxy } = fleet().spoke(0);
    await proxy.setMode("blackhole");
    try {
      const { report, exitCode } = await world.diagnose([
        "fleet/healthy",
        "--timeout",
        "10s",
        "--spoke-timeout",
        "30s",
      ]);
      expect(report).toMatchObject({ complete: false, items: [{ finished: false }] });
      expect(report.items[0]?.hops.find(({ id }) => id === "plugin")?.state).toBe("OK");
      expect(exitCode).toBe(3);
    } finally {
      await proxy.setMode("open");
    }
  });

  test("of a name that is a ClusterProfile: the way to it", async () => {
    const { report } = await world.diagnose(["healthy", "-n", "fleet"]);
    expect(report.items.map(({ target }) => target)).toEqual([
      { kind: "ClusterProfile", namespace: "fleet", name: "healthy" },
    ]);
  });
});

describe("with the provider file of the controller (T-85)", () => {
  let remove: () => Promise<unknown>;
  beforeAll(async () => {
    remove = await deployController(fleet(), world.providerFile);
    return remove;
  });

  test("its commands are shown and not run, and the network is walked all the same", async () => {
    const { report, exitCode } = await world.diagnose(["fleet/healthy"], { env: { NO_FILE: "1" } });
    const states = new Map(report.items[0]?.hops.map((hop) => [hop.id, hop]));
    expect(states.get("file")).toMatchObject({
      state: "OK",
      message: expect.stringContaining("ConfigMap knfleet-system/providers"),
    });
    expect(states.get("plugin")).toMatchObject({ state: "WARN", code: "KNF3013" });
    expect(states.get("plugin")?.message).toContain("secretreader");
    expect(states.get("tls")?.state).toBe("OK");
    expect(states.get("authentication")).toMatchObject({ state: "SKIPPED", because: "plugin" });
    expect(exitCode).toBe(3);
  });

  test("they run with --exec and a plugin root that holds them", async () => {
    const real = await realProvider(world.providerFile);
    const root = dirname(String(real.execConfig["command"]));
    const args = ["fleet/healthy", "--exec", "--plugin-root", root];
    const { report } = await world.diagnose(args, { env: { NO_FILE: "1" } });
    expect(report.items[0]?.hops.find(({ id }) => id === "authentication")?.state).toBe("OK");
  });
});

describe("from another vantage point", () => {
  let remove: () => Promise<unknown>;
  let file: string;
  beforeAll(async () => {
    file = await world.providers("built-in-vantage", providerOf("builtin:secretreader"));
    remove = await deployController(fleet(), file);
    return remove;
  });
  const usual = () => [
    "fleet/healthy",
    "--clusterprofile-provider-file",
    file,
    "--plugin-namespace",
    "fleet-credentials",
  ];

  test("as the controller's identity: what it may not do and you may is told", async () => {
    const { report, exitCode } = await world.diagnose([
      ...usual(),
      "--from",
      "controller-identity",
    ]);
    const [diagnosis] = report.items;
    expect(diagnosis).toMatchObject({
      vantage: "controller-identity",
      rootCause: { code: "KNF3017" },
    });
    const difference = diagnosis?.differences.find(({ hop }) => hop === "plugin");
    expect(difference).toMatchObject({ here: "OK", there: "FAIL" });
    expect(difference?.meaning).toMatch(/from here it works; from there KNF3017: /);
    expect(exitCode).toBe(1);
  });

  test("as the controller's identity, which may not read its own provider file on the hub: you read it", async () => {
    const args = ["fleet/healthy", "--from", "controller-identity"];
    const { report } = await world.diagnose(args, { env: { NO_FILE: "1" } });
    const states = new Map(report.items[0]?.hops.map((hop) => [hop.id, hop]));
    expect(report.items[0]?.vantage).toBe("controller-identity");
    expect(states.get("file")).toMatchObject({
      state: "OK",
      message: expect.stringContaining("ConfigMap knfleet-system/providers"),
    });
    expect(states.get("provider")?.state).toBe("OK");
    // No administrator vouches for this file, so that no reader follows it (T-16).
    expect(states.get("plugin")).toMatchObject({ state: "WARN", code: "KNF3013" });
  });

  test("by a Job: nobody is asked without a terminal, and nothing is made", async () => {
    const { exitCode, stderr } = await world.text([...usual(), "--from", "controller"]);
    expect(stderr).toContain("Nobody is there to agree");
    expect(exitCode).toBe(2);
    expect(await jobs()).toEqual([]);
  });

  test("by a Job: it walks where the controller runs, reports, and is gone (D11)", async () => {
    const played = playKubelet(world);
    const { report, exitCode } = await world.diagnose([
      ...usual(),
      "--from",
      "controller",
      "--yes",
    ]);
    expect(await played).toContain("--report-file");
    expect(report.items[0]).toMatchObject({
      vantage: "controller",
      rootCause: { code: "KNF3006" },
    });
    expect(report.items[0]?.differences.map(({ hop, there }) => [hop, there])).toContainEqual([
      "plugin",
      "FAIL",
    ]);
    expect(exitCode).toBe(1);
    await waitFor("the Job to be gone", async () => (await jobs()).length === 0);
  });
});

function jobs() {
  return fleet().hub.admin.list({
    apiVersion: "batch/v1",
    kind: "Job",
    namespace: "knfleet-system",
  });
}

function nameOf(code: string): string {
  return Object.entries(knfCodes).find(([known]) => known === code)?.[1].name ?? "";
}

/** 2: the hub could not be asked; 3: something was left out. */
function exitCodeOf(code: string, severity: string): number {
  if (/^KNF100[1-4]$/.test(code)) return 2;
  if (code === "KNF3001") return 3;
  return severity === "error" ? 1 : 0;
}
