import type { KubeClient, WatchEvent } from "../../access/kube/kube-client.ts";
import { type Clock, delay } from "../../access/time/clock.ts";
import { abortable } from "../../access/time/deadline.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { mergePatch } from "../../sets/desired-spec.ts";
import { apiError } from "./api-error.ts";

// oxlint-disable max-params -- the methods of the contract take options and, last, the signal
type Client = Pick<
  KubeClient,
  "get" | "create" | "replace" | "patch" | "list" | "watch" | "remove"
>;

/** The few promises of an API server that an effect under a fake clock depends on: versions, conflicts, failures. */
export class MemoryHub implements Client {
  readonly #objects = new Map<string, KubeObject>();
  #version = 0;
  #changed = Promise.withResolvers<void>();
  #behaviour: "works" | "fails" | "hangs" = "works";
  #unwelcome: string | undefined;
  #slowness: { readonly clock: Clock; readonly ms: number } | undefined;
  /** Requests so far. */
  requests = 0;

  work(): void {
    this.#behaviour = "works";
  }

  fail(): void {
    this.#behaviour = "fails";
  }

  hang(): void {
    this.#behaviour = "hangs";
  }

  /** Looks at each request only after a time; those that it has already are not put off. */
  take(ms: number, clock: Clock): void {
    this.#slowness = { clock, ms };
  }

  /** Refuses every write that mentions a text. */
  failFor(text: string): void {
    this.#unwelcome = text;
  }

  find(kind: string, name: string): KubeObject | undefined {
    return this.#objects.get(`${kind}/${name}`);
  }

  all(kind: string): readonly KubeObject[] {
    return [...this.#objects.values()].filter((object) => object.kind === kind);
  }

  /** Everything that is stored now; the answer brings that back, with the version of then. */
  backUp(): () => void {
    const [objects, version] = [new Map(this.#objects), this.#version];
    return () => {
      this.#objects.clear();
      for (const [key, object] of objects) this.#objects.set(key, object);
      this.#version = version;
      this.#tell();
    };
  }

  get version(): string {
    return `${this.#version}`;
  }

  /** Stores an object as if somebody else had written it. */
  edit(kind: string, name: string, fields: Readonly<Record<string, unknown>>): KubeObject {
    const known = this.find(kind, name);
    return this.#store({ apiVersion: "v1", kind, metadata: { name }, ...known, ...fields });
  }

  drop(kind: string, name: string): void {
    this.#objects.delete(`${kind}/${name}`);
    this.#tell();
  }

  get: Client["get"] = async (ref, _options, signal) => {
    await this.#request(signal);
    return this.find(ref.resource.kind, ref.name);
  };

  create: Client["create"] = async (ref, object, _options, signal) => {
    await this.#request(signal, object);
    const name = object.metadata.name ?? "";
    if (this.find(ref.resource.kind, name) !== undefined) throw apiError(409, "AlreadyExists");
    return this.#store(object);
  };

  replace: Client["replace"] = async (ref, object, _options, signal) => {
    await this.#request(signal, object);
    const known = this.find(ref.resource.kind, ref.name);
    if (known === undefined) throw apiError(404, "NotFound");
    if (object.metadata.resourceVersion !== known.metadata.resourceVersion) {
      throw apiError(409, "Conflict");
    }
    return this.#store(object);
  };

  patch: Client["patch"] = async (ref, patch, _options, signal) => {
    await this.#request(signal, patch);
    const known = this.find(ref.resource.kind, ref.name);
    if (known === undefined) throw apiError(404, "NotFound");
    const { metadata }: { metadata?: object } = { ...Object(patch) };
    const expected = resourceVersionOf(metadata);
    const isOther = uidOf(metadata, known) !== known.metadata.uid;
    if (isOther || (expected !== undefined && expected !== known.metadata.resourceVersion)) {
      throw apiError(409, "Conflict");
    }
    return this.#store(Object(mergePatch(known, patch)));
  };

  remove: Client["remove"] = async (ref, { resourceVersion }, signal) => {
    await this.#request(signal);
    const known = this.find(ref.resource.kind, ref.name);
    if (known === undefined) return "absent";
    const version = known.metadata.resourceVersion;
    if (resourceVersion !== undefined && resourceVersion !== version) {
      throw apiError(409, "Conflict");
    }
    this.drop(ref.resource.kind, ref.name);
    return "gone";
  };

  list: Client["list"] = async (ref, _options, signal) => {
    await this.#request(signal);
    return { items: this.all(ref.resource.kind), resourceVersion: `${this.#version}` };
  };

  watch: Client["watch"] = (ref, _options, signal) => this.#events(ref.resource.kind, signal);

  async *#events(kind: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const seen = new Map<string, KubeObject>();
    while (!signal.aborted) {
      const changed = this.#changed.promise;
      for (const [name, object] of seen) {
        if (this.find(kind, name) !== undefined) continue;
        seen.delete(name);
        yield { type: "DELETED", object };
      }
      for (const object of this.all(kind)) {
        const { name } = object.metadata;
        if (seen.get(name) === object) continue;
        seen.set(name, object);
        yield { type: "MODIFIED", object };
      }
      await abortable(changed, signal).catch(() => undefined);
    }
  }

  async #request(signal: AbortSignal, body?: unknown): Promise<void> {
    this.requests += 1;
    signal.throwIfAborted();
    if (this.#slowness !== undefined) {
      await delay(this.#slowness.clock, this.#slowness.ms, signal);
    }
    if (this.#behaviour === "fails") throw apiError(500, "InternalError");
    if (this.#unwelcome !== undefined && JSON.stringify(body ?? "").includes(this.#unwelcome)) {
      throw apiError(500, "InternalError");
    }
    if (this.#behaviour === "works") return;
    await new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  }

  #store(object: Manifest): KubeObject {
    this.#version += 1;
    const { name = "", uid = `uid-${this.#version}` } = object.metadata;
    const metadata = { ...object.metadata, name, uid, resourceVersion: `${this.#version}` };
    const stored = { ...object, metadata };
    this.#objects.set(`${object.kind}/${name}`, stored);
    this.#tell();
    return stored;
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** The uid that a patch asks for, as a real server compares it. */
function uidOf(metadata: object | undefined, { metadata: { uid } }: KubeObject): unknown {
  return metadata !== undefined && "uid" in metadata ? metadata.uid : uid;
}

function resourceVersionOf(metadata: object | undefined): unknown {
  return metadata !== undefined && "resourceVersion" in metadata
    ? metadata.resourceVersion
    : undefined;
}
