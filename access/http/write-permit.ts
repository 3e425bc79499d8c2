import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/**
 * Whether this process may change anything on any cluster now. Checked as late as possible: immediately before a request that changes something is sent,
 * and again before each retry.
 */
export type MayWrite = () => boolean;

/** A request that changes something was not sent, because another process may be the leader. */
export class WriteRefusedError extends Error {
  override readonly name = "WriteRefusedError";

  constructor() {
    super("Nothing may be written: this process does not hold the Lease");
  }
}

/** Throws WriteRefusedError unless a request with this method may be sent now. */
export function assertMayWrite(method: string, mayWrite: MayWrite): void {
  if (method !== "GET" && !mayWrite()) throw new WriteRefusedError();
}

/** Guards a connection, if there is a permit to check. */
export function guardSocket(raw: Socket, mayGoOn: (() => boolean) | undefined): Socket {
  if (mayGoOn === undefined) return raw;
  const socket = new GuardedSocket(raw, mayGoOn);
  return isSocket(socket) ? socket : raw;
}

// TLS accepts any stream, but the type of undici requires a socket.
function isSocket(stream: Duplex): stream is Socket {
  return stream instanceof GuardedSocket;
}

/**
 * A connection that is destroyed when bytes are about to go out and `mayGoOn` is false. Node collects HTTP/2 frames and sends them some callbacks later.
 * A process that is paused in between would send them when it wakes. Therefore this class checks again immediately before the system call.
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
