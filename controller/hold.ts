import { addFinalizer, hasFinalizer } from "./finalizer.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import type { StatusReport } from "./status-report.ts";

/** A component has no finalizer, so that nothing may be written to its target. Without a cause: it is gone or being deleted. */
export class NotHeld extends Error {
  override readonly name = "NotHeld";
  override readonly cause: Error | undefined;

  constructor(cause?: Error) {
    super("The component has no finalizer", { cause });
    this.cause = cause;
  }
}

/** Whether something was written to the target of a component before, as far as its status or this process knows. */
export function wasWritten({ component, installation }: Subject): boolean {
  const { version, manifests = [] } = component.status ?? {};
  return version !== undefined || manifests.length > 0 || installation.wasInstalled;
}

/**
 * Makes sure that the hub does not let a component go without us: to be awaited before the first write to its target. Throws `NotHeld` with the error
 * of the hub as its cause, and the reason of the signal.
 */
export async function hold(
  subject: Subject & { readonly report: StatusReport },
  { hub, events }: Pick<ReconcileDeps, "hub" | "events">,
  signal: AbortSignal,
): Promise<void> {
  const { component, installation, report } = subject;
  const { latest } = report;
  if (!hasFinalizer(latest)) {
    // Whether the hub takes it is not known when the answer is lost; that nothing is written without the answer is.
    if (!wasWritten(subject)) installation.isUntouched = true;
    const held = await added(subject, hub, signal);
    report.saw(held);
    const message = `Updated "${component.metadata.name}" finalizers`;
    // Not waited for: nobody's work depends on it, and it never rejects.
    void events.record(held, { type: "Normal", reason: "FinalizerUpdate", message }, signal);
  }
  signal.throwIfAborted();
  installation.isUntouched = false;
}

async function added(
  { report }: { readonly report: StatusReport },
  hub: ReconcileDeps["hub"],
  signal: AbortSignal,
) {
  try {
    const held = await addFinalizer(report.latest, hub, signal);
    if (held !== undefined) return held;
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof Error ? new NotHeld(error) : error;
  }
  throw new NotHeld();
}
