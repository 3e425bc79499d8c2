import type { KubeClient } from "../access/kube/kube-client.ts";
import { type Listing, Reflector } from "../access/kube/reflector.ts";
import { logWatchBug } from "../access/log.ts";
import type { Clock } from "../access/time/clock.ts";
import { type Component, componentKinds, operatorApiVersion } from "../api/component.ts";
import { isRecord } from "../api/fields.ts";
import { setFieldManager, setLabels } from "../api/fleet-set.ts";
import { componentId, targetId } from "../api/keys.ts";
import { type KubeObject, withoutManagedFields } from "../api/kubernetes.ts";
import { asComponent } from "./component-identity.ts";
import type { Log } from "./log.ts";

export interface ComponentsOptions {
  readonly clock: Clock;
  readonly client: Pick<KubeClient, "watch" | "list">;
  readonly log: Log;
  /** A component was added or changed; `before` is its last known state, with the same uid and cluster. */
  readonly onChange: (component: Component, before: Component | undefined) => void;
  /** A component is gone, or another one has its name. */
  readonly onDelete: (component: Component) => void;
  /** Called after a list of one kind, after `onChange` and `onDelete` for its components. */
  readonly onListed?: (kind: string, listing: Listing) => void;
}

/** All components of both kinds on the hub, kept up to date by watches. */
export class Components implements Disposable {
  readonly #reflectors: readonly Reflector[];
  readonly #components = new Map<string, Component>();
  /** By `targetId`, and then by `componentId`. No entry is empty. */
  readonly #byTarget = new Map<string, Map<string, Component>>();

  constructor(options: ComponentsOptions, signal: AbortSignal) {
    this.#reflectors = Object.entries(componentKinds).map(
      ([kind, { plural }]) =>
        new Reflector(
          {
            client: options.client,
            clock: options.clock,
            ref: { resource: { apiVersion: operatorApiVersion, kind, plural, namespaced: true } },
            keep: withManagersOfSpec,
          },
          {
            onChange: (object) => this.#changed(object, options),
            onDelete: (object) => this.#deleted(object, options),
            onSynced: (listing) => options.onListed?.(kind, listing),
            onError: (err) => options.log.warn({ kind, err }, "Cannot watch components on the hub"),
            onBug: logWatchBug(options.log, kind),
          },
          signal,
        ),
    );
  }

  /** Resolves when both kinds are listed for the first time. */
  async synced(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.synced));
  }

  /** Lists both kinds again. Resolves when the components are not older than this call. */
  async refresh(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.refresh()));
  }

  get areSynced(): boolean {
    return this.#reflectors.every((reflector) => reflector.isSynced);
  }

  /** By `componentId`. */
  get(key: string): Component | undefined {
    return this.#components.get(key);
  }

  /** All of them, by `componentId`. */
  get byKey(): ReadonlyMap<string, Component> {
    return this.#components;
  }

  all(): Iterable<Component> {
    return this.#components.values();
  }

  /** The components for one cluster, by `targetId`. */
  of(target: string): Iterable<Component> {
    return this.#byTarget.get(target)?.values() ?? [];
  }

  /** Whether a cluster, by `targetId`, has components. */
  isUsed(target: string): boolean {
    return this.#byTarget.has(target);
  }

  /** The clusters that have components, each as `targetId`. */
  targets(): Iterable<string> {
    return this.#byTarget.keys();
  }

  [Symbol.dispose](): void {
    for (const reflector of this.#reflectors) reflector[Symbol.dispose]();
  }

  #changed(object: KubeObject, options: ComponentsOptions): void {
    const component = asComponent(object);
    if (component === undefined) return;
    const key = componentId(component);
    const target = targetId(component);
    const stored = this.#components.get(key);
    const isSame = stored?.metadata.uid === component.metadata.uid && targetId(stored) === target;
    if (stored !== undefined && !isSame) this.#deleted(stored, options);
    this.#components.set(key, component);
    const ofTarget = this.#byTarget.get(target) ?? new Map<string, Component>();
    this.#byTarget.set(target, ofTarget.set(key, component));
    options.onChange(component, isSame ? stored : undefined);
  }

  #deleted(object: KubeObject, options: ComponentsOptions): void {
    const component = asComponent(object);
    if (component === undefined) return;
    const key = componentId(component);
    // The stored one: the watch of a deletion may show another state.
    const stored = this.#components.get(key) ?? component;
    this.#components.delete(key);
    const target = targetId(stored);
    const ofTarget = this.#byTarget.get(target);
    ofTarget?.delete(key);
    if (ofTarget?.size === 0) this.#byTarget.delete(target);
    options.onDelete(component);
  }
}

/**
 * The object without most of its managedFields. For the component of a set it keeps who else wrote the spec: the set names the field manager that changed a
 * field; see differing-field.ts.
 */
function withManagersOfSpec(object: KubeObject): KubeObject {
  const { labels, managedFields = [] } = object.metadata;
  const kept = withoutManagedFields(object);
  if (labels?.[setLabels.set] === undefined) return kept;
  const others = managedFields.flatMap(({ manager, subresource, time, fieldsV1 }) => {
    const fields = isRecord(fieldsV1) ? fieldsV1["f:spec"] : undefined;
    const isOther = manager !== setFieldManager && subresource === undefined;
    if (!isOther || fields === undefined) return [];
    return [{ manager, ...(time && { time }), fieldsV1: { "f:spec": fields } }];
  });
  if (others.length === 0) return kept;
  return { ...kept, metadata: { ...kept.metadata, managedFields: others } };
}
