import { applyPatch, type Operation } from "rfc6902";

import type { Clock } from "../../access/time/clock.ts";
import { timestampOf } from "../../api/conditions.ts";
import { isRecord, isSameJson } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { type ResourceType } from "../../api/resources.ts";
import { mergePatch } from "../../sets/desired-spec.ts";
import {
  type Answer,
  conflict,
  invalid,
  listOf,
  notFound,
  shown,
  success,
  UnknownPath,
} from "./answers.ts";
import { applied, type Authorship, patched, replaced } from "./apply.ts";
import { denyProbe, denyProbeOfDeletion } from "./deny-probe.ts";
import { discoveryOf, isBuiltIn } from "./kinds.ts";
import { kindIdOf, ObjectStore, type Draft, type StoredObject } from "./object-store.ts";
import { isReview, type SpokeRequest } from "./spoke-request.ts";

export interface VirtualSpokeOptions {
  readonly clock: Clock;
  /** Default: random ones. */
  readonly newUid?: () => string;
  /** Keeps all content, as a hub has to; default: what the controller reads back. */
  readonly keepsAll?: boolean;
}

/** The objects of one virtual spoke, and what each request does with them. */
export class VirtualSpoke {
  readonly store: ObjectStore;
  readonly name: string;
  readonly #clock: Clock;
  readonly #keepsAll: boolean;

  constructor(name: string, { clock, newUid, keepsAll = false }: VirtualSpokeOptions) {
    this.name = name;
    this.store = new ObjectStore(newUid);
    this.#clock = clock;
    this.#keepsAll = keepsAll;
    for (const namespace of ["kube-system", "default"]) {
      const metadata = { name: namespace };
      this.#save({ apiVersion: "v1", kind: "Namespace", metadata }, { isDryRun: false });
    }
  }

  /** Answers everything but a watch. Throws `StatusError`. */
  answer(request: SpokeRequest): Answer {
    const { kind, path, method } = request;
    if (kind === undefined) return this.#answerOther(method, path, request);
    switch (request.verb) {
      case "get":
        return { status: 200, body: shown(this.#live(request), request.shape) };
      case "list": {
        const { shape } = request;
        const version = this.store.version;
        return { status: 200, body: listOf(this.select(request), { shape, kind, version }) };
      }
      case "create":
        return this.#create(kind, request);
      case "update":
        return this.#write(request, this.#replacement(kind, request));
      case "patch":
        return this.#write(request, this.#patched(kind, request));
      case "delete":
        return this.#delete(request);
      case "deletecollection": {
        const gone = this.select(request);
        if (!request.isDryRun) for (const object of gone) this.#remove(object);
        const { shape } = request;
        const version = this.store.version;
        return { status: 200, body: listOf(gone, { shape, kind, version }) };
      }
      default:
        throw notFound(path);
    }
  }

  /** The objects of a collection request. */
  select({ kind, selects }: SpokeRequest): readonly StoredObject[] {
    if (kind === undefined) return [];
    return Iterator.from(this.store.all(kindIdOf(kind)))
      .filter(selects)
      .toArray();
  }

  #answerOther(method: string, path: string, { body }: SpokeRequest): Answer {
    if (path === "/version") {
      const version = { major: "1", minor: "36", gitVersion: "v1.36.3", platform: "linux/amd64" };
      return { status: 200, body: version };
    }
    if (path === "/readyz" || path === "/livez") return { status: 200, body: "ok" };
    const discovered = discoveryOf(this.store, path);
    if (method === "GET" && discovered !== undefined) return { status: 200, body: discovered };
    if (method === "POST" && isReview(path) && isRecord(body)) {
      const username = "system:serviceaccount:knfleet:knfleet-hub";
      const groups = ["system:serviceaccounts", "system:authenticated"];
      const status = { userInfo: { username, groups }, allowed: true };
      const metadata = { creationTimestamp: this.#time() };
      return { status: 201, body: { ...body, metadata, status } };
    }
    throw new UnknownPath();
  }

  #create(kind: ResourceType, request: SpokeRequest): Answer {
    const manifest = this.#manifestOf(kind, request);
    if (this.store.find(manifest) !== undefined) {
      throw conflict(`${kind.plural} "${manifest.metadata.name}" already exists`, "AlreadyExists");
    }
    const draft = replaced(undefined, manifest, this.#authorship(request));
    denyProbe(this.store, draft, this.#clock);
    return { status: 201, body: shown(this.#save(draft, request), request.shape) };
  }

  #write(request: SpokeRequest, draft: Draft | StoredObject): Answer {
    const live = this.store.find(draft);
    if (live !== undefined && live === draft) {
      return { status: 200, body: shown(live, request.shape) };
    }
    if (live !== undefined && isReleased(draft) && !request.isDryRun) {
      this.store.drop(live);
      // It is not written any more: what is told of it has its last version.
      const { uid, resourceVersion } = live.metadata;
      const body = { ...draft, metadata: { ...draft.metadata, uid, resourceVersion } };
      return { status: 200, body: shown(body, request.shape) };
    }
    const stored = this.#save(draft, request);
    return { status: live === undefined ? 201 : 200, body: shown(stored, request.shape) };
  }

  /** Stores an object, unless the request is a dry run. */
  #save(draft: Draft, { isDryRun }: Pick<SpokeRequest, "isDryRun">): StoredObject {
    if (isDryRun) {
      const metadata = { ...draft.metadata, uid: "dry-run", resourceVersion: "" };
      return { ...draft, metadata };
    }
    const isNamespace = draft.kind === "Namespace" && draft.apiVersion === "v1";
    return this.store.put(isNamespace ? asNamespace(draft) : draft);
  }

  #replacement(kind: ResourceType, request: SpokeRequest): Draft | StoredObject {
    const live = this.#live(request);
    const manifest = this.#manifestOf(kind, request);
    checkVersion(live, manifest.metadata);
    const { resourceVersion = "" } = manifest.metadata;
    if (resourceVersion === "" && !isBuiltIn(kind)) {
      throw invalid("metadata.resourceVersion must be specified for an update");
    }
    if (request.subresource === "status") return withStatus(live, manifest);
    return replaced(live, manifest, this.#authorship(request));
  }

  #patched(kind: ResourceType, request: SpokeRequest): Draft | StoredObject {
    const { contentType, body, query } = request;
    const authorship = this.#authorship(request);
    if (contentType.startsWith("application/apply-patch")) {
      const manifest = this.#manifestOf(kind, request);
      const live = this.store.find(manifest);
      if (live === undefined && manifest.metadata.uid !== undefined) {
        throw conflict("uid mismatch: the object does not exist");
      }
      if (live !== undefined) checkPatched(live, manifest);
      if (request.subresource === "status") {
        const status = mergePatch(this.#live(request)["status"], manifest["status"]);
        return withStatus(this.#live(request), { ...manifest, status });
      }
      return applied(live, manifest, { ...authorship, isForced: query.get("force") === "true" });
    }
    const live = this.#live(request);
    const copy = asManifest(Array.isArray(body) ? jsonPatched(live, body) : mergePatch(live, body));
    checkPatched(live, copy);
    if (request.subresource === "status") return withStatus(live, copy);
    checkFinalizers(live, copy);
    return patched(live, copy, authorship);
  }

  #delete(request: SpokeRequest): Answer {
    const live = this.#live(request);
    const { preconditions } = isRecord(request.body) ? request.body : {};
    if (isRecord(preconditions)) checkVersion(live, preconditions);
    if (request.isDryRun) denyProbeOfDeletion(this.store, live, this.#clock);
    else this.#remove(live);
    const left = this.store.find(live);
    const body = left === undefined || request.isDryRun ? success : shown(left, request.shape);
    return { status: 200, body };
  }

  #remove(live: StoredObject): void {
    this.store.remove(live, this.#time());
  }

  #authorship({ manager }: SpokeRequest): Authorship {
    return { manager, time: this.#time(), keepsAll: this.#keepsAll };
  }

  #time(): string {
    return timestampOf(this.#clock.date());
  }

  #live(request: SpokeRequest): StoredObject {
    const { kind, namespace = "", name = "" } = request;
    const live = kind && this.store.get(kindIdOf(kind), `${namespace}/${name}`);
    if (live === undefined) throw notFound(`${kind?.plural} "${name}"`);
    return live;
  }

  /** The object of a body, in the namespace of the path, which must exist. */
  #manifestOf(kind: ResourceType, { namespace, name, body }: SpokeRequest): Manifest {
    const manifest = asManifest(body);
    const place = kind.namespaced && namespace !== undefined ? { namespace } : {};
    if (namespace !== undefined && this.store.get("/Namespace", `/${namespace}`) === undefined) {
      throw notFound(`namespaces "${namespace}"`);
    }
    const metadata = { ...manifest.metadata, ...place, ...(name === undefined ? {} : { name }) };
    return { ...manifest, apiVersion: kind.apiVersion, kind: kind.kind, metadata };
  }
}

/** Whether nothing holds an object any more that is to go. */
function isReleased({ metadata: { deletionTimestamp, finalizers = [] } }: Draft): boolean {
  return deletionTimestamp !== undefined && finalizers.length === 0;
}

/** Whether an object is one that a collection watch tells of. */
export function isWatched(object: StoredObject, { kind, selects }: SpokeRequest): boolean {
  return kind !== undefined && kindIdOf(object) === kindIdOf(kind) && selects(object);
}

function asNamespace(draft: Draft): Draft {
  const { name, labels } = draft.metadata;
  const metadata = {
    ...draft.metadata,
    labels: { ...labels, "kubernetes.io/metadata.name": name },
  };
  const [spec, status] = [{ finalizers: ["kubernetes"] }, { phase: "Active" }];
  return { ...draft, metadata, spec, status };
}

function asManifest(body: unknown): Manifest {
  const { apiVersion, kind, metadata } = isRecord(body) ? body : {};
  if (typeof apiVersion !== "string" || typeof kind !== "string" || !isRecord(metadata)) {
    throw conflict("the body is no object");
  }
  return { ...(isRecord(body) ? body : {}), apiVersion, kind, metadata };
}

function checkVersion(
  live: StoredObject,
  wanted: { readonly uid?: unknown; readonly resourceVersion?: unknown },
): void {
  const { uid, resourceVersion } = live.metadata;
  for (const [is, should] of [
    [uid, wanted.uid],
    [resourceVersion, wanted.resourceVersion],
  ] as const) {
    const isOther = should !== undefined && should !== "" && should !== is;
    if (isOther) throw conflict(`Operation cannot be fulfilled on ${live.metadata.name}: changed`);
  }
}

/** No patch changes a uid; one that names another version comes too late. */
function checkPatched(live: StoredObject, { metadata }: Manifest): void {
  const { uid, ...others } = metadata;
  if (uid !== undefined && uid !== live.metadata.uid) throw invalid("metadata.uid is immutable");
  checkVersion(live, others);
}

/** An object that is going gets no new finalizers. */
function checkFinalizers(live: StoredObject, { metadata }: Manifest): void {
  const { deletionTimestamp, finalizers = [] } = live.metadata;
  const added = (metadata.finalizers ?? []).filter((name) => !finalizers.includes(name));
  if (deletionTimestamp === undefined || added.length === 0) return;
  throw invalid("no new finalizers can be added if the object is being deleted");
}

/** The live object with the status of another one. */
function withStatus(live: StoredObject, { status }: Manifest): Draft | StoredObject {
  const { resourceVersion: _, ...metadata } = live.metadata;
  return isSameJson(status, live["status"]) ? live : { ...live, metadata, status };
}

/** Spec: RFC 6902. */
function jsonPatched(live: StoredObject, operations: readonly Operation[]): unknown {
  const copy = structuredClone(live);
  const [failed] = applyPatch(copy, [...operations]).filter((error) => error !== null);
  if (failed !== undefined) throw invalid(`the patch does not fit: ${failed.message}`);
  return copy;
}
