import { FleetError } from "../../api/errors.ts";
import { followFile } from "../followed-file.ts";
import type { Log } from "../log.ts";
import { loadReferenceGrants } from "./reference-grants.ts";
import type { ReferenceGrant, ReferencePolicy } from "./reference-policy.ts";

export interface ReferenceSettings extends Omit<ReferencePolicy, "grants"> {
  /** Path of the file of grants; exactly in mode `Granted`. */
  readonly grantsFile?: string;
}

/** Who may use which ClusterProfile, as it is now. */
export interface References {
  readonly policy: ReferencePolicy;
  /** Whether the file of grants that is there now can be used; undefined: there is none. */
  readonly isValid: boolean | undefined;
  /** Calls back after every change, with what was permitted before. */
  onChange(listener: (before: ReferencePolicy) => void): Disposable;
}

/**
 * Reads who may use which ClusterProfile and follows the file of grants; a new content that cannot be used leaves the last good one in use,
 * with a warning. Throws `FleetError` `ConfigInvalid` for settings or a file that cannot be used.
 */
export async function openReferences(
  { grantsFile: path, ...settings }: ReferenceSettings,
  log: Pick<Log, "info" | "warn">,
  signal: AbortSignal,
): Promise<References & Disposable> {
  const isGranted = settings.mode === "Granted";
  if (isGranted !== (path !== undefined)) {
    const message = isGranted
      ? "--reference-mode=Granted needs --reference-grants"
      : "--reference-grants has no effect without --reference-mode=Granted";
    throw new FleetError("ConfigInvalid", message);
  }
  if (path === undefined) return new FollowedReferences({ ...settings, grants: [] });
  const grants = await loadReferenceGrants(path, signal);
  const references = new FollowedReferences({ ...settings, grants });
  references.follow(path, log);
  return references;
}

class FollowedReferences implements References, Disposable {
  readonly #listeners = new Set<(before: ReferencePolicy) => void>();
  readonly #stop = new AbortController();
  #policy: ReferencePolicy;
  #isValid: boolean | undefined;

  constructor(policy: ReferencePolicy) {
    this.#policy = policy;
  }

  get isValid(): boolean | undefined {
    return this.#isValid;
  }

  get policy(): ReferencePolicy {
    return this.#policy;
  }

  onChange(listener: (before: ReferencePolicy) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  follow(path: string, log: Pick<Log, "info" | "warn">): void {
    this.#isValid = true;
    const follower = {
      load: (signal: AbortSignal) => loadReferenceGrants(path, signal),
      known: this.#policy.grants,
      onChange: (grants: readonly ReferenceGrant[]) => {
        log.info({ grants: grants.length }, "Loaded the reference grants");
        this.#take(grants);
      },
      onValid: () => {
        this.#isValid = true;
      },
      onInvalid: (error: unknown) => {
        this.#isValid = false;
        const { message } = error instanceof Error ? error : { message: "unknown" };
        log.warn({ error: message }, "Kept the last good reference grants");
      },
    };
    // Ends when this is disposed.
    void followFile(path, follower, this.#stop.signal);
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
    this.#listeners.clear();
  }

  #take(grants: readonly ReferenceGrant[]): void {
    const before = this.#policy;
    this.#policy = { ...before, grants };
    for (const listener of this.#listeners) listener(before);
  }
}
