import { once } from "node:events";
import {
  constants,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";

import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { KeyPair } from "../fleet/certificates.ts";
import { portOf } from "../fleet/ports.ts";

/** A hub that plays list and watch of ClusterProfiles, and Secrets, on real sockets: much faster than a real one can write. */
export interface ProfileHub extends AsyncDisposable {
  readonly server: string;
  /** Creates or changes a profile: sent to every watch. */
  put(profile: ClusterProfile): void;
  /** Deletes a profile. */
  remove(namespace: string, name: string): void;
  /** Cuts every connection; watches go on from where they were. */
  cut(): void;
  /** Ends every watch, and lets none go on from an old version: 410, so that everything is listed again. */
  compact(): void;
}

export interface ProfileHubOptions {
  readonly identity: KeyPair;
  /** Token in the Secret of this name, whatever its namespace; undefined: there is no such Secret. */
  readonly token?: (name: string) => string | undefined;
  /** Version of ClusterProfiles that it serves at the moment, none when undefined; default: v1alpha1. */
  readonly serves?: () => "v1alpha1" | "v1alpha2" | undefined;
}

interface Event {
  readonly version: number;
  readonly line: string;
}

const group = "multicluster.x-k8s.io";
const secret = /^\/api\/v1\/namespaces\/([^/]+)\/secrets\/([^/]+)$/;
// What a real one holds is bounded too.
const maxEvents = 20_000;

class PlayedHub {
  readonly #profiles = new Map<string, ClusterProfile>();
  readonly #watches = new Set<Http2ServerResponse>();
  #events: Event[] = [];
  #version = 1;
  #oldest = 1;
  readonly #token: (name: string) => string | undefined;

  readonly #serves: NonNullable<ProfileHubOptions["serves"]>;

  constructor({ token = () => undefined, serves = () => "v1alpha1" }: ProfileHubOptions) {
    this.#token = token;
    this.#serves = serves;
  }

  put(profile: ClusterProfile): void {
    const key = `${profile.metadata.namespace}/${profile.metadata.name}`;
    this.#version += 1;
    const resourceVersion = String(this.#version);
    const stored = { ...profile, metadata: { ...profile.metadata, resourceVersion } };
    const type = this.#profiles.has(key) ? "MODIFIED" : "ADDED";
    this.#profiles.set(key, stored);
    this.#tell(type, stored);
  }

  remove(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    const stored = this.#profiles.get(key);
    if (stored === undefined) return;
    this.#profiles.delete(key);
    this.#version += 1;
    const resourceVersion = String(this.#version);
    this.#tell("DELETED", { ...stored, metadata: { ...stored.metadata, resourceVersion } });
  }

  compact(): void {
    this.#events = [];
    this.#oldest = this.#version + 1;
    for (const watch of this.#watches) watch.end();
  }

  answer(request: Http2ServerRequest, response: Http2ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url, "https://hub");
    const [, namespace, name] = secret.exec(pathname) ?? [];
    const token = name === undefined ? undefined : this.#token(name);
    if (token !== undefined && name !== undefined) {
      const data = { token: Buffer.from(token).toString("base64") };
      const metadata = { namespace, name, uid: name, resourceVersion: "1" };
      return sendObject(response, { apiVersion: "v1", kind: "Secret", metadata, data });
    }
    const version = this.#serves();
    if (version === undefined || pathname !== `/apis/${group}/${version}/clusterprofiles`) {
      const status = { kind: "Status", apiVersion: "v1", code: 404, reason: "NotFound" };
      return sendObject(response, { ...status, status: "Failure", message: "not found" }, 404);
    }
    if (searchParams.get("watch") === "true") return this.#watch(searchParams, response);
    const metadata = { resourceVersion: String(this.#version) };
    const items = [...this.#profiles.values()];
    return sendObject(response, { kind: "ClusterProfileList", metadata, items });
  }

  #watch(query: URLSearchParams, response: Http2ServerResponse): void {
    response.writeHead(200, { "content-type": "application/json" });
    const from = query.get("resourceVersion");
    if (from === null) {
      for (const object of this.#profiles.values()) response.write(lineOf("ADDED", object));
      const annotations = { "k8s.io/initial-events-end": "true" };
      const metadata = { resourceVersion: String(this.#version), annotations };
      response.write(lineOf("BOOKMARK", { kind: "ClusterProfile", metadata }));
    } else if (Number(from) < this.#oldest - 1) {
      const status = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
      response.end(lineOf("ERROR", status));
      return;
    } else {
      const later = this.#events.filter(({ version }) => version > Number(from));
      for (const { line } of later) response.write(line);
    }
    this.#watches.add(response);
    response.once("close", () => this.#watches.delete(response));
  }

  #tell(type: string, object: object): void {
    const line = lineOf(type, object);
    this.#events.push({ version: this.#version, line });
    if (this.#events.length > 2 * maxEvents) {
      this.#events = this.#events.slice(-maxEvents);
      this.#oldest = this.#events[0]?.version ?? this.#version;
    }
    for (const watch of this.#watches) watch.write(line);
  }
}

/** Starts it on a loopback port. */
export async function startProfileHub(options: ProfileHubOptions): Promise<ProfileHub> {
  const hub = new PlayedHub(options);
  const { keyPem: key, certificatePem: cert } = options.identity;
  const server = createSecureServer({ key, cert, maxSessionMemory: 100 });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => undefined);
    session.once("close", () => sessions.delete(session));
  });
  server.on("request", (request, response) => {
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    hub.answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const session of sessions) session.destroy(undefined, constants.NGHTTP2_CANCEL);
  };
  return {
    server: `https://127.0.0.1:${portOf(server.address())}`,
    put: (profile) => hub.put(profile),
    remove: (namespace, name) => hub.remove(namespace, name),
    compact: () => hub.compact(),
    cut,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
    },
  };
}

function sendObject(response: Http2ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function lineOf(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}
