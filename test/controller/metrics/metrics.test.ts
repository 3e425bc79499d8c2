import { describe, expect, test } from "vitest";

import { RequestCounters } from "../../../access/http/request-counters.ts";
import { PathMetrics } from "../../../access/spokes/path-metrics.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import type { MetricSources } from "../../../controller/metrics/metrics.ts";
import type { Answers, CheckAnswer } from "../../../sets/check-answer.ts";
import { fleetSet } from "../../cmd/kubectl/set-facts.ts";
import { serving } from "../../support/component.ts";
import { lieIn, lyingText } from "../../support/lying-text.ts";
import { metricsOf } from "../../support/metrics.ts";

async function linesOf(metrics: { render(): Promise<string> }): Promise<readonly string[]> {
  return (await metrics.render()).split("\n");
}

test("the queue and the reconciles have the names of client-go and controller-runtime", async () => {
  const metrics = metricsOf({ queueDepth: () => 3, activeWorkers: () => 2 });
  for (const next of [{ kind: "backoff" }, { kind: "after", ms: 5 }, { kind: "done" }] as const) {
    metrics.added();
    metrics.started("a", 20);
    metrics.ended("a", next, 40);
  }
  metrics.setShardsHeld(1);
  expect(await linesOf(metrics)).toEqual(
    expect.arrayContaining([
      'workqueue_depth{name="knfleet"} 3',
      'workqueue_adds_total{name="knfleet"} 3',
      'workqueue_retries_total{name="knfleet"} 1',
      'workqueue_queue_duration_seconds_count{name="knfleet"} 3',
      'workqueue_work_duration_seconds_count{name="knfleet"} 3',
      'workqueue_unfinished_work_seconds{name="knfleet"} 0',
      'workqueue_longest_running_processor_seconds{name="knfleet"} 0',
      'controller_runtime_active_workers{controller="knfleet"} 2',
      'controller_runtime_max_concurrent_reconciles{controller="knfleet"} 16',
      'controller_runtime_reconcile_total{controller="knfleet",result="error"} 1',
      'controller_runtime_reconcile_total{controller="knfleet",result="requeue_after"} 1',
      'controller_runtime_reconcile_total{controller="knfleet",result="success"} 1',
      'controller_runtime_reconcile_errors_total{controller="knfleet"} 1',
      'controller_runtime_reconcile_time_seconds_count{controller="knfleet"} 3',
      'leader_election_master_status{name="knfleet"} 1',
    ]),
  );
});

test("work that does not end is seen: all of it, and what has taken longest", async () => {
  const metrics = metricsOf();
  const numberOf = async (name: string): Promise<number> => {
    const line = (await linesOf(metrics)).find((one) => one.startsWith(`${name}{`));
    return Number(line?.split(" ").at(-1));
  };
  const longest = "workqueue_longest_running_processor_seconds";
  metrics.started("a", 0);
  await new Promise((wake) => setTimeout(wake, 20));
  metrics.started("b", 0);
  await new Promise((wake) => setTimeout(wake, 5));
  expect(await numberOf(longest)).toBeGreaterThanOrEqual(0.02);
  expect(await numberOf("workqueue_unfinished_work_seconds")).toBeGreaterThan(0.024);
  metrics.ended("a", { kind: "done" }, 25);
  const afterwards = await numberOf(longest);
  expect(afterwards).toBeGreaterThan(0);
  metrics.ended("b", { kind: "done" }, 5);
  expect(await numberOf(longest)).toBe(0);
});

test("what was applied, refused, repaired and failed is counted", async () => {
  const metrics = metricsOf();
  metrics.countFailure({ reason: "RemoteClientCreationFailed", code: "Unreachable" });
  metrics.countFailure({ reason: "AnchorConflict", code: undefined });
  metrics.countObjects({ applied: 150, parked: 0, failed: 1, pruned: 2 });
  metrics.countRepairs(["Deployment", "ConfigMap", "Deployment"]);
  expect(await linesOf(metrics)).toEqual(
    expect.arrayContaining([
      'knfleet_reconcile_failures_total{reason="RemoteClientCreationFailed",code="Unreachable"} 1',
      'knfleet_reconcile_failures_total{reason="AnchorConflict",code=""} 1',
      'knfleet_objects_total{result="applied"} 150',
      'knfleet_drift_repairs_total{kind="Deployment"} 2',
    ]),
  );
});

test("workloads are told by kind and by whether they are ready, as long as somebody asks", async () => {
  let counts: ReturnType<MetricSources["workloads"]> = new Map([
    ["Service", { ready: 41, notReady: 1 }],
  ]);
  const metrics = metricsOf({ workloads: () => counts });
  expect(await linesOf(metrics)).toEqual(
    expect.arrayContaining([
      'knfleet_workloads{kind="Service",ready="true"} 41',
      'knfleet_workloads{kind="Service",ready="false"} 1',
    ]),
  );
  counts = new Map();
  expect(await linesOf(metrics)).not.toContainEqual(expect.stringMatching(/^knfleet_workloads\{/));
});

async function checksIn(metrics: { render(): Promise<string> }): Promise<readonly string[]> {
  return (await linesOf(metrics)).filter((line) => line.startsWith("knfleet_set_checks{"));
}

test("the answers to the checks of a set are counted by check, as long as they are asked", async () => {
  const answer = { since: 0, at: 0, message: "" };
  const asked = (
    kind: CheckAnswer["kind"],
    others: Iterable<readonly [string, CheckAnswer]> = [],
  ) => ({
    stamp: "",
    askedSince: 0,
    checks: new Map([["workloads", { ...answer, kind }], ...others]),
  });
  let answers: Answers = new Map([
    ["fleet/a", asked("good", [["rate", { ...answer, kind: "unasked" }]])],
    ["fleet/b", asked("bad")],
    ["fleet/c", asked("bad")],
  ]);
  const metrics = metricsOf({ sets: () => [fleetSet()], answersOf: () => answers });
  const set = 'kind="KnativeServingSet",namespace="team-a",set="prod"';
  expect(await checksIn(metrics)).toEqual([
    `knfleet_set_checks{${set},check="workloads",answer="good"} 1`,
    `knfleet_set_checks{${set},check="rate",answer="unasked"} 1`,
    `knfleet_set_checks{${set},check="workloads",answer="bad"} 2`,
  ]);
  answers = new Map();
  expect(await checksIn(metrics)).toEqual([]);
});

describe("requests", () => {
  const end = { host: "a:6443", method: "PATCH", verb: "apply", elapsedMs: 30 } as const;

  test("are counted by code, method and server, and those that apply by code", async () => {
    const requests = new RequestCounters(systemClock);
    const metrics = metricsOf({ requests });
    for (const code of ["200", "200", "409", "<error>"]) requests.countEnd({ ...end, code });
    requests.of("apply").requests = 4;
    requests.countEnd({ ...end, method: "GET", verb: "watch", code: "200" });
    const lines = await linesOf(metrics);
    expect(lines).toEqual(
      expect.arrayContaining([
        'rest_client_requests_total{host="a:6443",method="PATCH",code="200"} 2',
        'rest_client_requests_total{host="a:6443",method="PATCH",code="<error>"} 1',
        'knfleet_apply_requests_total{code="409"} 1',
        'knfleet_requests_total{verb="apply"} 4',
        'rest_client_request_duration_seconds_count{verb="PATCH"} 4',
      ]),
    );
    expect(lines.join("\n")).not.toContain('duration_seconds_count{verb="GET"}');
  });

  test("to a server that is gone have no series any more, and durations never name one", async () => {
    let now = 0;
    const requests = new RequestCounters({ now: () => now });
    const metrics = metricsOf({ requests });
    const used = requests.use("a:6443");
    requests.countEnd({ ...end, code: "200" });
    used[Symbol.dispose]();
    expect((await linesOf(metrics)).filter((line) => line.includes("a:6443"))).toHaveLength(1);
    now += 600_001;
    expect((await linesOf(metrics)).filter((line) => line.includes("a:6443"))).toEqual([]);
  });
});

test("a component has series for as long as it is there", async () => {
  const conditions = [{ type: "Ready", status: "True" }] as const;
  const components: Component[] = [
    serving({ status: { version: "1.23.0", conditions } }),
    serving({
      metadata: { namespace: "b" },
      spec: { clusterProfileRef: { namespace: "fleet", name: "spoke-1" } },
      status: { conditions: [{ type: "Contested", status: "True" }] },
    }),
  ];
  const metrics = metricsOf({ components: () => components });
  const first = 'kind="KnativeServing",namespace="knative-serving",name="knative-serving"';
  const second = 'kind="KnativeServing",namespace="b",name="knative-serving"';
  const lines = await linesOf(metrics);
  expect(lines).toEqual(
    expect.arrayContaining([
      `knfleet_component_ready{${first},status="True"} 1`,
      `knfleet_component_ready{${second},status="Unknown"} 1`,
      `knfleet_component_contested{${first}} 0`,
      `knfleet_component_contested{${second}} 1`,
      `knfleet_component_info{${first},version="1.23.0",spoke=""} 1`,
      `knfleet_component_info{${second},version="",spoke="fleet/spoke-1"} 1`,
    ]),
  );
  components.pop();
  expect((await linesOf(metrics)).join("\n")).not.toContain('namespace="b"');
});

test("the process itself is measured", async () => {
  expect(await metricsOf().render()).toMatch(/^process_resident_memory_bytes \d+$/m);
});

test("a label is plain and short, whatever others said, and its series is there", async () => {
  const name = `${"\\".repeat(300)}"\n\u202e`;
  const status = { version: lyingText, conditions: [] };
  const spec = { clusterProfileRef: { namespace: "fleet", name } };
  const path = new PathMetrics(systemClock);
  const components = () => [serving({ spec, status })];
  const metrics = metricsOf({ path, components });
  await path.measure(lyingText, () => Promise.resolve(1), new AbortController().signal);
  const lines = await linesOf(metrics);
  expect(lines.flatMap(lieIn)).toEqual([]);
  const longest = lines.filter((line) => !line.startsWith("#")).map(({ length }) => length);
  expect(Math.max(...longest)).toBeLessThan(1_500);
  const info = lines.find((line) => line.startsWith("knfleet_component_info{"));
  expect(info).toMatch(/,version="red over written [^"]*",spoke="fleet\/(?:\\\\)+"\} 1$/);
  expect(lines).toContainEqual(expect.stringMatching(/_runs_total\{provider="red over .* 1$/));
});

test("labels that differ only in what nobody sees, or far behind, are one series", async () => {
  const path = new PathMetrics(systemClock);
  const metrics = metricsOf({ path });
  const { signal } = new AbortController();
  const providers = ["gke", "g\u200bke", ...["a", "b"].map((end) => "x".repeat(253) + end)];
  for (const provider of providers) await path.measure(provider, () => Promise.resolve(1), signal);
  const samples = (await linesOf(metrics)).filter((line) => !line.startsWith("#"));
  const series = samples.map((line) => line.slice(0, line.lastIndexOf(" ")));
  expect(series.filter((each, at) => each !== "" && series.indexOf(each) !== at)).toEqual([]);
  expect(series.filter((each) => each.includes("_runs_total"))).toEqual([
    'knfleet_exec_plugin_runs_total{provider="gke",code="OK"}',
    `knfleet_exec_plugin_runs_total{provider="${"x".repeat(253)}",code="OK"}`,
  ]);
});
