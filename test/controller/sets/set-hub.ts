"../../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef, WatchEvent } from "../../../access/kube/kube-client.ts";
import type { ReferencePolicy } from "../../../access/providers/reference-policy.ts";
import { isClusterProfile } from "../../../api/cluster-profile.ts";
import type { Component } from "../../../api/component.ts";
import { isRecord } from "../../../api/fields.ts";
import type { FleetSet, FleetSetSpec } from "../../../api/fleet-set.ts";
import { nameId, setId } from "../../../api/keys.ts";
import { type KubeObject, type Manifest } from "../../../api/kubernetes.ts";
import { asComponent } from "../../../controller/component-identity.ts";
import type { NewEvent } from "../../../controller/events.ts";
import type { Next } from "../../../controller/queue/delays.ts";
import { advanceSet } from "../../../controller/sets/advance-set.ts";
import { findSelection } from "../../../controller/sets/find-selection.ts";
import { gatherFacts } from "../../../controller/sets/gather-facts.ts";
import { viewOfLists } from "../../../controller/sets/hub-view.ts";
import { IndexedObjects } from "../../../controller/sets/indexed-objects.ts";
import { NotTakenMemory } from "../../../controller/sets/not-taken.ts";
import { RecentWrites } from "../../../controller/sets/recent-writes.ts";
import { isFleetSet } from "../../../controller/sets/set-caches.ts";
import { ChildWriter } from "../../../controller/sets/write-children.ts";
import { RevisionWriter } from "../../../controller/sets/write-revisions.ts";
import { SetWriter } from "../../../controller/sets/write-set.ts";
import { mergePatch } from "../../../sets/desired-spec.ts";
import { rolloutWith, SetWorld } from "../../sets/set-world.ts";
import { apiError } from "../../support/api-error.ts";
import { FakeClock } from "../../support/fake-clock.ts";

// oxlint-disable max-params -- the methods of the contract take options and, last, the signal
type Client = Pick<KubeClient, "get" | "create" | "replace" | "patch" | "apply" | "remove">;

/** What an API server answers: an error for requests of this verb whose object has this name. */
interface Fault {
  readonly verb: string;
  readonly name: string;
  readonly error: unknown;
}

export const rollout = rolloutWith({
  stages: [{ name: "all", selector: {}, maxConcurrency: "100%" }],
});
export const whenUnselected = { policy: "Delete", after: "1s", maxAtOnce: 5 } as const;

/** A hub with clusters of these names and a set that selects all of them, in one stage. */
export async function hubWith(names: readonly string[]): Promise<{ hub: SetHub; key: string }> {
  const hub = new SetHub();
  for (const name of names) hub.putProfile(name);
  const key = hub.putSet({ rollout, whenUnselected });
  await hub.look(key);
  return { hub, key };
}

/** A hub in memory with fleet sets, and looks at them with the real functions. */
export class SetHub {
  readonly clock = new FakeClock();
  readonly objects = new Map<string, KubeObject>();
  readonly memory = new NotTakenMemory();
  /** What somebody else does just before a request, by `verb name`. */
  readonly before = new Map<string, () => void>();
  readonly events: NewEvent[] = [];
  readonly faults: Fault[] = [];
  readonly retried = new Set<string>();
  policy: ReferencePolicy | undefined;
  /** The versions of the release folder, the newest first. */
  available: readonly string[] = [];
  /** Digest of what sets render. */
  digest: string | undefined;
  /** `verb name` of each request that changed something. */
  readonly writes: string[] = [];
  /** Told of each change, as a watch is. */
  readonly watchers = new Set<(event: WatchEvent) => void>();
  #version = 0;

  /** Stores an object as somebody else would write it. */
  put(object: Manifest & { readonly metadata: { readonly name: string } }): KubeObject {
    const key = reflectorKeyOf(object);
    const before = this.objects.get(key);
    this.#version += 1;
    const stored = {
      ...object,
      metadata: {
        uid: before?.metadata.uid ?? `uid-${this.#version}`,
        generation: 1,
        ...object.metadata,
        resourceVersion: String(this.#version),
      },
    };
    this.objects.set(key, stored);
    this.#notifyWatchers({ type: before === undefined ? "ADDED" : "MODIFIED", object: stored });
    return stored;
  }

  putSet(spec: Partial<FleetSetSpec> = {}, metadata: Partial<FleetSet["metadata"]> = {}): string {
    const { set } = new SetWorld({}, []);
    const full = { ...set, spec: { ...set.spec, ...spec } };
    const stored = this.put({ ...full, metadata: { ...set.metadata, ...metadata } });
    return setId(stored);
  }

  putProfile(
    name: string,
    labels: Readonly<Record<string, string>> = {},
    others: readonly object[] = [],
  ): void {
    this.put({
      apiVersion: "multicluster.x-k8s.io/v1alpha1",
      kind: "ClusterProfile",
      metadata: { namespace: "fleet", name, labels },
      status: { conditions: [{ type: "ControlPlaneHealthy", status: "True" }, ...others] },
    });
  }

  drop(kind: string, name: string): void {
    for (const [key, object] of this.objects) {
      if (object.kind === kind && object.metadata.name === name) this.#delete(key);
    }
  }

  set(key: string): FleetSet {
    const set = this.objects.get(key);
    if (set === undefined || !isFleetSet(set)) throw new Error(`No set ${key}`);
    return set;
  }

  components(): readonly Component[] {
    return [...this.objects.values()].flatMap((object) => asComponent(object) ?? []);
  }

  /** Gives a set another spec. */
  edit(key: string, spec: Partial<FleetSetSpec>): void {
    const set = this.set(key);
    const generation = (set.metadata.generation ?? 1) + 1;
    const metadata = { ...set.metadata, generation };
    this.put({ ...set, metadata, spec: { ...set.spec, ...spec } });
  }

  annotate(key: string, name: string, value: string | undefined): void {
    const set = this.set(key);
    const { [name]: _, ...others } = set.metadata.annotations ?? {};
    const annotations = value === undefined ? others : { ...others, [name]: value };
    this.put({ ...set, metadata: { ...set.metadata, annotations } });
  }

  /** `spec.version` of all components. */
  versions(): Readonly<Record<string, string | undefined>> {
    return Object.fromEntries(
      this.components().map(({ metadata, spec }) => [metadata.name, spec?.version]),
    );
  }

  revisions(): readonly KubeObject[] {
    return this.#ofKind("ControllerRevision");
  }

  /** Names of all components. */
  names(): readonly string[] {
    return this.components()
      .map(({ metadata }) => metadata.name)
      .toSorted();
  }

  facts(key: string) {
    const sets = this.#sets();
    const set = sets.get(key);
    if (set === undefined) return undefined;
    const profiles = [...this.objects.values()].filter(isClusterProfile);
    const sources = {
      profiles: () => profiles,
      placements: () => this.#ofKind("PlacementDecision"),
    };
    const view = viewOfLists({
      sets: [...sets.values()],
      components: this.components(),
      revisions: this.revisions(),
      profiles: new Map(profiles.map((one) => [nameId(one.metadata), one])),
      selectionOf: (one) => findSelection(one, sources),
      policy: this.policy,
      refusals: this.memory.refusals(set, this.clock.now()),
      unwritten: this.memory.failed,
      available: this.available,
      ...(this.digest === undefined ? {} : { digest: this.digest }),
    });
    return gatherFacts(set, view);
  }

  /** One look at a set. Every component is known at once. */
  look(key: string): Promise<Next> {
    const { clock, client } = this;
    const options = <Item extends KubeObject>() => ({
      client,
      clock,
      recent: new RecentWrites<Item>(),
    });
    return advanceSet(
      key,
      {
        clock,
        events: { record: async (_set, event) => void this.events.push(event) },
        sets: new SetWriter(options<FleetSet>()),
        revisions: new RevisionWriter(options<KubeObject>()),
        children: new ChildWriter({
          ...options<Component>(),
          recent: new IndexedObjects<Component>(clock, () => []),
          contentOf: async () => ({ spec: "spec", rendered: this.digest ?? "none" }),
        }),
        factsOf: async (one) => this.facts(one),
        setOf: (one) => this.facts(one)?.set,
        retried: this.retried,
        onNotTaken: (set, notTaken) => this.memory.remember(set, notTaken, clock.now()),
        onSeen: () => undefined,
        onVerifications: () => undefined,
      },
      new AbortController().signal,
    );
  }

  readonly client: Client = {
    get: async (ref) => {
      this.before.get(`get ${ref.name}`)?.();
      return this.objects.get(keyOfRef(ref));
    },
    create: async (ref, object) => {
      const { name = "" } = object.metadata;
      const key = `${ref.resource.kind} ${ref.namespace}/${name}`;
      this.#request("create", name);
      if (this.objects.has(key)) throw apiError(409, "AlreadyExists");
      return this.put({ ...object, metadata: { ...object.metadata, name } });
    },
    // Of a status only.
    replace: async (ref, object) => {
      this.#request("replace", ref.name);
      const known = this.#check(ref, object.metadata.resourceVersion);
      return this.put({ ...known, status: object["status"] });
    },
    patch: async (ref, patch) => {
      this.#request("patch", ref.name);
      const metadata: unknown = Array.isArray(patch) ? undefined : Object(patch)["metadata"];
      const version = isRecord(metadata) ? metadata["resourceVersion"] : undefined;
      const known = this.#check(ref, typeof version === "string" ? version : undefined);
      return this.put(Object(mergePatch(known, patch)));
    },
    apply: async (ref, object) => {
      this.#request("apply", ref.name);
      const known = this.objects.get(keyOfRef(ref));
      const labels = { ...known?.metadata.labels, ...object.metadata.labels };
      const annotations = { ...known?.metadata.annotations, ...object.metadata.annotations };
      const { namespace } = ref;
      const metadata = { ...known?.metadata, namespace, name: ref.name, labels, annotations };
      return this.put({ ...known, ...object, metadata });
    },
    remove: async (ref) => {
      this.#request("remove", ref.name);
      return this.#delete(keyOfRef(ref)) ? "gone" : "absent";
    },
  };

  #delete(key: string): boolean {
    const object = this.objects.get(key);
    this.objects.delete(key);
    if (object !== undefined) this.#notifyWatchers({ type: "DELETED", object });
    return object !== undefined;
  }

  #notifyWatchers(event: WatchEvent): void {
    for (const watcher of this.watchers) watcher(event);
  }

  #request(verb: string, name: string): void {
    const fault = this.faults.find((one) => one.verb === verb && one.name === name);
    if (fault !== undefined) throw fault.error;
    this.writes.push(`${verb} ${name}`);
  }

  #check(ref: ObjectRef, version: string | undefined): KubeObject {
    const known = this.objects.get(keyOfRef(ref));
    if (known === undefined) throw apiError(404, "NotFound");
    const isStale = version !== undefined && version !== known.metadata.resourceVersion;
    if (isStale) throw apiError(409, "Conflict");
    return known;
  }

  #ofKind(kind: string): readonly KubeObject[] {
    return [...this.objects.values()].filter((object) => object.kind === kind);
  }

  #sets(): ReadonlyMap<string, FleetSet> {
    const sets = [...this.objects.values()].filter(isFleetSet);
    return new Map(sets.map((set) => [setId(set), set]));
  }
}

function keyOfRef({ resource, namespace, name }: ObjectRef): string {
  return `${resource.kind} ${namespace}/${name}`;
}

function reflectorKeyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}
