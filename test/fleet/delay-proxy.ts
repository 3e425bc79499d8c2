import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

import { delayLine } from "./delay-line.ts";
import { portOf } from "./ports.ts";

/**
 * How a proxy treats its connections.
 * - `open`: forwards, with the delay.
 * - `refuse`: nothing listens; connections that exist are reset.
 * - `blackhole`: connections are accepted, but no byte passes in either direction; `open` lets the held ones pass.
 * - `reset`: connections, old and new, are reset at once.
 */
export type ProxyMode = "open" | "refuse" | "blackhole" | "reset";

export interface ProxyCounts {
  readonly connections: number;
  /** From clients to the server. */
  readonly bytesUp: number;
  /** From the server to clients. */
  readonly bytesDown: number;
}

/** A TCP proxy in front of one server: delays like a distant network, counts, and breaks on demand. */
export interface DelayProxy extends AsyncDisposable {
  /** `https://127.0.0.1:<port>`; the same for the life of the proxy. */
  readonly url: string;
  readonly port: number;
  readonly rttMs: number;
  readonly mode: ProxyMode;
  /** Connections that are open now. */
  readonly openConnections: number;
  /** Totals since the start or the last `resetCounts`; bytes count when they arrive at the proxy. */
  readonly counts: ProxyCounts;
  resetCounts(): void;
  /** Each direction is delayed by half of it, a new connection by the whole. Holds for what arrives from now on. */
  setRtt(rttMs: number): void;
  setMode(mode: ProxyMode): Promise<void>;
  /** The connections that are open now carry nothing more and are not ended either; new ones work. */
  abandon(): void;
}

interface Link {
  reset(): void;
  hold(held: boolean): void;
}

interface State {
  rttMs: number;
  mode: ProxyMode;
  counts: { connections: number; bytesUp: number; bytesDown: number };
  readonly targetPort: number;
  readonly links: Set<Link>;
  /** Links that no mode brings back. */
  readonly abandoned: Set<Link>;
}

/** Starts a proxy on a loopback port that forwards to `targetPort` on 127.0.0.1. */
export async function startDelayProxy(
  targetPort: number,
  { rttMs = 0 }: { readonly rttMs?: number } = {},
): Promise<DelayProxy> {
  const state: State = {
    rttMs,
    mode: "open",
    counts: noCounts(),
    targetPort,
    links: new Set(),
    abandoned: new Set(),
  };
  let server = await listen(0, (socket) => accept(socket, state));
  const port = portOf(server.address());
  const resetAll = () => {
    for (const link of state.links) link.reset();
  };
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    get rttMs() {
      return state.rttMs;
    },
    get mode() {
      return state.mode;
    },
    get openConnections() {
      return state.links.size;
    },
    get counts() {
      return { ...state.counts };
    },
    resetCounts() {
      state.counts = noCounts();
    },
    setRtt(value) {
      state.rttMs = value;
    },
    async setMode(mode) {
      const before = state.mode;
      state.mode = mode;
      for (const link of state.links) {
        link.hold(mode === "blackhole" || state.abandoned.has(link));
      }
      if (mode === "reset" || mode === "refuse") resetAll();
      if (mode === "refuse" && before !== "refuse") await close(server);
      if (mode !== "refuse" && before === "refuse") {
        server = await listen(port, (socket) => accept(socket, state));
      }
    },
    abandon() {
      for (const link of state.links) {
        link.hold(true);
        state.abandoned.add(link);
      }
    },
    async [Symbol.asyncDispose]() {
      resetAll();
      if (state.mode !== "refuse") await close(server);
    },
  };
}

function accept(downstream: Socket, state: State): void {
  state.counts.connections += 1;
  downstream.on("error", () => undefined);
  if (state.mode === "reset" || state.mode === "refuse") {
    reset(downstream);
    return;
  }
  const upstream = connect({ host: "127.0.0.1", port: state.targetPort, allowHalfOpen: true });
  const openAt = performance.now() + state.rttMs;
  const up = delayLine(downstream, upstream, {
    // The kernel answers a client's SYN at once; a distant server would be heard one round trip later.
    dueAt: () => Math.max(performance.now(), openAt) + state.rttMs / 2,
    onBytes: (count) => (state.counts.bytesUp += count),
  });
  const down = delayLine(upstream, downstream, {
    dueAt: () => performance.now() + state.rttMs / 2,
    onBytes: (count) => (state.counts.bytesDown += count),
  });
  const link: Link = {
    reset() {
      reset(downstream);
      reset(upstream);
    },
    hold(held) {
      up.hold(held);
      down.hold(held);
    },
  };
  state.links.add(link);
  if (state.mode === "blackhole") link.hold(true);
  upstream.on("error", () => reset(downstream));
  downstream.on("close", () => {
    upstream.destroy();
    up.stop();
    down.stop();
    state.links.delete(link);
    state.abandoned.delete(link);
  });
}

/** A socket that is just telling its end cannot be reset: it would stay open, and a process that ends would spin for ever at its handle. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

function noCounts(): State["counts"] {
  return { connections: 0, bytesUp: 0, bytesDown: 0 };
}

async function listen(port: number, onConnection: (socket: Socket) => void): Promise<Server> {
  // Nagle would wait for acknowledgements that this proxy delays.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, onConnection);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  return server;
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}
