import { expect, test, vi } from "vitest";

import type { AccessOutcome } from "../../../access/spokes/resolved-access.ts";
import { SpokeKeeper } from "../../../access/spokes/spoke-keeper.ts";
import type { SpokeConnection } from "../../../access/spokes/spokes.ts";
import { FleetError } from "../../../api/errors.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { stub, untilTheEnd } from "../loopback.ts";
import { accessTo, patience } from "./quiet-connection.ts";

/** A clock of which the test ends the three minutes. */
class GraceClock extends QuickClock {
  /** What happens when the three minutes are over. */
  readonly #ends = new Set<() => void>();

  override after(ms: number, callback: () => void): Disposable {
    if (ms !== 180_000) return super.after(ms, callback);
    this.#ends.add(callback);
    return { [Symbol.dispose]: () => this.#ends.delete(callback) };
  }

  /** What happens when three minutes that have begun are over. */
  get begun(): ReadonlySet<() => void> {
    return new Set(this.#ends);
  }

  /** Ends the three minutes that go on, of all or of those that had begun at a time. */
  passThreeMinutes(begun = this.begun): void {
    for (const end of begun) if (this.#ends.has(end)) end();
  }
}

const deps = { environment: { PATH: "/usr/bin:/bin" }, userAgent: "test" };
const invalid = new FleetError("ClusterProfileNotReady", "The cluster is not healthy");
/** Where nobody listens. */
const dead = "https://127.0.0.1:1";

async function connected(): Promise<{
  readonly clock: GraceClock;
  readonly keeper: SpokeKeeper;
  readonly connection: SpokeConnection;
  readonly server: string;
}> {
  const { server } = await stub(undefined, { answer: () => ({ body: "{}" }) });
  const clock = untilTheEnd(new GraceClock(5));
  const keeper = new SpokeKeeper(accessTo(server), { ...deps, clock }, () => undefined);
  const over = new FleetError("ClusterProviderClosed", "The test is over");
  untilTheEnd({ [Symbol.asyncDispose]: () => keeper.close(over) });
  const connection = await keeper.acquire(AbortSignal.timeout(60_000));
  return { clock, keeper, connection, server };
}

const changes: readonly (readonly [name: string, outcome: AccessOutcome])[] = [
  ["that is not healthy", { kind: "error", error: invalid }],
  ["that leads to a server that does not answer", accessTo(dead)],
];

test.each(changes)(
  "the connection of a profile %s is kept for three minutes, and then ended",
  async (_, outcome) => {
    const { clock, keeper, connection } = await connected();
    keeper.update(outcome);
    await vi.waitFor(() => expect(keeper.state.kind).toBe("failed"), patience);
    await expect(keeper.acquire(AbortSignal.timeout(60_000))).rejects.toBeInstanceOf(FleetError);
    expect(connection.signal.aborted).toBe(false);
    clock.passThreeMinutes();
    expect(keeper.state.kind).toBe("failed");
    await vi.waitFor(() => expect(connection.signal.aborted).toBe(true), patience);
  },
);

test.each(changes)(
  "the connection of a profile %s and is put right goes on",
  async (_, outcome) => {
    const { clock, keeper, connection, server } = await connected();
    keeper.update(outcome);
    await vi.waitFor(() => expect(keeper.state.kind).toBe("failed"), patience);
    keeper.update(accessTo(server));
    await vi.waitFor(() => expect(keeper.state.kind).toBe("connected"), patience);
    clock.passThreeMinutes();
    expect(await keeper.acquire(AbortSignal.timeout(60_000))).toBe(connection);
    expect(connection.signal.aborted).toBe(false);
  },
);

test.each(changes)(
  "the three minutes of the connection of a profile %s begin with its first change",
  async (_, outcome) => {
    const { clock, keeper, connection } = await connected();
    keeper.update(outcome);
    const { begun } = clock;
    // Nobody waits until one of them has failed.
    for (const port of [2, 3, 4]) {
      keeper.update(accessTo(`https://127.0.0.1:${port}`));
      keeper.update({ kind: "error", error: invalid });
    }
    clock.passThreeMinutes(begun);
    await vi.waitFor(() => expect(connection.signal.aborted).toBe(true), patience);
  },
);

test("a later change has three minutes of its own when the cluster was reached in between", async () => {
  const { clock, keeper, connection, server } = await connected();
  keeper.update(accessTo(dead));
  const { begun } = clock;
  keeper.update(accessTo(server));
  keeper.update(accessTo(dead));
  clock.passThreeMinutes(begun);
  expect(connection.signal.aborted).toBe(false);
  clock.passThreeMinutes();
  await vi.waitFor(() => expect(connection.signal.aborted).toBe(true), patience);
});
