import { expect, onTestFinished, test } from "vitest";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { SpokeConnection } from "../../../access/spokes/spokes.ts";
import { abortable } from "../../../access/time/deadline.ts";
import { CheckSource } from "../../../access/urls/check-source.ts";
import type { ClusterProfileRef, Component } from "../../../api/component.ts";
import { managedClusterAnnotation } from "../../../api/delivery.ts";
import { FleetError } from "../../../api/errors.ts";
import { setAnnotations } from "../../../api/fleet-set.ts";
import {
  Verifications,
  type VerificationsOptions,
} from "../../../controller/verify/verifications.ts";
import type { Verification } from "../../../sets/check-answer.ts";
import { answerText, questionOf, questionText } from "../../../sets/pulled-checks.ts";
import { bareClient, unexpected } from "../../support/bare-client.ts";
import { serving } from "../../support/component.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { keptLines } from "../../support/kept-lines.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { about as verificationOf } from "./about.ts";
import { clusterOfUsers, objectOf } from "./cluster-of-users.ts";
import { specOf, Spoke } from "./job-spoke.ts";

const service = {
  namespace: "monitoring",
  name: "prometheus",
  port: 9090,
  scheme: "http",
} as const;
const spec = {
  checks: [
    {
      name: "rate",
      noData: "Fail",
      interval: "30s",
      prometheus: { service, query: "x", max: 1 },
    },
  ],
} as const;

function about(cluster: string, stamp = "12:00:00"): Verification {
  return { ...verificationOf(`fleet/${cluster}`, spec), stamp };
}

type Request = KubeClient["request"];

/** Verifications over clusters that answer so, and what is told of them. */
function asking(
  request: Request,
  list?: KubeClient["list"],
  given?: KubeClient,
  componentOf?: (component: Component) => Component,
  jobsOf: NonNullable<VerificationsOptions["pulled"]>["jobsOf"] = unexpected,
) {
  const clock = new FakeClock();
  const { log, lines } = keptLines();
  const told: string[] = [];
  const unused: string[] = [];
  let asked = 0;
  const acquire = async ({ name }: ClusterProfileRef): Promise<SpokeConnection> => {
    asked += 1;
    if (name === "away") throw new FleetError("SpokeUnreachable", "fleet/away does not answer");
    const profile = { namespace: "fleet", name, uid: name };
    const { signal } = new AbortController();
    return {
      client: given ?? bareClient({ request, ...(list !== undefined && { list }) }),
      profile,
      provider: "",
      fingerprint: "",
      signal,
    };
  };
  const verifications = new Verifications({
    spokes: { acquire },
    urls: {
      hub: new MemoryHub(),
      source: new CheckSource({ sources: [], userAgent: "knfleet-test" }),
    },
    ...(componentOf !== undefined && { pulled: { componentOf, jobsOf } }),
    clock,
    random: () => 0.5,
    log,
    onAnswer: (set) => told.push(set),
    onUnused: ({ name }) => unused.push(name),
  });
  onTestFinished(() => verifications[Symbol.dispose]());
  const answerOf = (cluster: string) =>
    verifications.answersOf("set").get(`fleet/${cluster}`)?.checks.get("rate");
  return { clock, lines, told, unused, verifications, answerOf, asked: () => asked };
}

function value(text: string): unknown {
  return { status: "success", data: { resultType: "scalar", result: [0, text] } };
}

test("a cluster is asked at once and then at its interval, and only another answer is told", async () => {
  let answer = "0";
  const { clock, told, verifications, answerOf, asked } = asking(async () => value(answer));
  verifications.ask("set", [about("a")]);
  await clock.advance(1_000);
  expect(answerOf("a")).toMatchObject({ kind: "good", message: "" });
  const since = answerOf("a")?.since;
  await clock.advance(90_000);
  expect([asked(), told]).toEqual([4, ["set"]]);
  expect(answerOf("a")?.since).toBe(since);
  answer = "2";
  await clock.advance(30_000);
  expect(answerOf("a")).toMatchObject({ kind: "bad", message: "the query gives 2, more than 1" });
  answer = "0";
  await clock.advance(30_000);
  expect(answerOf("a")).toMatchObject({ kind: "good" });
  expect(answerOf("a")?.badAt).toBeGreaterThan(since ?? 0);
  expect(told).toEqual(["set", "set", "set"]);
});

test("asking the same goes on, another stamp begins anew, and what is not wanted ends", async () => {
  const { clock, unused, verifications, answerOf, asked } = asking(async () => value("0"));
  verifications.ask("set", [about("a"), about("b")]);
  await clock.advance(1_000);
  verifications.ask("set", [about("a"), about("b", "13:00:00")]);
  expect(answerOf("a")).toBeDefined();
  expect(answerOf("b")).toBeUndefined();
  await clock.advance(1_000);
  expect([answerOf("b")?.kind, asked()]).toEqual(["good", 3]);
  expect(unused).toEqual([]);
  verifications.ask("set", [about("b", "13:00:00")]);
  expect(unused).toEqual(["a"]);
  verifications[Symbol.dispose]();
  await clock.advance(600_000);
  expect([asked(), unused]).toEqual([3, ["a", "b"]]);
});

test("a cluster that cannot be reached, or that never answers, is no good answer", async () => {
  const { clock, verifications, answerOf } = asking((_method, _path, _body, signal) =>
    abortable(new Promise<never>(() => undefined), signal),
  );
  verifications.ask("set", [about("away"), about("silent")]);
  await clock.advance(21_000);
  expect(answerOf("away")).toMatchObject({
    kind: "unasked",
    message: "fleet/away does not answer",
  });
  expect(answerOf("silent")).toMatchObject({
    kind: "unasked",
    message: "no answer came within 20 s",
  });
});

test("a Job that has ended is not asked about again, and a retry has one that failed run again", async () => {
  const spoke = new Spoke();
  const { clock, told, verifications, asked } = asking(unexpected, undefined, spoke.client);
  const wanted = verificationOf("fleet/a", specOf());
  const answer = () => verifications.answersOf("set").get("fleet/a")?.checks.get("smoke");
  verifications.ask("set", [wanted]);
  await clock.advance(25_000);
  expect(answer()).toMatchObject({ kind: "unasked" });
  spoke.ends("Failed");
  await clock.advance(12_000);
  expect([answer()?.kind, told.length]).toEqual(["bad", 2]);
  const before = asked();
  await clock.advance(600_000);
  verifications.ask("set", [wanted]);
  await clock.advance(600_000);
  expect([asked(), answer()?.kind]).toEqual([before, "bad"]);
  const retried = { ...wanted, retriedAt: "2026-11-30T12:00:00Z" };
  verifications.ask("set", [retried]);
  await clock.advance(25_000);
  expect(answer()).toMatchObject({ kind: "unasked" });
  spoke.ends("Complete");
  await clock.advance(12_000);
  expect(answer()?.kind).toBe("good");
  verifications.ask("set", [{ ...retried, retriedAt: "2026-11-30T13:00:00Z" }]);
  expect(answer()?.kind).toBe("good");
});

test("a bug of this program is an error in the log and no good answer, and the cluster is asked again", async () => {
  let isBroken = true;
  const { clock, lines, verifications, answerOf } = asking(async () => {
    if (isBroken) throw new TypeError("x is undefined");
    return value("0");
  });
  verifications.ask("set", [about("a")]);
  await clock.advance(1_000);
  expect(answerOf("a")).toMatchObject({
    kind: "unasked",
    message: "internal error, see the log of the controller",
  });
  expect(lines).toEqual(["error: Internal error"]);
  isBroken = false;
  await clock.advance(40_000);
  expect(answerOf("a")?.kind).toBe("good");
});

test("eight clusters of a namespace are asked at the same time, and no more", async () => {
  let open = 0;
  let most = 0;
  const clock = new FakeClock();
  const { clock: time, verifications } = asking(async () => {
    most = Math.max(most, (open += 1));
    await clock.advance(1);
    open -= 1;
    return value("0");
  });
  verifications.ask(
    "set",
    Array.from({ length: 40 }, (_, at) => about(`c${at}`)),
  );
  await time.advance(5_000);
  expect(most).toBe(8);
  expect(verifications.answersOf("set").size).toBe(40);
});

test("a namespace whose servers hang does not delay the checks of another", async () => {
  const { clock, verifications } = asking(async (_method, path, _body, signal) =>
    path.includes("hangs") ? abortable(new Promise(() => undefined), signal) : value("0"),
  );
  const hanging = { ...service, name: "hangs" };
  const [check] = spec.checks;
  const hangs = { checks: [{ ...check, prometheus: { ...check.prometheus, service: hanging } }] };
  const names = Array.from({ length: 40 }, (_, at) => `c${at}`);
  verifications.ask(
    "slow",
    names.map((name) => verificationOf(`fleet/${name}`, hangs)),
  );
  const { set, ...other } = about("a");
  verifications.ask("set", [{ ...other, set: { ...set, namespace: "other" } }]);
  await clock.advance(1_000);
  expect(verifications.answersOf("set").get("fleet/a")?.checks.get("rate")?.kind).toBe("good");
});

test("a pulled cluster is not connected to: what its controller answers counts, and is looked at each two seconds", async () => {
  const component = serving({
    metadata: { annotations: { [managedClusterAnnotation]: "spoke-1" } },
  });
  let present = component;
  const { clock, told, verifications, answerOf, asked } = asking(
    unexpected,
    undefined,
    undefined,
    () => present,
  );
  const verification = { ...about("a"), component };
  verifications.ask("set", [verification]);
  await clock.advance(1_000);
  expect(answerOf("a")).toMatchObject({ kind: "unasked" });
  const question = { [setAnnotations.question]: questionText(verification) ?? "" };
  const id = questionOf(serving({ metadata: { annotations: question } }))?.id ?? "";
  const answer = answerText({ id }, new Map([["rate", { kind: "bad", message: "too high" }]]));
  present = serving({ ...component, status: { annotations: { [setAnnotations.answer]: answer } } });
  await clock.advance(2_500);
  expect(answerOf("a")).toMatchObject({ kind: "bad", message: "too high" });
  await clock.advance(600_000);
  expect([asked(), told]).toEqual([0, ["set", "set"]]);
  expect(answerOf("a")?.at).toBeGreaterThan(clock.date().getTime() - 3_000);
});

test("the Job of a pulled cluster is a matter of works, until the hub dials the cluster", async () => {
  const works = new MemoryHub();
  let proofs = 0;
  const jobsOf = async () => {
    proofs += 1;
    return { client: works, place: { namespace: "knative-serving" } };
  };
  const dialled = serving();
  const pulled = serving({ metadata: { annotations: { [managedClusterAnnotation]: "spoke-1" } } });
  const { clock, verifications, answerOf, asked } = asking(
    unexpected,
    undefined,
    bareClient({ get: async () => undefined }),
    (component) => component,
    jobsOf,
  );
  const containers = [{ name: "smoke", image: "example.com/smoke:1" }];
  const template = { spec: { restartPolicy: "Never", containers } } as const;
  const job = { activeDeadlineSeconds: 600, backoffLimit: 0, template };
  const withJob = { checks: [{ name: "rate", noData: "Fail", interval: "10s", job }] } as const;
  const verification = { ...about("a"), spec: withJob };
  verifications.ask("set", [{ ...verification, component: pulled }]);
  await clock.advance(25_000);
  expect(works.all("Job")).toHaveLength(1);
  expect(answerOf("a")?.message).toMatch(/has not ended yet$/);
  expect([asked(), proofs]).toEqual([0, 1]);

  verifications.ask("set", [{ ...verification, component: dialled }]);
  await clock.advance(1_000);
  expect([asked(), proofs]).toEqual([1, 1]);
  expect(answerOf("a")?.message).toMatch(/^ConfigMap .* is not there$/);
});

test("the workloads of a cluster that two sets ask about are counted once, and no more after that", async () => {
  const { client } = clusterOfUsers({ objects: { triggers: [objectOf("Trigger", "on-order")] } });
  const { clock, verifications } = asking(client.request, client.list);
  const wanted = [verificationOf("fleet/a", { workloads: { maxNewlyBroken: 0 } })];
  verifications.ask("serving", wanted);
  verifications.ask("eventing", wanted);
  await clock.advance(1_000);
  expect([...verifications.workloads()]).toEqual([["Trigger", { ready: 0, notReady: 1 }]]);
  verifications.ask("serving", []);
  verifications.ask("eventing", []);
  expect(verifications.workloads().size).toBe(0);
});
