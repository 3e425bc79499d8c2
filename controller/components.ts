import type { KubeClient } from "../access/kube/kube-client.ts";
import { type Listing, Reflector } from "../access/kube/reflector.ts";
import { type Component, componentKinds, operatorApiVersion } from "../api/component.ts";
import { type KubeObject, withoutManagedFields } from "../api/kubernetes.ts";
import { keyTextOf, asComponent } from "./component-identity.ts";
import type { Log } from "./log.ts";

export interface ComponentsOptions {
  readonly client: Pick<KubeClient, "watch" | "list">;
  readonly log: Log;
  /** A component appeared or changed; `before` is what was known of it. */
  readonly onChange: (component: Component, before: Component | undefined) => void;
  readonly onDelete: (component: Component) => void;
  /** All of one kind were listed, after `onChange` and `onDelete` of each. */
  readonly onListed?: (kind: string, listing: Listing) => void;
}

/** All components on the hub, of both kinds, kept up to date by watches. */
export class Components implements Disposable {
  readonly #reflectors: readonly Reflector[];
  readonly #components = new Map<string, Component>();

  constructor(options: ComponentsOptions, signal: AbortSignal) {
    this.#reflectors = Object.entries(componentKinds).map(
      ([kind, { plural }]) =>
        new Reflector(
          {
            client: options.client,
            ref: { resource: { apiVersion: operatorApiVersion, kind, plural, namespaced: true } },
            keep: withoutManagedFields,
          },
          {
            onChange: (object) => this.#changed(object, options),
            onDelete: (object) => this.#deleted(object, options),
            onSynced: (listing) => options.onListed?.(kind, listing),
            onError: (err) => options.log.warn({ kind, err }, "Cannot watch components on the hub"),
          },
          signal,
        ),
    );
  }

  /** Resolves when both kinds are known for the first time. */
  async synced(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.synced));
  }

  /** Reads both kinds anew; resolves when what is known is not older than this call. */
  async refresh(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.refresh()));
  }

  get areSynced(): boolean {
    return this.#reflectors.every((reflector) => reflector.isSynced);
  }

  /** By `keyTextOf`. */
  get(key: string): Component | undefined {
    return this.#components.get(key);
  }

  all(): Iterable<Component> {
    return this.#components.values();
  }

  [Symbol.dispose](): void {
    for (const reflector of this.#reflectors) reflector[Symbol.dispose]();
  }

  #changed(object: KubeObject, options: ComponentsOptions): void {
    const component = asComponent(object);
    if (component === undefined) return;
    const key = keyTextOf(component);
    const before = this.#components.get(key);
    this.#components.set(key, component);
    options.onChange(component, before);
  }

  #deleted(object: KubeObject, options: ComponentsOptions): void {
    const component = asComponent(object);
    if (component === undefined) return;
    this.#components.delete(keyTextOf(component));
    options.onDelete(component);
  }
}
