import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import { type Log, logFailure } from "../../access/log.ts";
import { type Clock, pause } from "../../access/time/clock.ts";
import { Follower } from "../../access/time/deadline.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { ServingCertificate } from "../server.ts";
import { bundlePatch, isInjected, type ServiceRef, trusts } from "./ca-bundles.ts";
import { nextLookMs, stepOf, certificatesAfter, type StepSettings } from "./certificate-plan.ts";
import {
  bundleOf,
  isAsWritten,
  secretDataOf,
  type StoredCertificates,
  storedCertificatesOf,
} from "./certificate-secret.ts";
import { ServedCertificate } from "./served-certificate.ts";
import { serverClock } from "./server-clock.ts";

/** Where the webhook's certificate comes from. */
export interface Certificates extends AsyncDisposable {
  /** What is missing. Empty once a certificate is served that API servers can trust, and from then on. */
  readonly waitingFor: () => readonly string[];
}

export interface CertificatesDeps {
  readonly client: Pick<
    KubeClient,
    "get" | "list" | "watch" | "create" | "replace" | "patch" | "request"
  >;
  readonly clock: Clock;
  readonly log: Log;
  /** Takes each certificate that is served from now on; `endsMs` is Unix time. */
  readonly use: (certificate: ServingCertificate, endsMs: number) => void;
}

export interface SelfManagedSettings extends StepSettings {
  readonly secretName: string;
  readonly service: ServiceRef;
  /** ValidatingWebhookConfigurations. The `caBundle` of their webhooks that use the Service is kept right. */
  readonly configurations: readonly string[];
}

const secrets = knownResource("v1", "Secret");
const configurationKind = "ValidatingWebhookConfiguration";
const configurations = knownResource("admissionregistration.k8s.io/v1", configurationKind);
const firstViewMs = 1_500;
const failedMs = 1_000;
const conflictMs = 150;
// What is missing has to be repaired within ten seconds of the hub's return.
const maxBackoffMs = 4_000;

/**
 * Keeps authority and serving certificate in a Secret that all replicas share, and its authorities in the `caBundle` of webhook
 * configurations. When several replicas write at once, the first write counts, and the other replicas read it.
 */
export function startCertificates(
  deps: CertificatesDeps,
  settings: SelfManagedSettings,
  signal: AbortSignal,
): Certificates {
  return new CertificateKeeper(deps, settings, signal);
}

class CertificateKeeper implements Certificates {
  readonly #deps: CertificatesDeps;
  readonly #settings: SelfManagedSettings;
  readonly #stop = new AbortController();
  readonly #secret: Reflector;
  readonly #configurations: readonly (readonly [name: string, view: Reflector])[];
  readonly #clock: ReturnType<typeof serverClock>;
  readonly #served: ServedCertificate;
  readonly #done: Promise<void>;
  #woken = Promise.withResolvers<void>();
  /** The Secret that this process wrote and its watch has not shown yet. */
  #written: KubeObject | undefined;
  #lastComplaint = "";

  constructor(deps: CertificatesDeps, settings: SelfManagedSettings, signal: AbortSignal) {
    this.#deps = deps;
    this.#settings = settings;
    const end = new Follower(signal, this.#stop.signal).signal;
    const { namespace } = settings.service;
    this.#clock = serverClock(deps.client, { namespace, clock: deps.clock });
    const { clock, log, use } = deps;
    this.#served = new ServedCertificate({
      clock,
      log,
      use,
      isTrusted: this.#isTrusted,
      now: () => this.#clock.now(),
    });
    this.#secret = this.#reflect({ resource: secrets, namespace, name: settings.secretName }, end);
    this.#configurations = settings.configurations.map((name) => [
      name,
      this.#reflect({ resource: configurations, name }, end),
    ]);
    this.#done = this.#run(end);
  }

  waitingFor = (): readonly string[] => this.#served.waitingFor();

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new DOMException("The certificates are no longer needed", "AbortError"));
    await this.#done;
  }

  #reflect({ resource, namespace, name }: ObjectRef, signal: AbortSignal): Reflector {
    const ref = { resource, fieldSelector: `metadata.name=${name}` };
    const changed = () => {
      if (resource === secrets) this.#written = undefined;
      this.#woken.resolve();
    };
    const { client, clock } = this.#deps;
    return new Reflector(
      {
        client,
        clock,
        ref: { ...ref, ...(namespace === undefined ? {} : { namespace }) },
        maxBackoffMs,
      },
      {
        onChange: changed,
        onDelete: changed,
        onSynced: () => this.#woken.resolve(),
        onError: (error) => this.#complain(error, `Cannot watch ${resource.kind} ${name}`),
        onBug: (error) => this.#complain(error, "A watch has a bug"),
      },
      signal,
    );
  }

  async #run(signal: AbortSignal): Promise<void> {
    const views = this.#configurations.map(([, view]) => view.synced);
    // A certificate that is not trusted yet is better than none.
    await Promise.race([Promise.allSettled(views), pause(this.#deps.clock, firstViewMs, signal)]);
    while (!signal.aborted) {
      this.#woken = Promise.withResolvers();
      const waitMs = await this.#keep(signal).catch((error: unknown) => {
        if (!signal.aborted) this.#complain(error, "Cannot keep the certificates");
        return failedMs;
      });
      using wait = new Follower(signal);
      const waited = pause(this.#deps.clock, turnMs(waitMs), wait.signal);
      await Promise.race([this.#woken.promise, waited]);
      wait.abort();
    }
  }

  /** Does what is due. Returns the milliseconds until the next turn, if nothing changes before. */
  async #keep(signal: AbortSignal): Promise<number> {
    if (!this.#secret.isSynced) return failedMs;
    if (!(await this.#takeStep(signal))) return conflictMs * (1 + this.#deps.clock.random());
    await this.#publish(signal).catch((error: unknown) => {
      if (!signal.aborted) this.#complain(error, "Cannot give webhooks their caBundle");
    });
    const stored = this.#stored();
    const waitMs = this.#served.offer(stored);
    return Math.min(waitMs, nextLookMs(stored, this.#clock.now(), this.#settings));
  }

  #stored(object = this.#object()): StoredCertificates {
    return storedCertificatesOf(object?.["data"], this.#settings.dnsNames);
  }

  #object(): KubeObject | undefined {
    const { service, secretName } = this.#settings;
    return this.#written ?? this.#secret.get(`${service.namespace}/${secretName}`);
  }

  /** Returns false when another replica wrote first. */
  async #takeStep(signal: AbortSignal): Promise<boolean> {
    if (this.#nextStep() === undefined) return true;
    // API servers check certificates by their own clock.
    await this.#clock.set(signal);
    const step = this.#nextStep();
    if (step === undefined) return true;
    const view = {
      stored: this.#stored(),
      remembered: this.#served.authorities,
      nowMs: this.#clock.now(),
    };
    const object = this.#object();
    const after = await certificatesAfter(step, view, this.#settings);
    try {
      this.#written = await this.#write(object, after, signal);
    } catch (error) {
      if (error instanceof ApiError && [404, 409].includes(error.status)) return false;
      throw error;
    }
    const { secretName } = this.#settings;
    this.#deps.log.info({ secret: secretName, step }, "Wrote the certificates");
    return true;
  }

  #nextStep(): ReturnType<typeof stepOf> {
    const stored = this.#stored();
    const data = this.#object()?.["data"];
    return stepOf(
      {
        stored,
        isAsWritten: isAsWritten(data, stored),
        isNextTrusted: stored.next !== undefined && this.#isTrusted(stored.next.certificatePem),
        nowMs: this.#clock.now(),
      },
      this.#settings,
    );
  }

  #write(
    object: KubeObject | undefined,
    stored: StoredCertificates,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const { client } = this.#deps;
    const { secretName: name, service } = this.#settings;
    const { namespace } = service;
    const data = secretDataOf(stored);
    const ref = { resource: secrets, namespace };
    if (object !== undefined) {
      return client.replace({ ...ref, name }, { ...object, data }, {}, signal);
    }
    const labels = { "app.kubernetes.io/part-of": "knfleet" };
    const metadata = { namespace, name, labels };
    const secret = { apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", metadata, data };
    return client.create(ref, secret, {}, signal);
  }

  /** The known configurations whose `caBundle` no other program fills in. */
  #ours(): readonly KubeObject[] {
    return this.#configurations.flatMap(([name, view]) => {
      const object = view.get(name);
      return object === undefined || isInjected(object) ? [] : [object];
    });
  }

  #isTrusted = (authorityPem: string): boolean =>
    this.#configurations.every(([, view]) => view.isSynced) &&
    this.#ours().every((object) => trusts(object, this.#settings.service, authorityPem));

  async #publish(signal: AbortSignal): Promise<void> {
    const { client, log } = this.#deps;
    const { service, secretName } = this.#settings;
    const bundle = bundleOf(this.#stored());
    const wrong = this.#ours().filter((one) => bundlePatch(one, service, bundle).length > 0);
    if (wrong.length === 0) return;
    // The Secret is read after the configurations, so that the bundle of a replica with newer certificates is never overwritten.
    const ref = { resource: secrets, namespace: service.namespace, name: secretName };
    const live = bundleOf(this.#stored(await client.get(ref, {}, signal)));
    if (live === "") return;
    for (const object of wrong) {
      const patch = bundlePatch(object, service, live);
      if (patch.length === 0) continue;
      const { name } = object.metadata;
      await client.patch({ resource: configurations, name }, patch, {}, signal).then(
        () => log.info({ configuration: name }, "Gave webhooks their caBundle"),
        (error: unknown) => {
          // The configuration changed meanwhile, and the watch will show that.
          const isLate = error instanceof ApiError && [404, 409, 422].includes(error.status);
          if (!isLate) throw error;
        },
      );
    }
  }

  /** Logs the same complaint once, until another one comes. */
  #complain(err: unknown, sentence: string): void {
    const complaint = `${sentence} ${err instanceof Error ? err.message : ""}`;
    if (complaint === this.#lastComplaint) return;
    this.#lastComplaint = complaint;
    logFailure(this.#deps.log, "warn", { err }, sentence);
  }
}

// A turn that is due at once still lets others run before it.
function turnMs(ms: number): number {
  return Math.min(60_000, Math.max(1, ms));
}
