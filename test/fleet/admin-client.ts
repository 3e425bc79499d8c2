import { Agent } from "node:https";

import type { KubeObject, Manifest, ObjectKey } from "../../api/kubernetes.ts";
import type { KeyPair } from "./certificates.ts";
import { discoverPlurals, type Plurals } from "./discovery.ts";
import { exchange, type Answer } from "./https-exchange.ts";
import { isRecord } from "./json-record.ts";

/** Which objects to list; without `namespace` those of all namespaces. */
export interface Collection {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly labelSelector?: string;
}

export interface AdminApplyOptions {
  /** Default `test-admin`. */
  readonly fieldManager?: string;
  readonly subresource?: "status";
}

/**
 * Requests to a test cluster as `system:masters`, for a test's own set-up and checks. Any kind that the server knows works;
 * its path is discovered. Its user agent is `knfleet-test-admin`, so that request counting can leave it out.
 */
export interface AdminClient {
  /** The object, or undefined when it or its kind does not exist. */
  get(key: ObjectKey): Promise<KubeObject | undefined>;
  list(collection: Collection): Promise<readonly KubeObject[]>;
  create(manifest: Manifest): Promise<KubeObject>;
  /** Server-side apply with force. */
  apply(manifest: Manifest, options?: AdminApplyOptions): Promise<KubeObject>;
  /** JSON merge patch. */
  patch(
    key: ObjectKey,
    patch: Readonly<Record<string, unknown>>,
    options?: { readonly subresource?: "status" | "scale" },
  ): Promise<KubeObject>;
  /** False when it did not exist. Deletes in the background; `orphan` leaves the dependants. */
  remove(key: ObjectKey, options?: { readonly orphan?: boolean }): Promise<boolean>;
  /** Any request; the parsed JSON answer, or the text when it is none. Throws `AdminError` unless 2xx. */
  request(method: string, path: string, body?: unknown): Promise<unknown>;
  close(): void;
}

/** The API server answered a test's own request with something else than success. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Content {
  readonly body?: unknown;
  readonly type?: string;
}

/** Opens a client; no connection is made before the first request. */
export function openAdminClient(server: string, caPem: string, identity: KeyPair): AdminClient {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 16,
    ca: caPem,
    cert: identity.certificatePem,
    key: identity.keyPem,
  });
  const send = async (method: string, path: string, content: Content = {}) =>
    accepted(
      await exchange({
        url: `${server}${path}`,
        method,
        agent,
        headers: {
          "user-agent": "knfleet-test-admin",
          "content-type": content.type ?? "application/json",
        },
        ...(content.body === undefined ? {} : { body: JSON.stringify(content.body) }),
      }),
      `${method} ${path}`,
    );
  const plurals = discoverPlurals((path) => send("GET", path));
  return {
    get: (key) => orUndefined(async () => objectOf(await send("GET", await pathOf(key, plurals)))),
    async list(collection) {
      const { labelSelector } = collection;
      const query = labelSelector === undefined ? "" : `?labelSelector=${escape(labelSelector)}`;
      const path = `${await collectionPath(collection, plurals)}${query}`;
      return itemsOf(await send("GET", path), collection);
    },
    async create(manifest) {
      const path = await collectionPath({ ...manifest, ...scopeOf(manifest) }, plurals);
      return objectOf(await send("POST", path, { body: manifest }));
    },
    async apply(manifest, { fieldManager = "test-admin", subresource } = {}) {
      const key = { ...manifest, ...scopeOf(manifest), name: manifest.metadata.name ?? "" };
      const sub = subresource === undefined ? "" : `/${subresource}`;
      const path = `${await pathOf(key, plurals)}${sub}?fieldManager=${escape(fieldManager)}&force=true`;
      return objectOf(
        await send("PATCH", path, { body: manifest, type: "application/apply-patch+yaml" }),
      );
    },
    async patch(key, patch, { subresource } = {}) {
      const sub = subresource === undefined ? "" : `/${subresource}`;
      const path = `${await pathOf(key, plurals)}${sub}`;
      return objectOf(
        await send("PATCH", path, { body: patch, type: "application/merge-patch+json" }),
      );
    },
    async remove(key, { orphan = false } = {}) {
      const body = { propagationPolicy: orphan ? "Orphan" : "Background" };
      const path = async () => send("DELETE", await pathOf(key, plurals), { body });
      return (await orUndefined(path)) !== undefined;
    },
    request: (method, path, body) => send(method, path, { body }),
    close: () => agent.destroy(),
  };
}

async function collectionPath(collection: Collection, plurals: Plurals): Promise<string> {
  const { apiVersion, namespace } = collection;
  const type = await plurals(apiVersion, collection.kind);
  if (type === undefined) {
    throw new AdminError(404, `The server has no ${apiVersion} ${collection.kind}`);
  }
  const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return type.namespaced && namespace !== undefined
    ? `${base}/namespaces/${namespace}/${type.plural}`
    : `${base}/${type.plural}`;
}

async function pathOf(key: ObjectKey, plurals: Plurals): Promise<string> {
  return `${await collectionPath(key, plurals)}/${escape(key.name)}`;
}

function scopeOf(manifest: Manifest): { readonly namespace?: string } {
  const { namespace } = manifest.metadata;
  return namespace === undefined ? {} : { namespace };
}

function escape(value: string): string {
  return encodeURIComponent(value);
}

async function orUndefined<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof AdminError && error.status === 404) return undefined;
    throw error;
  }
}

function accepted(answer: Answer, request: string): unknown {
  const body = answer.json ?? answer.text;
  if (answer.status >= 200 && answer.status < 300) return body;
  const status: unknown = answer.json;
  const message = isRecord(status) ? status["message"] : undefined;
  const why = typeof message === "string" ? message : answer.text.slice(0, 500);
  throw new AdminError(answer.status, `${request} answered ${answer.status}: ${why}`);
}

function objectOf(value: unknown): KubeObject {
  if (isKubeObject(value)) return value;
  throw new Error("The server answered with something that is no object");
}

// Items of a list carry neither apiVersion nor kind; the caller knows them.
function itemsOf(list: unknown, { apiVersion, kind }: Collection): readonly KubeObject[] {
  const items: unknown = isRecord(list) ? list["items"] : undefined;
  if (!Array.isArray(items)) return [];
  return items.map((item: unknown) =>
    objectOf(isRecord(item) ? { apiVersion, kind, ...item } : item),
  );
}

function isKubeObject(value: unknown): value is KubeObject {
  if (!isRecord(value)) return false;
  const { metadata } = value;
  return (
    typeof value["apiVersion"] === "string" &&
    typeof value["kind"] === "string" &&
    isRecord(metadata) &&
    typeof metadata["name"] === "string"
  );
}
