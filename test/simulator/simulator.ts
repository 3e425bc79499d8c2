import { once } from "node:events";
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { TLSSocket } from "node:tls";

import { systemClock } from "../../access/time/system-clock.ts";
import { createAuthority } from "../fleet/certificates.ts";
import { type Answer, failureOf, StatusError } from "./answers.ts";
import { VirtualControllers } from "./controllers.ts";
import { isReview, type SpokeRequest, spokeRequestOf } from "./spoke-request.ts";
import { type Faults, SpokeTraffic } from "./spoke-traffic.ts";
import { VirtualSpoke } from "./virtual-spoke.ts";
import { type EventStream, Watches } from "./watches.ts";

export interface SimulatorOptions {
  readonly spokes: number;
  /** How long the pods of a workload take to start, in ms; default 100. */
  readonly availableAfterMs?: number;
}

/** One virtual spoke, as a test sees it. */
export interface SimulatedSpoke {
  /** `spoke-0001`. */
  readonly name: string;
  /** The name that its certificate has, and by which the simulator knows it. */
  readonly serverName: string;
  readonly token: string;
  readonly store: VirtualSpoke["store"];
  readonly traffic: SpokeTraffic;
  /** What is left out goes back to normal. */
  setFaults(faults: Faults): void;
}

/**
 * One process that serves many API servers: each virtual spoke has a server name, objects and faults of its own, all behind one port of loopback. It stands for the number of spokes,
 * not for the correctness of one: what it does is compared with a real API server in `simulator.fleet.test.ts`.
 */
export interface Simulator extends AsyncDisposable {
  /** URL of all spokes; the TLS server name tells which is meant. */
  readonly server: string;
  readonly caPem: string;
  readonly spokes: readonly SimulatedSpoke[];
}

const domain = "sim.test";
// As kube-apiserver.
const maxConcurrentStreams = 100;
const maxBodyBytes = 8 * 1024 * 1024;

/** Starts the simulator. The spokes are empty but for their namespaces. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { spokes: count, availableAfterMs = 100 } = options;
  const authority = createAuthority("simulator");
  const hosts = [`*.${domain}`, "127.0.0.1"];
  const identity = authority.issue({ commonName: "simulator", usage: "server", hosts });
  const spokes = Array.from({ length: count }, (_, index) => {
    return new Spoke(`spoke-${String(index + 1).padStart(4, "0")}`, availableAfterMs);
  });
  const byName = new Map(spokes.map((spoke) => [spoke.serverName, spoke]));
  const server = createSecureServer({
    key: identity.keyPem,
    cert: identity.certificatePem,
    settings: { maxConcurrentStreams },
  });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.on("error", () => undefined);
    const { socket } = session;
    const name = socket instanceof TLSSocket ? socket.servername : undefined;
    const spoke = byName.get(String(name));
    if (spoke === undefined) session.destroy();
    else session.on("stream", (stream, headers) => void spoke.serve(stream, headers));
  });
  const port = await listen(server);
  return {
    server: `https://127.0.0.1:${port}`,
    caPem: authority.certificatePem,
    spokes,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      for (const spoke of spokes) spoke[Symbol.dispose]();
      server.close();
      await once(server, "close");
    },
  };
}

async function listen(server: Http2SecureServer): Promise<number> {
  server.listen(0, "127.0.0.1", 4_096);
  await once(server, "listening");
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("The simulator has no port");
  return address.port;
}

class Spoke implements SimulatedSpoke, Disposable {
  readonly name: string;
  readonly serverName: string;
  readonly token: string;
  readonly traffic = new SpokeTraffic();
  readonly #spoke: VirtualSpoke;
  readonly #controllers: VirtualControllers;
  readonly #watches: Watches;
  #faults: Faults = {};

  constructor(name: string, availableAfterMs: number) {
    this.name = name;
    this.serverName = `${name}.${domain}`;
    this.token = `token-of-${name}`;
    const clock = systemClock;
    this.#spoke = new VirtualSpoke(name, { clock });
    this.#controllers = new VirtualControllers(this.#spoke.store, clock, () => availableAfterMs);
    this.#watches = new Watches(this.#spoke, clock, () => {
      const { hasFrozenWatches = false, isBlackHole = false } = this.#faults;
      return hasFrozenWatches || isBlackHole;
    });
  }

  get store(): VirtualSpoke["store"] {
    return this.#spoke.store;
  }

  setFaults(faults: Faults): void {
    this.#faults = faults;
  }

  async serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on("error", () => undefined);
    try {
      const head = spokeRequestOf(this.#spoke.store, headers);
      const request = { ...head, body: await bodyOf(stream) };
      const { latencyMs = 0, isBlackHole } = this.#faults;
      if (isBlackHole === true) return;
      if (latencyMs > 0) await delay(latencyMs, undefined, { ref: false });
      if (!stream.destroyed) this.#answer(stream, { headers, request });
    } catch (error) {
      if (!stream.destroyed) send(stream, failureOf(error));
    }
  }

  [Symbol.dispose](): void {
    this.#controllers[Symbol.dispose]();
    this.#watches[Symbol.dispose]();
  }

  #answer(
    stream: ServerHttp2Stream,
    { headers, request }: { readonly headers: IncomingHttpHeaders; readonly request: SpokeRequest },
  ): void {
    this.#admit(headers, request);
    if (request.verb === "watch") this.#watches.open(eventStreamOf(stream), request);
    else send(stream, this.#spoke.answer(request));
  }

  /** Counts a request, and throws `StatusError` for one that is not answered as it should be. */
  #admit(headers: IncomingHttpHeaders, { verb, kind, path, isDryRun }: SpokeRequest): void {
    const caller = String(headers["user-agent"]);
    const resource = kind?.plural ?? (isReview(path) ? (path.split("/").at(-1) ?? "") : path);
    const isWelcome = this.traffic.note({ verb, resource, caller, isDryRun });
    const { refusal, hasExpiredTokens } = this.#faults;
    const isKnown = headers["authorization"] === `Bearer ${this.token}`;
    if (hasExpiredTokens === true || !isKnown) {
      throw new StatusError({ status: 401, reason: "Unauthorized" }, "Unauthorized");
    }
    if (refusal !== undefined) {
      const status = { status: refusal, reason: "Simulated" };
      throw new StatusError(status, "as the test wants");
    }
    if (!isWelcome) {
      throw new StatusError({ status: 403, reason: "Replaced" }, "another caller writes here now");
    }
  }
}

function eventStreamOf(stream: ServerHttp2Stream): EventStream {
  return {
    get destroyed() {
      return stream.destroyed;
    },
    begin: () => stream.respond({ ":status": 200, "content-type": "application/json" }),
    write: (text) => void stream.write(text),
    end: () => void stream.end(),
    onClose: (listener) => void stream.once("close", listener),
  };
}

async function bodyOf(stream: ServerHttp2Stream): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new Error("The body is too large");
  }
  return bytes === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

function send(stream: ServerHttp2Stream, { status, body, headers }: Answer): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const type = typeof body === "string" ? "text/plain" : "application/json";
  stream.respond({ ":status": status, "content-type": type, ...headers });
  stream.end(text);
}
