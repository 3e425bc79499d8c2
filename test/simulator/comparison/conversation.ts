import { comparableAnswer, comparableEvents, Identities } from "./comparable.ts";

/** One request of a scenario. */
export interface Ask {
  /** Default GET. */
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  /** Of the body; default `application/json`. */
  readonly type?: string;
  readonly accept?: string;
}

/** What a server says to a request. */
export interface Reply {
  readonly status: number;
  /** The parsed JSON. */
  readonly body: unknown;
}

/** A server that is compared: a real one, or a simulated one. */
export interface ComparedServer {
  ask(ask: Ask): Promise<Reply>;
  /** Asks for a watch. Resolves when the server has ended it, to its lines. */
  watch(path: string, accept?: string): Promise<{ readonly status: number; readonly text: string }>;
}

/** One way of a scenario through one server: what was asked, and what is to be the same on another server. */
export class Conversation {
  readonly #server: ComparedServer;
  readonly #identities = new Identities();
  readonly #watches: Promise<unknown>[] = [];
  readonly transcript: unknown[] = [];

  constructor(server: ComparedServer) {
    this.#server = server;
  }

  /** Asks, and notes what has to be the same. */
  async ask(ask: Ask): Promise<Reply> {
    const reply = await this.#server.ask(ask);
    const what = `${ask.method ?? "GET"} ${withoutVersion(ask.path)}`;
    this.transcript.push({ what, ...comparableAnswer(reply, this.#identities) });
    return reply;
  }

  /** Asks until an answer fits, and notes that one: controllers need a moment. */
  async askUntil(ask: Ask, fits: (reply: Reply) => boolean): Promise<Reply> {
    const reply = await this.#until(ask, fits);
    const what = `at last ${ask.path}`;
    this.transcript.push({ what, ...comparableAnswer(reply, this.#identities) });
    return reply;
  }

  /** Waits for an answer, and notes only what is named: the rest is of controllers. */
  async look(ask: Ask, fits: (reply: Reply) => boolean, part: (reply: Reply) => unknown) {
    const reply = await this.#until(ask, fits);
    this.transcript.push({ what: `a part of ${ask.path}`, part: part(reply) });
    return reply;
  }

  /** Opens a watch, and goes on while it runs. Its events are noted at the end. */
  watch(path: string, accept?: string): void {
    const watching = this.#server.watch(path, accept);
    const noting = watching.then(({ status, text }) => {
      const what = `WATCH ${withoutVersion(path)}`;
      return { what, status, events: comparableEvents(text, this.#identities) };
    });
    this.#watches.push(noting);
  }

  /** Waits for the end of the watches. */
  async end(): Promise<void> {
    this.transcript.push(...(await Promise.all(this.#watches)));
  }

  async #until(ask: Ask, fits: (reply: Reply) => boolean): Promise<Reply> {
    const until = Date.now() + 30_000;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      const reply = await this.#server.ask(ask);
      if (fits(reply)) return reply;
      if (Date.now() > until) throw new Error(`${ask.path} never came to what is waited for`);
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      await new Promise((resolve) => void setTimeout(resolve, 100));
    }
  }
}

/** Each server counts its versions from a number of its own. */
function withoutVersion(path: string): string {
  return path.replace(/resourceVersion=\d+/, "resourceVersion");
}
