import { type Answer, StatusError } from "../simulator/answers.ts";
import type { Random } from "./random.ts";

const requestFaults = [
  "lostBefore",
  "lostAfter",
  "half",
  "busy",
  "conflict",
  "unavailable",
  "broken",
  "slow",
] as const;

/** What goes wrong with one request. `lost…`: with its connection, before or after it has an effect; `half`: it has an effect and half an answer. */
export type Fault = (typeof requestFaults)[number];

const watchFaults = ["watchSlow", "watchHalf", "watchSilent", "watchExpired"] as const;

/** What goes wrong with something that is written on a watch: it comes late, or half before the watch breaks, or nothing comes any more, or the version is too old in its place. */
export type WatchFault = (typeof watchFaults)[number];

/** How often each fault happens, from 0 to 1. */
export type Weather = Readonly<Partial<Record<Fault | WatchFault, number>>>;

/** What goes wrong with a request in this weather. */
export function requestFault(weather: Weather, method: string, random: Random): Fault | undefined {
  const fault = drawn(requestFaults, weather, random);
  return fault === "conflict" && !["PUT", "PATCH"].includes(method) ? undefined : fault;
}

/** What goes wrong with something that is written on a watch in this weather. */
export function watchFault(weather: Weather, random: Random): WatchFault | undefined {
  return drawn(watchFaults, weather, random);
}

function drawn<Kind extends Fault | WatchFault>(
  kinds: readonly Kind[],
  weather: Weather,
  random: Random,
): Kind | undefined {
  let left = random.next();
  for (const kind of kinds) {
    left -= weather[kind] ?? 0;
    if (left < 0) return kind;
  }
  return undefined;
}

const refusals: Readonly<Partial<Record<Fault, { status: number; reason: string }>>> = {
  busy: { status: 429, reason: "TooManyRequests" },
  conflict: { status: 409, reason: "Conflict" },
  unavailable: { status: 503, reason: "ServiceUnavailable" },
  broken: { status: 500, reason: "InternalError" },
};

/** The answer in place of the right one. Overloaded servers say when to come again. */
export function refusalOf(fault: Fault | undefined, random: Random): Answer | undefined {
  const refusal = fault === undefined ? undefined : refusals[fault];
  if (refusal === undefined) return undefined;
  const { answer } = new StatusError(refusal, "as the simulation wants");
  if (![429, 503].includes(refusal.status)) return answer;
  return { ...answer, headers: { "retry-after": String(random.whole(1, 8)) } };
}
