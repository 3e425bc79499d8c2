import { type Clock, delay } from "../time/clock.ts";
import { Pace } from "../time/pace.ts";
import type { Requester } from "./request.ts";

/** What one spoke may cost, over all its connections. */
export interface SpokePace {
  readonly requests: Pace;
  /** Events of watches. A long one counts several times. */
  readonly events: Pace;
}

/**
 * The pace of a new spoke: a small part of a core for one that has something new with each answer, and events without end, because forty of them must leave time for the others. An
 * installation of both components takes some 700 requests, and its first lists some 500 events.
 */
export function newSpokePace(): SpokePace {
  return {
    requests: new Pace({ burst: 1_500, perSecond: 80 }),
    events: new Pace({ burst: 1_500, perSecond: 60 }),
  };
}

/** Sends requests and reads events at a pace. Questions whether the server answers are sent at once. */
export function withPace(
  inner: Requester,
  clock: Clock,
  { requests, events }: SpokePace,
): Requester {
  const rest = async (pace: Pace, work: number, signal: AbortSignal): Promise<void> => {
    const waitMs = pace.take(clock.now(), work);
    if (waitMs > 0) await delay(clock, waitMs, signal);
  };
  return {
    server: inner.server,
    send: async (request, signal) => {
      if (request.isQuestion !== true) await rest(requests, 1, signal);
      return inner.send(request, signal);
    },
    stream: async (request, silenceMs, signal) => {
      await rest(requests, 1, signal);
      const answer = await inner.stream(request, silenceMs, signal);
      return { ...answer, rest: (work) => rest(events, work, signal) };
    },
  };
}
