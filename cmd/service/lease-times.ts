import { FleetError } from "../../api/errors.ts";
import type { LeaseTimes } from "../../controller/leader/lease.ts";
import type { ControllerFlags } from "./flags.ts";

type LeaseFlags = Pick<
  ControllerFlags,
  "leaderElectLeaseDuration" | "leaderElectRenewDeadline" | "leaderElectRetryPeriod"
>;

/** As in client-go: a pause is at most so many times longer than the retry period. */
const jitterFactor = 1.2;
/** A Lease of this duration without a holder means that its holder has released it. */
const releasedMs = 1_000;

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
  if (durationMs <= releasedMs) throw invalid(`${duration} has to be more than 1s`);
  if (durationMs <= renewDeadlineMs) throw invalid(`${duration} has to be more than ${deadline}`);
  if (renewDeadlineMs <= retryPeriodMs * jitterFactor)
    throw invalid(`${deadline} has to be more than ${jitterFactor} times ${period}`);
  return { durationMs, renewDeadlineMs, retryPeriodMs };
}

function invalid(text: string): FleetError {
  return new FleetError("ConfigInvalid", text);
}
