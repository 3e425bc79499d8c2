import { addFinalizer, hasFinalizer } from "./finalizer.ts";
import { recordNamespace } from "./namespace-record.ts";
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

type HoldDeps = Pick<ReconcileDeps, "hub" | "events"> & {
  /** Where it is installed. Absent: its target was not asked yet. */
  readonly namespace?: string;
};

/**
 * Makes sure that the hub does not let a component go without us, and that it says where it is installed: to be awaited before the first write to its target.
 * Throws `NotHeld` with the error
 * of the hub as its cause, and the reason of the signal.
 */
export async function hold(
  subject: Subject & { readonly report: StatusReport },
  { hub: client, events, namespace }: HoldDeps,
  signal: AbortSignal,
): Promise<void> {
  const { component, installation, report } = subject;
  const place = { client, ...(namespace === undefined ? {} : { namespace }) };
  const { latest } = report;
  if (!hasFinalizer(latest)) {
    // Whether the hub takes it is not known when the answer is lost; that nothing is written without the answer is.
    if (!wasWritten(subject)) installation.isUntouched = true;
    const held = await added(subject, place, signal);
    report.saw(held);
    const message = `Updated "${component.metadata.name}" finalizers`;
    // Not waited for: nobody's work depends on it, and it never rejects.
    void events.record(held, { type: "Normal", reason: "FinalizerUpdate", message }, signal);
  }
  await orNotHeld(() => recordNamespace(report, place, signal), signal);
  signal.throwIfAborted();
  installation.isUntouched = false;
}

async function added(
  { report }: { readonly report: StatusReport },
  place: Parameters<typeof addFinalizer>[1],
  signal: AbortSignal,
) {
  const held = await orNotHeld(() => addFinalizer(report.latest, place, signal), signal);
  if (held === undefined) throw new NotHeld();
  return held;
}

async function orNotHeld<T>(write: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await write();
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof Error ? new NotHeld(error) : error;
  }
}
