import { setTimeout as delay } from "node:timers/promises";

import { releaseDir } from "../e2e/release-dir.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { startFleet } from "../fleet/fleet.ts";
import { WebhookProcess } from "../support/webhook-process.ts";
import { controllerUser, installWebhook, names, trustedOn } from "../webhook/guarded-hub.ts";
import { reviewOf } from "../webhook/serving.ts";
import { megabytes, medianOf } from "./figures.ts";
import type { Goal } from "./goals.ts";
import { usageOf } from "./process-usage.ts";
import { startBalancer } from "./webhook-balancer.ts";
import { type LoadFigures, type LoadTarget, WebhookLoad } from "./webhook-load.ts";

/** The webhook as one process and as two replicas, on a real hub. */
export interface WebhookResult {
  readonly readyMs: number;
  readonly idleBytes: number;
  readonly steady: LoadFigures;
  readonly saturated: LoadFigures;
  readonly loadBytes: number;
  readonly rotations: LoadFigures & { readonly leaves: number; readonly authorities: number };
  readonly restarts: LoadFigures & { readonly rounds: number };
  /** 99th percentiles of creates through the API server, without and with the webhook. */
  readonly createMs: { readonly without: number; readonly with: number };
}

interface Bench {
  readonly hub: Cluster;
  readonly flags: readonly string[];
  readonly kubeconfig: string;
  readonly isQuick: boolean;
  readonly say: (line: string) => void;
}

const serverName = `${names.name}.${names.namespace}.svc`;
const settleMs = 12_000;
const secret = { apiVersion: "v1", kind: "Secret", namespace: names.namespace, name: names.secret };

/** Starts a hub and measures; about 7 minutes, with `isQuick` about 2. */
export async function measureWebhook(
  isQuick: boolean,
  say: (line: string) => void,
): Promise<WebhookResult> {
  await using fleet = await startFleet({
    hub: { egress: true },
    spokes: 0,
    log: say,
  });
  const { hub } = fleet;
  const kubeconfig = await installWebhook(hub);
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "guarded" } });
  const flags = [`--release-dir=${await releaseDir()}`, `--controller-user=${controllerUser}`];
  const bench = { hub, kubeconfig, flags, isQuick, say };
  const alone = await measureAlone(bench);
  const rotations = await measureRotations(bench);
  const restarts = await measureRestarts(bench);
  for (const { failures } of [alone.steady, alone.saturated, rotations, restarts]) {
    for (const [why, count] of Object.entries(failures)) say(`Webhook: ${count} failed: ${why}`);
  }
  return { ...alone, rotations, restarts };
}

async function measureAlone(bench: Bench): Promise<Omit<WebhookResult, "rotations" | "restarts">> {
  const { hub, say, isQuick } = bench;
  const starts: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    const startedAt = performance.now();
    await using webhook = start(bench);
    await webhook.ready();
    starts.push(performance.now() - startedAt);
  }
  await using webhook = start(bench);
  await webhook.ready();
  await hub.routeService(names, await webhook.port());
  await delay(settleMs);
  const idle = await usageOf(webhook.pid);
  const bundle = await trustedOn(hub);
  using load = new WebhookLoad(targetOf(await webhook.port(), () => bundle));
  await load.flatOut(3_000);
  say("Webhook: 200 calls a second");
  const steady = await load.atRate(200, after(isQuick ? 10_000 : 60_000));
  say("Webhook: as many calls as it takes");
  const saturated = await load.flatOut(10_000);
  const { peakResidentBytes } = await usageOf(webhook.pid);
  say("Webhook: creates through the API server");
  const createMs = await measureCreates(bench);
  return {
    readyMs: medianOf(starts),
    idleBytes: idle.residentBytes,
    steady,
    saturated,
    loadBytes: peakResidentBytes,
    createMs,
  };
}

async function measureRotations(bench: Bench): Promise<WebhookResult["rotations"]> {
  const { hub, say, isQuick } = bench;
  const wanted = isQuick ? { leaves: 10, authorities: 2 } : { leaves: 100, authorities: 10 };
  say(`Webhook: ${wanted.leaves} new certificates and ${wanted.authorities} new authorities`);
  await hub.admin.remove(secret);
  await using balancer = await startBalancer();
  // A third of a life is time enough for replicas to change on a busy machine.
  const short = { ...bench, flags: [...bench.flags, "--authority-lifetime=30s"] };
  await using first = start(short);
  await using second = start(short);
  await Promise.all([first, second].map((replica) => balancer.add(replica)));
  let trusted = await trustedOn(hub);
  const stepsOf = (name: string) =>
    [first, second]
      .flatMap((replica) => replica.lines("Wrote the certificates"))
      .filter(({ step }) => step === name).length;
  let isOver = false;
  const rotate = async () => {
    while (stepsOf("renew") < wanted.leaves || stepsOf("promote") < wanted.authorities) {
      await hub.admin.patch(secret, { data: { "tls.crt": "bm9uZQ==" } });
      for (let look = 0; look < 8; look += 1) {
        trusted = await trustedOn(hub);
        await delay(100);
      }
    }
    isOver = true;
  };
  using load = new WebhookLoad({
    ...targetOf(balancer.port, () => trusted),
    reconnectMs: 1_000,
  });
  const [figures] = await Promise.all([load.atRate(100, () => isOver), rotate()]);
  return { ...figures, leaves: stepsOf("renew"), authorities: stepsOf("promote") };
}

async function measureRestarts(bench: Bench): Promise<WebhookResult["restarts"]> {
  const { hub, say, isQuick } = bench;
  const rounds = isQuick ? 2 : 10;
  say(`Webhook: ${rounds} rolling restarts of two replicas`);
  // Its authority would end soon: it was made for a life of seconds.
  await hub.admin.remove(secret);
  await using balancer = await startBalancer();
  await using opened = new AsyncDisposableStack();
  const draining = { ...bench, flags: [...bench.flags, "--drain-period=3s"] };
  const next = async () => {
    const replica = opened.use(start(draining));
    await balancer.add(replica);
    return replica;
  };
  let running = [await next(), await next()];
  const bundle = await trustedOn(hub);
  let isOver = false;
  const restart = async () => {
    for (let step = 0; step < rounds * 2; step += 1) {
      const [oldest, ...others] = running;
      running = [...others, await next()];
      await oldest?.stop();
    }
    isOver = true;
  };
  using load = new WebhookLoad(targetOf(balancer.port, () => bundle));
  const [figures] = await Promise.all([load.atRate(100, () => isOver), restart()]);
  return { ...figures, rounds };
}

/** Creates of components, which nobody stores, one after the other. */
async function measureCreates({ hub, isQuick }: Bench): Promise<WebhookResult["createMs"]> {
  const path = "/apis/operator.knative.dev/v1beta1/namespaces/guarded/knativeservings?dryRun=All";
  const create = async (count: number) => {
    const times: number[] = [];
    for (let run = 0; run < count; run += 1) {
      const startedAt = performance.now();
      await hub.admin.request("POST", path, component());
      times.push(performance.now() - startedAt);
    }
    return times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * 0.99)] ?? 0;
  };
  const count = isQuick ? 100 : 500;
  await create(30);
  const withIt = await create(count);
  const { name } = names;
  const apiVersion = "admissionregistration.k8s.io/v1";
  await hub.admin.remove({ apiVersion, kind: "ValidatingWebhookConfiguration", name });
  // The API server hears of it by a watch.
  await delay(1_000);
  const without = await create(count);
  await installWebhook(hub);
  return { without, with: withIt };
}

function start({ kubeconfig, flags }: Bench): WebhookProcess {
  return new WebhookProcess({ kubeconfig, flags });
}

function after(ms: number): () => boolean {
  const end = performance.now() + ms;
  return () => performance.now() >= end;
}

function targetOf(port: number, trusted: () => string): LoadTarget {
  const path = "/validate/components?timeout=5s";
  return { port, serverName, trusted, path, body: review(), connections: 25 };
}

function component() {
  // 6 KB in all, of which most is a ConfigMap that somebody wrote.
  const filler = Array.from({ length: 60 }, (_, at) => [`key-${at}`, "v".repeat(70)]);
  return {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: { namespace: "guarded", name: "knative-serving", uid: "7f0c" },
    spec: { config: { features: Object.fromEntries(filler) } },
  };
}

function review(): string {
  return JSON.stringify(reviewOf({ namespace: "guarded", object: component() }));
}

const show = (ms: number): string => `${ms.toFixed(1)} ms`;

/** What the webhook may cost, and what it must bear. */
export function webhookGoals(result: WebhookResult): readonly Goal[] {
  const { steady, saturated, rotations, restarts, createMs } = result;
  const failures = [
    { text: "200 calls a second of 6 KB", figures: steady },
    { text: "As many calls as it takes", figures: saturated },
    {
      text: `${rotations.leaves} new certificates and ${rotations.authorities} new authorities`,
      figures: rotations,
    },
    { text: `${restarts.rounds} rolling restarts of two replicas`, figures: restarts },
  ];
  return [
    { text: "Webhook: ready after its start", value: result.readyMs, limit: 2_000, show },
    { text: "Webhook: 200 calls a second, p50", value: steady.p50Ms, limit: 5, show },
    { text: "Webhook: 200 calls a second, p99", value: steady.p99Ms, limit: 25, show },
    {
      text: `Webhook: calls a second that are missing to 1,000 (${Math.round(saturated.callsPerSecond)})`,
      value: Math.max(0, Math.round(1_000 - saturated.callsPerSecond)),
      limit: 0,
    },
    ...failures.map(({ text, figures }) => ({
      text: `Webhook: ${text}: failed of ${figures.calls} calls`,
      value: figures.failed,
      limit: 0,
    })),
    {
      text: "Webhook: idle memory",
      value: result.idleBytes,
      limit: 128_000_000,
      show: megabytes,
    },
    {
      text: "Webhook: most memory under load",
      value: result.loadBytes,
      limit: 256_000_000,
      show: megabytes,
    },
    {
      text: `Webhook: p99 that it adds to a create (${show(createMs.without)} without)`,
      value: Math.max(0, createMs.with - createMs.without),
      limit: 30,
      show,
    },
  ];
}
