import { once } from "node:events";
import { connect, type LookupFunction, type Socket } from "node:net";
import { Duplex } from "node:stream";

import { WriteRefusedError } from "./write-permit.ts";

export interface OpenOptions {
  readonly connectTimeoutMs: number;
  readonly signal: AbortSignal;
  readonly guard?: { readonly lookup: LookupFunction };
}

/** Opens a TCP connection; rejects with Node's error. */
export async function openSocket(
  place: { readonly host: string; readonly port: number },
  { connectTimeoutMs, signal, guard }: OpenOptions,
): Promise<Socket> {
  const lookup = guard === undefined ? {} : { lookup: guard.lookup };
  const socket = connect({ ...place, ...lookup, noDelay: true });
  const tooLate = Object.assign(new Error("Connect timeout"), { code: "UND_ERR_CONNECT_TIMEOUT" });
  const timer = setTimeout(() => socket.destroy(tooLate), connectTimeoutMs);
  try {
    await once(socket, "connect", { signal });
    return socket.setKeepAlive(true, 30_000);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** The connection, guarded if there is something to ask. */
export function guarded(raw: Socket, mayGoOn: (() => boolean) | undefined): Socket {
  if (mayGoOn === undefined) return raw;
  const socket = new GuardedSocket(raw, mayGoOn);
  return isSocket(socket) ? socket : raw;
}

// TLS takes any stream, but undici's type asks for a socket.
function isSocket(stream: Duplex): stream is Socket {
  return stream instanceof GuardedSocket;
}

/**
 * A connection that is destroyed when bytes are about to go out and `mayGoOn` says no. Node collects HTTP/2 frames and sends them some
 * callbacks later; when the process is paused in between, what was let through would go out when it wakes. This looks again
 * immediately before the system call.
 */
class GuardedSocket extends Duplex {
  readonly #raw: Socket;
  readonly #mayGoOn: () => boolean;

  constructor(raw: Socket, mayGoOn: () => boolean) {
    super({ allowHalfOpen: raw.allowHalfOpen });
    this.#raw = raw;
    this.#mayGoOn = mayGoOn;
    raw.on("data", (chunk) => {
      if (!this.push(chunk)) raw.pause();
    });
    raw.on("end", () => this.push(null));
    raw.on("error", (error) => this.destroy(error));
    raw.on("close", () => this.destroy());
  }

  override _read(): void {
    this.#raw.resume();
  }

  override _write(
    chunk: Buffer,
    encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    if (this.#mayGoOn()) this.#raw.write(chunk, encoding, done);
    else this.#refuse(done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer; readonly encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    if (!this.#mayGoOn()) {
      this.#refuse(done);
      return;
    }
    this.#raw.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#raw.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#raw.destroy();
    done(error);
  }

  #refuse(done: (error?: Error | null) => void): void {
    this.#raw.destroy();
    done(new WriteRefusedError());
  }
}
