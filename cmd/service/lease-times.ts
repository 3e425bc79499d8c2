import { Option } from "commander";

import { FleetError } from "../../api/errors.ts";
import { longestDurationMs } from "../../api/shards.ts";
import {
  defaultLeaseTimes,
  type LeaseTimes,
  releasedSeconds,
} from "../../controller/leader/lease.ts";
import { durationOf } from "./flag-values.ts";

/** Flags for the times of the Leases, in ms. `leaseTimesOf` checks them together. */
export interface LeaseFlags {
  readonly leaderElectLeaseDuration: number;
  readonly leaderElectRenewDeadline: number;
  readonly leaderElectRetryPeriod: number;
}

/** As in client-go: a pause is at most so many times longer than the retry period. */
const jitterFactor = 1.2;

/** The flags of `LeaseFlags`, for the parser. */
export function leaseOptions(): readonly Option[] {
  return [
    new Option(
      "--leader-elect-lease-duration <duration>",
      "how long other replicas leave a Lease alone that is not renewed; longer than the renew deadline",
    )
      .argParser(durationOf)
      .default(defaultLeaseTimes.durationMs, "15s"),
    new Option(
      "--leader-elect-renew-deadline <duration>",
      "how long a replica works without a renewal of its Lease; more than 1.2 times the retry period",
    )
      .argParser(durationOf)
      .default(defaultLeaseTimes.renewDeadlineMs, "10s"),
    new Option(
      "--leader-elect-retry-period <duration>",
      "pace at which a Lease is renewed or tried",
    )
      .argParser(durationOf)
      .default(defaultLeaseTimes.retryPeriodMs, "2s"),
  ];
}

/** The times of the Leases. Throws FleetError `ConfigInvalid` for times by which two replicas could work at once, or one could not renew in time. */
export function leaseTimesOf(flags: LeaseFlags): LeaseTimes {
  const {
    leaderElectLeaseDuration: durationMs,
    leaderElectRenewDeadline: renewDeadlineMs,
    leaderElectRetryPeriod: retryPeriodMs,
  } = flags;
  const [duration, deadline, period] = [
    `--leader-elect-lease-duration=${durationMs / 1_000}s`,
    `--leader-elect-renew-deadline=${renewDeadlineMs / 1_000}s`,
    `--leader-elect-retry-period=${retryPeriodMs / 1_000}s`,
  ];
  if (retryPeriodMs <= 0) throw invalid(`${period} has to be more than 0s`);
  // Such a Lease would look as if its holder had released it.
  if (durationMs <= releasedSeconds * 1_000)
    throw invalid(`${duration} has to be more than ${releasedSeconds}s`);
  // Others would believe less, and work while this replica still does.
  if (durationMs > longestDurationMs)
    throw invalid(`${duration} may be ${longestDurationMs / 1_000}s at most`);
  if (durationMs <= renewDeadlineMs) throw invalid(`${duration} has to be more than ${deadline}`);
  if (renewDeadlineMs <= retryPeriodMs * jitterFactor)
    throw invalid(`${deadline} has to be more than ${jitterFactor} times ${period}`);
  return { durationMs, renewDeadlineMs, retryPeriodMs };
}

function invalid(text: string): FleetError {
  return new FleetError("ConfigInvalid", text);
}
