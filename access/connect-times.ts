import { Socket } from "node:net";

import type { buildConnector } from "undici";

import { codeOf } from "./connection-failure.ts";
import { epochMs, type Times } from "./path-traces.ts";

/** How long it took to connect to a server. */
export interface ConnectTimes extends Times {
  /** When TCP was there and TLS began; absent when it never was, or a proxy was in between. */
  readonly connectedMs?: number;
  /** Code of the error, when it failed. */
  readonly code?: string;
}

/** The same connector, which tells how long each connection took. */
export function timedConnector(
  connect: buildConnector.connector,
  onConnect: ((times: ConnectTimes) => void) | undefined,
): buildConnector.connector {
  if (onConnect === undefined) return connect;
  return (target, callback) => {
    const startMs = epochMs();
    let connected: { readonly connectedMs?: number } = {};
    const done: buildConnector.Callback = (...result) => {
      const [error] = result;
      const failure = error === null ? {} : { code: codeOf(error) || "Unknown" };
      onConnect({ startMs, ...connected, endMs: epochMs(), ...failure });
      return callback(...result);
    };
    // undici's connectors return the socket at once, unless a proxy comes first.
    const socket: unknown = connect(target, done);
    if (!(socket instanceof Socket)) return;
    socket.once("connect", () => {
      connected = { connectedMs: epochMs() };
    });
  };
}
