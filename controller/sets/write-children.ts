import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { Component } from "../../api/component.ts";
import { timestampOf } from "../../api/conditions.ts";
import { type FleetSet, setAnnotations, setFieldManager } from "../../api/fleet-set.ts";
import { componentId, targetId } from "../../api/keys.ts";
import { describe, type KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { Content } from "../../render/content.ts";
import type { Verification } from "../../sets/check-answer.ts";
import type { Removals, Stamp } from "../../sets/facts.ts";
import { questionText } from "../../sets/pulled-checks.ts";
import { asComponent, componentRef } from "../component-identity.ts";
import {
  adoptedFields,
  childObject,
  isChildOf,
  releasePatch,
  stampedNameOf,
} from "./child-object.ts";
import { componentKindOf } from "./hub-view.ts";
import type { IndexedObjects } from "./indexed-objects.ts";
import { ChangedMeanwhileError, type Sending } from "./send-writes.ts";

export interface ChildWriterOptions {
  readonly client: Pick<KubeClient, "get" | "apply" | "patch" | "remove">;
  readonly clock: Clock;
  readonly recent: Pick<IndexedObjects<Component>, "add" | "forgetWrite">;
  /** The content of a component that is about to be written. */
  readonly contentOf: (component: Pick<Component, "kind" | "spec">) => Promise<Content>;
}

/**
 * Writes the components of sets. Every method throws as the client does, and remembers the answer of the hub. A component that the hub does not have any more is forgotten: the watch may
 * never have shown it, and every decision would write to it again.
 */
export class ChildWriter {
  readonly #options: ChildWriterOptions;

  constructor(options: ChildWriterOptions) {
    this.#options = options;
  }

  /**
   * Applies the desired component for a cluster. A component that the set takes over is forced once. Fields that others change later are not forced.
   * Spec: sets.md R8.
   */
  async stamp(set: FleetSet, stamp: Stamp, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const { child } = stamp;
    const content = await this.#options.contentOf({
      kind: componentKindOf(set),
      spec: stamp.desired.spec,
    });
    const object = childObject(set, stamp, { now: clock.date(), content });
    const isForeign = child !== undefined && !isChildOf(child, set);
    if (isForeign) await this.#takeOver(child, signal);
    const resource = knownResource(object.apiVersion, object.kind);
    const ref = { resource, namespace: set.metadata.namespace, name: stampedNameOf(set, stamp) };
    const options = { fieldManager: setFieldManager, force: isForeign };
    this.#remember(await client.apply(ref, object, options, signal));
  }

  /** The writes after which the components of pulled clusters have what is asked about them, and no others have any. */
  questions(
    verifications: readonly Verification[],
    children: readonly Component[],
    signal: AbortSignal,
  ): readonly Sending[] {
    const texts = new Map(
      verifications.map((one) => [one.component.metadata.uid, questionText(one)]),
    );
    const wanted = ({ metadata }: Component): string | undefined => texts.get(metadata.uid);
    return children
      .filter((child) => child.metadata.annotations?.[setAnnotations.question] !== wanted(child))
      .map((child) => ({
        cluster: targetId(child),
        isRefusable: false,
        send: () =>
          this.#annotate(child, { [setAnnotations.question]: wanted(child) ?? null }, signal),
      }));
  }

  /** The writes for the decisions about components that leave the set. */
  removals(
    removals: Removals,
    children: readonly Component[],
    signal: AbortSignal,
  ): readonly Sending[] {
    const byKey = new Map(children.map((child) => [componentId(child), child]));
    const now = timestampOf(this.#options.clock.date());
    const sendings = (
      keys: Removals["orphan"],
      send: (child: Component) => Promise<void>,
    ): readonly Sending[] =>
      keys
        .flatMap((key) => byKey.get(describe(key)) ?? [])
        .map((child) => ({
          cluster: targetId(child),
          isRefusable: false,
          send: () => send(child),
        }));
    return [
      ...sendings(removals.unmark, (child) => this.#mark(child, null, signal)),
      ...sendings(removals.markUnselected, (child) => this.#mark(child, now, signal)),
      ...sendings(removals.orphan, (child) => this.#release(child, signal)),
      ...sendings(removals.remove, (child) => this.#delete(child, signal)),
    ];
  }

  async #takeOver(child: Component, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const live = await client.get(componentRef(child), {}, signal);
    if (live?.metadata.uid !== child.metadata.uid) {
      this.#forget(child);
      // The present component, or its absence, was not judged.
      throw new ChangedMeanwhileError(`${componentId(child)} is another one now`);
    }
    const { managedFields = [], resourceVersion } = live.metadata;
    const metadata = { resourceVersion, managedFields: adoptedFields(managedFields) };
    await this.#patch(child, metadata, {}, signal);
  }

  async #release(child: Component, signal: AbortSignal): Promise<void> {
    const live = asComponent(await this.#options.client.get(componentRef(child), {}, signal));
    if (live?.metadata.uid !== child.metadata.uid) {
      this.#forget(child);
      return;
    }
    const metadata = releasePatch(live, live.metadata.managedFields ?? []);
    this.#remember(await this.#patch(child, metadata, {}, signal));
  }

  async #mark(child: Component, at: string | null, signal: AbortSignal): Promise<void> {
    await this.#annotate(child, { [setAnnotations.unselectedAt]: at }, signal);
  }

  async #annotate(
    child: Component,
    annotations: Readonly<Record<string, string | null>>,
    signal: AbortSignal,
  ): Promise<void> {
    const { uid } = child.metadata;
    const options = { fieldManager: setFieldManager };
    this.#remember(await this.#patch(child, { uid, annotations }, options, signal));
  }

  async #delete(child: Component, signal: AbortSignal): Promise<void> {
    const { uid } = child.metadata;
    const left = await this.#options.client.remove(componentRef(child), { uid }, signal);
    if (typeof left === "object") this.#remember(left);
    else this.#forget(child);
  }

  async #patch(
    child: Component,
    metadata: object,
    options: { readonly fieldManager?: string },
    signal: AbortSignal,
  ): Promise<KubeObject> {
    try {
      return await this.#options.client.patch(componentRef(child), { metadata }, options, signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) this.#forget(child);
      throw error;
    }
  }

  #forget(child: Component): void {
    this.#options.recent.forgetWrite(componentId(child));
  }

  #remember(object: KubeObject): void {
    const component = asComponent(object);
    if (component === undefined) return;
    const { clock, recent } = this.#options;
    recent.add(componentId(component), component, clock.now());
  }
}
