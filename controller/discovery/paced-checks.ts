import type { CheckEndpoint, EndpointCheck } from "../../access/profiles/check-endpoint.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { AccessCluster } from "../../api/cluster-profile.ts";
import { canonicalJson } from "../../api/fields.ts";
import type { Log } from "../log.ts";

/** How long an answer counts. */
const answeredMs = 60_000;
const failedMs = 15_000;
/** One lost packet is no outage: a server that answered is asked again before anything is said. */
const doubtedMs = 5_000;

interface KnownCheck {
  /** The address that was checked. */
  readonly of: string;
  readonly result: EndpointCheck;
  readonly dueAt: number;
  readonly isDoubted: boolean;
  /** Why the check failed, for the log; undefined: it did not. */
  readonly failure: Error | undefined;
}

interface PacedChecksOptions {
  readonly check: CheckEndpoint;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Pick<Log, "info">;
}

/** Remembers the last check of each cluster until the next one is due. A changed address is checked at once. */
export class PacedChecks {
  readonly #options: PacedChecksOptions;
  readonly #known = new Map<string, KnownCheck>();

  constructor(options: PacedChecksOptions) {
    this.#options = options;
  }

  /**
   * The result that counts now for the cluster of a profile. `told` is what the profile on the hub says of the same address, which counts as the last answer after a start. Rejects with
   * the reason of the signal.
   */
  async run(
    key: string,
    {
      cluster,
      told,
    }: { readonly cluster: AccessCluster; readonly told?: EndpointCheck | undefined },
    signal: AbortSignal,
  ): Promise<EndpointCheck> {
    const { check, clock } = this.#options;
    const of = canonicalJson(cluster);
    const known = this.#known.get(key);
    const before = known?.of === of ? known : undefined;
    if (before !== undefined && clock.now() < before.dueAt) return before.result;
    const result = await check(cluster, signal);
    const last = known === undefined ? { result: told, isDoubted: false } : before;
    const doubted = doubtedAnswer(result, last);
    const isDoubted = doubted !== undefined;
    const counts = doubted ?? result;
    const ms = isDoubted ? doubtedMs : result.kind === "answers" ? answeredMs : failedMs;
    this.#logFailure(key, result, before);
    const dueAt = clock.now() + ms * (0.9 + this.#options.random() / 5);
    this.#known.set(key, { of, result: counts, dueAt, isDoubted, failure: failureOf(result) });
    return counts;
  }

  /** The condition does not say why a server does not answer; see check-endpoint.ts. */
  #logFailure(profile: string, result: EndpointCheck, before: KnownCheck | undefined): void {
    const failure = failureOf(result);
    if (failure === undefined || failure.message === before?.failure?.message) return;
    const fields = { profile, err: failure };
    this.#options.log.info(fields, "The API server of a ClusterProfile does not answer");
  }

  /** Milliseconds until the next check of a profile. */
  untilDueMs(key: string): number {
    const dueAt = this.#known.get(key)?.dueAt ?? this.#options.clock.now() + failedMs;
    return Math.max(0, dueAt - this.#options.clock.now());
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}

/** The last answer, which still counts after one failure. */
function doubtedAnswer(
  result: EndpointCheck,
  last: { readonly result: EndpointCheck | undefined; readonly isDoubted: boolean } | undefined,
): EndpointCheck | undefined {
  if (result.kind !== "fails" || last === undefined || last.isDoubted) return undefined;
  return last.result?.kind === "answers" ? last.result : undefined;
}

function failureOf(result: EndpointCheck): Error | undefined {
  return result.kind === "fails" ? result.cause : undefined;
}
