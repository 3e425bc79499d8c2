import { Socket } from "node:net";

import type { buildConnector } from "undici";

import { codeOf } from "../kube/api-error.ts";

/** When something began and ended, in ms of `performance.now()`. */
export interface Times {
  readonly startMs: number;
  readonly endMs: number;
}

/** How long it took to connect to a server. */
export interface ConnectTimes extends Times {
  /** When the way to the server was open and TLS began; absent when it never was. */
  readonly connectedMs?: number;
  /** Code of the error, when it failed. */
  readonly code?: string;
}

const whenOpen = Symbol("whenOpen");

/** Says that the way to the server is open, for a connector that opens it before TLS begins. */
export function tellOpen(target: object): void {
  const tell: unknown = whenOpen in target ? target[whenOpen] : undefined;
  if (typeof tell === "function") tell();
}

/** The same connector, which tells how long each connection took. */
export function timedConnector(
  connect: buildConnector.connector,
  onConnect: ((times: ConnectTimes) => void) | undefined,
): buildConnector.connector {
  if (onConnect === undefined) return connect;
  return (target, callback) => {
    const startMs = performance.now();
    let connected: { readonly connectedMs?: number } = {};
    const opened = (): void => {
      connected = { connectedMs: performance.now() };
    };
    const done: buildConnector.Callback = (...result) => {
      const [error] = result;
      const failure = error === null ? {} : { code: codeOf(error) || "Unknown" };
      onConnect({ startMs, ...connected, endMs: performance.now(), ...failure });
      return callback(...result);
    };
    // undici's connectors return the socket at once; where ours opens it before, it says when.
    const timed = { ...target, [whenOpen]: opened };
    const socket: unknown = connect(timed, done);
    if (socket instanceof Socket) socket.once("connect", opened);
  };
}
