import type { Socket } from "node:net";

/**
 * The connections to the page. Every program of this computer can open them. When there are too many, the oldest goes that has not shown the secret, so that
 * whoever has it finds a place, and keeps it.
 */
export class Places {
  readonly #most: number;
  readonly #taken = new Set<Socket>();
  readonly #strangers = new Set<Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a connection that was just opened. */
  take(socket: Socket): void {
    this.#taken.add(socket);
    this.#strangers.add(socket);
    socket.once("close", () => this.#leave(socket));
    if (this.#taken.size <= this.#most) return;
    const [oldest = socket] = this.#strangers;
    this.#leave(oldest);
    oldest.destroy();
  }

  /** Keeps the place of a connection that has shown the secret. */
  keep(socket: Socket): void {
    this.#strangers.delete(socket);
  }

  #leave(socket: Socket): void {
    this.#taken.delete(socket);
    this.#strangers.delete(socket);
  }
}
