import { ApiError, isServerFailure } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { logFailure } from "../../access/log.ts";
import type { SpokeConnection } from "../../access/spokes/spokes.ts";
import { type Clock, delay } from "../../access/time/clock.ts";
import type { Component, ComponentStatus } from "../../api/component.ts";
import { pulledAnnotations } from "../../api/delivery.ts";
import { setAnnotations } from "../../api/fleet-set.ts";
import { componentId } from "../../api/keys.ts";
import { answerText, questionOf } from "../../sets/pulled-checks.ts";
import { asComponent, componentRef } from "../component-identity.ts";
import type { Components } from "../components.ts";
import type { Log } from "../log.ts";
import type { UrlAsker } from "./ask-url.ts";
import { Verifications } from "./verifications.ts";

export interface HubQuestionsOptions {
  /** The API server of the cluster that this controller runs on: what is asked, and where the answers go. */
  readonly hub: KubeClient;
  readonly components: Pick<Components, "byKey">;
  readonly checkSource: UrlAsker["source"];
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

const retryMs = 5_000;

/**
 * Answers on a pulled cluster what a set of the hub asks about it. The question is an annotation of the component that a ManifestWork brought, the answer one of its status, which the
 * feedback of the work takes to the hub. Spec: verify.md 2, pulled clusters.
 */
export class HubQuestions implements Disposable {
  readonly #options: HubQuestionsOptions;
  readonly #verifications: Verifications;
  readonly #stop = new AbortController();
  /** Keys of the components with answers that are not written yet. */
  readonly #unwritten = new Set<string>();
  /** Keys of those that are being written. */
  readonly #writing = new Set<string>();

  constructor(options: HubQuestionsOptions) {
    this.#options = options;
    const { hub: client, checkSource } = options;
    const { signal } = this.#stop;
    const profile = { namespace: "", name: "", uid: "" };
    const here: SpokeConnection = { client, profile, provider: "", fingerprint: "", signal };
    this.#verifications = new Verifications({
      ...options,
      spokes: { acquire: () => Promise.resolve(here) },
      urls: { source: checkSource, hub: client },
      onUnused: () => undefined,
      onAnswer: (key) => void this.#write(key),
    });
    for (const component of options.components.byKey.values()) this.componentChanged(component);
  }

  componentChanged(component: Component): void {
    const { annotations = {} } = component.metadata;
    const isOfHub = annotations[pulledAnnotations.hubComponentUid] !== undefined;
    const question = isOfHub ? questionOf(component) : undefined;
    const key = componentId(component);
    if (question === undefined) {
      this.#verifications.ask(key, []);
      return;
    }
    const { id, ...about } = question;
    // Only a Job needs the uid of the set, and none is run here.
    this.#verifications.ask(key, [{ ...about, component, setUid: "", stamp: id }]);
  }

  componentDeleted(component: Component): void {
    this.#verifications.ask(componentId(component), []);
  }

  [Symbol.dispose](): void {
    this.#stop.abort(new DOMException("The hub is not answered any more", "AbortError"));
    this.#verifications[Symbol.dispose]();
  }

  /** Writes the newest answers of a component, until they are written. Never rejects. */
  async #write(key: string): Promise<void> {
    this.#unwritten.add(key);
    if (this.#writing.has(key)) return;
    this.#writing.add(key);
    const { clock, log } = this.#options;
    const { signal } = this.#stop;
    try {
      while (this.#unwritten.delete(key)) {
        // oxlint-disable-next-line no-await-in-loop -- one write after the other
        if (await this.#isTaken(key)) continue;
        this.#unwritten.add(key);
        // oxlint-disable-next-line no-await-in-loop -- as above
        await delay(clock, retryMs, signal);
      }
    } catch (err) {
      if (!signal.aborted) log.error({ component: key, err }, "Internal error");
    } finally {
      this.#writing.delete(key);
    }
  }

  /** Whether the status has the answers now; false: the API server did not take them. */
  async #isTaken(key: string): Promise<boolean> {
    const { hub, components, log } = this.#options;
    const { signal } = this.#stop;
    const known = components.byKey.get(key);
    try {
      const live = known && asComponent(await hub.get(componentRef(known), {}, signal));
      if (live === undefined) return true;
      const status = this.#answeredStatus(live);
      if (status === undefined) return true;
      await hub.replace(componentRef(live), { ...live, status }, { subresource: "status" }, signal);
      return true;
    } catch (err) {
      signal.throwIfAborted();
      if (!isServerFailure(err)) throw err;
      const isConflict = err instanceof ApiError && err.status === 409;
      if (!isConflict) logFailure(log, "warn", { component: key, err }, "Could not answer the hub");
      return false;
    }
  }

  /** The status with the answers to the question of a component; undefined: it has them, or there are none. */
  #answeredStatus(live: Component): ComponentStatus | undefined {
    const question = questionOf(live);
    const [answers] = this.#verifications.answersOf(componentId(live)).values();
    // The watch may have yet to show the newest question.
    if (question === undefined || answers?.stamp !== question.id) return undefined;
    const { annotations = {} } = live.status ?? {};
    const text = answerText(question, answers.checks);
    if (annotations[setAnnotations.answer] === text) return undefined;
    return { ...live.status, annotations: { ...annotations, [setAnnotations.answer]: text } };
  }
}
