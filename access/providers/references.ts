import { isAlias, LineCounter, parseDocument, visit } from "yaml";

import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { fileText, followFile } from "../followed-file.ts";
import type { Log } from "../log.ts";
import type { Clock } from "../time/clock.ts";
import { costProblem } from "./provider-document.ts";
import type { ReferenceGrant, ReferencePolicy } from "./reference-policy.ts";

export interface ReferenceSettings extends Omit<ReferencePolicy, "grants"> {
  /** Path of the grants file; required in mode `Granted` and forbidden in the others. */
  readonly grantsFile?: string;
}

/** The current reference policy. */
export interface References {
  readonly policy: ReferencePolicy;
  /** False while the grants file is invalid and the last valid grants are used; undefined without a grants file. */
  readonly isValid: boolean | undefined;
  /** Calls back after each change, with the policy before it. */
  onChange(listener: (before: ReferencePolicy) => void): Disposable;
}

interface FollowDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, "info" | "warn">;
}

/**
 * Reads the reference policy and follows its grants file. When the file becomes invalid, logs a warning and keeps the last valid grants.
 * Throws `FleetError` `ConfigInvalid` for invalid settings, or for a grants file that is invalid at the start.
 */
export async function openReferences(
  { grantsFile: path, ...settings }: ReferenceSettings,
  { clock, log }: FollowDeps,
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
  references.follow(path, { clock, log });
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

  follow(path: string, { clock, log }: FollowDeps): void {
    this.#isValid = true;
    const follower = {
      clock,
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

const what = "The file of reference grants";
const keys: readonly string[] = ["fromNamespace", "toNamespace", "names"];

/** A grants file is not usable. The message is the end of a sentence and never quotes the file. */
class ContentError extends Error {}

/**
 * Loads a grants file, YAML or JSON: an object with the list `grants`. Unknown keys are errors, because such a key may be meant to restrict
 * a grant. Throws `FleetError` `ConfigInvalid`, whose message names the path and the field.
 */
export async function loadReferenceGrants(
  path: string,
  signal: AbortSignal,
): Promise<readonly ReferenceGrant[]> {
  const content = await fileText({ what, path }, signal);
  try {
    return grantsIn(content);
  } catch (error) {
    if (!(error instanceof ContentError)) throw error;
    throw new FleetError("ConfigInvalid", `${what} ${path} cannot be used: ${error.message}`);
  }
}

function grantsIn(content: string): readonly ReferenceGrant[] {
  const file = valueOf(content);
  if (!isRecord(file)) throw new ContentError("it is not an object with the key grants");
  refuseOthers(file, ["grants"], "the file");
  const { grants } = file;
  if (!Array.isArray(grants)) throw new ContentError("grants is not a list");
  return grants.map((grant, index) => grantOf(grant, `grants[${index}]`));
}

function valueOf(content: string): unknown {
  const cost = costProblem(content, "yaml");
  if (cost !== undefined) throw new ContentError(cost);
  const lineCounter = new LineCounter();
  const document = parseDocument(content, { lineCounter, logLevel: "error", merge: false });
  const [problem] = document.errors;
  if (problem !== undefined) {
    const { line, col } = lineCounter.linePos(problem.pos[0]);
    throw new ContentError(`it is not YAML at line ${line}, column ${col} (${problem.code})`);
  }
  visit(document, (_key, node) => {
    if (isAlias(node)) throw new ContentError("it holds an alias");
  });
  return document.toJS();
}

function grantOf(grant: unknown, path: string): ReferenceGrant {
  if (!isRecord(grant)) throw new ContentError(`${path} is not an object`);
  refuseOthers(grant, keys, path);
  const { fromNamespace, toNamespace, names } = grant;
  const namespaces = {
    fromNamespace: nameAt(fromNamespace, `${path}.fromNamespace`),
    toNamespace: nameAt(toNamespace, `${path}.toNamespace`),
  };
  if (!Object.hasOwn(grant, "names")) return namespaces;
  if (!Array.isArray(names) || names.length === 0) {
    throw new ContentError(`${path}.names is not a list of names; omit it to grant all names`);
  }
  return { ...namespaces, names: names.map((name, at) => nameAt(name, `${path}.names[${at}]`)) };
}

/** The name of an object or a namespace. Wildcards are errors: a grant permits only the names that it lists. */
function nameAt(value: unknown, path: string): string {
  const isName =
    typeof value === "string" &&
    value.length <= 253 &&
    /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/.test(value);
  if (!isName) throw new ContentError(`${path} is not a name`);
  return value;
}

function refuseOthers(
  record: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: string,
): void {
  const isUnknown = Object.keys(record).some((key) => !known.includes(key));
  if (isUnknown) throw new ContentError(`${path} has a key other than ${known.join(", ")}`);
}
