import { X509Certificate } from "node:crypto";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { WatchEvent } from "../../../access/kube/kube-client.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";
import {
  type CertificatesDeps,
  startCertificates,
} from "../../../webhook/certificates/certificates.ts";
import type { ServingCertificate } from "../../../webhook/server.ts";
import { valueAt } from "../../fleet/json-record.ts";

const service = { namespace: "knfleet-system", name: "knfleet-webhook" };
const settings = {
  leafMs: 86_400_000,
  authorityMs: 864_000_000,
  overlapMs: 3_600_000,
  dnsNames: ["knfleet-webhook.knfleet-system.svc"],
  secretName: "certificates",
  service,
  configurations: ["knfleet-webhook"],
};
const log = { debug() {}, info() {}, warn() {}, error() {} };
const missingTrust = "the caBundle of the webhook configurations";
const patience = { timeout: 60_000, interval: 20 };

function start(hub: BareHub) {
  const served: ServingCertificate[] = [];
  const stop = new AbortController();
  const use = (certificate: ServingCertificate) => served.push(certificate);
  const deps = { clock: systemClock, client: hub.client, log, use };
  const certificates = startCertificates(deps, settings, stop.signal);
  const { waitingFor } = certificates;
  return { served, waitingFor, [Symbol.asyncDispose]: () => certificates[Symbol.asyncDispose]() };
}

/** A hub without certificates, whose webhook configurations are shown when the test says so. */
class BareHub {
  readonly shown = Promise.withResolvers<void>();
  readonly #watched = new Set<(event: WatchEvent) => void>();
  #version = 1;
  #secret: KubeObject | undefined;
  configuration: KubeObject = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "knfleet-webhook", uid: "w", resourceVersion: "1" },
    webhooks: [{ name: "a", clientConfig: { service, caBundle: "b2xk" } }],
  };

  readonly client: CertificatesDeps["client"] = {
    get: async () => this.#secret,
    list: async () => ({ items: [], resourceVersion: "1" }),
    create: async (_ref, object) => (this.#secret = this.#stored(object)),
    replace: async (_ref, object) => (this.#secret = this.#stored(object)),
    request: async () => ({ metadata: { creationTimestamp: new Date().toISOString() } }),
    patch: async (_ref, patch) => {
      const values = (Array.isArray(patch) ? patch : []).flatMap(
        (step: { value?: string }) => step,
      );
      const caBundle = values.at(-1)?.value ?? "";
      const webhooks = [{ name: "a", clientConfig: { service, caBundle } }];
      this.configuration = this.#stored({ ...this.configuration, webhooks });
      for (const tell of this.#watched) tell({ type: "MODIFIED", object: this.configuration });
      return this.configuration;
    },
    watch: (ref, _options, signal) => this.#watch(ref.resource.kind, signal),
  };

  async *#watch(kind: string, signal: AbortSignal): AsyncIterable<WatchEvent> {
    if (kind !== "Secret") {
      await this.shown.promise;
      yield { type: "ADDED", object: this.configuration };
    }
    yield { type: "BOOKMARK", resourceVersion: "1", initialEventsEnd: true };
    const events: WatchEvent[] = [];
    let woken = Promise.withResolvers<void>();
    const tell = (event: WatchEvent) => {
      events.push(event);
      woken.resolve();
    };
    if (kind !== "Secret") this.#watched.add(tell);
    signal.addEventListener("abort", () => woken.resolve(), { once: true });
    while (!signal.aborted) {
      yield* events.splice(0);
      woken = Promise.withResolvers();
      if (events.length === 0) await woken.promise;
    }
  }

  #stored<Stored extends Manifest>(object: Stored) {
    this.#version += 1;
    const { name = "" } = object.metadata;
    const metadata = { ...object.metadata, name, uid: "u", resourceVersion: `${this.#version}` };
    return { ...object, metadata };
  }

  /** What is trusted, and where nothing is, nothing. */
  trusted(): string {
    const bundle = valueAt(this.configuration, "webhooks", "0", "clientConfig", "caBundle");
    return Buffer.from(String(bundle), "base64").toString();
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a replica that starts from nothing", () => {
  test("is ready once webhook configurations trust what it serves, and not before", async () => {
    const hub = new BareHub();
    await using started = start(hub);
    expect(started.waitingFor()).toEqual(["the serving certificate"]);
    await vi.waitFor(() => expect(started.served).toHaveLength(1), patience);
    expect(started.waitingFor()).toEqual([missingTrust]);
    expect(hub.trusted()).toBe("old");
    hub.shown.resolve();
    await vi.waitFor(() => expect(started.waitingFor()).toEqual([]), patience);
    const leaf = new X509Certificate(started.served[0]?.cert ?? "");
    expect(leaf.checkIssued(new X509Certificate(hub.trusted()))).toBe(true);
  }, 120_000);

  test("is ready after five seconds where it cannot see the configurations", async () => {
    await using started = start(new BareHub());
    await vi.waitFor(() => expect(started.waitingFor()).toEqual([missingTrust]), patience);
    vi.advanceTimersByTime(5_000);
    expect(started.waitingFor()).toEqual([]);
  }, 120_000);
});
