import type { ProviderFile } from "../../access/providers/provider-config.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { isSameJson, recordAt, textAt } from "../../api/fields.ts";
import { describe } from "../../api/kubernetes.ts";
import type { Review } from "../reply.ts";
import { providerFor } from "../rules/reference.ts";
import { type StoredComponent, below, type Fields } from "../rules/rule.ts";
import type { HubFacts } from "./hub-facts.ts";
import { binaryProvidersIn, providerDataOf, providerTextsIn } from "./provider-maps.ts";
import {
  createProviderReader,
  type ProviderReader,
  type ProviderReading,
} from "./provider-reader.ts";
import type { AdmissionRequest, Violation } from "./review.ts";

export interface ProviderFileReviewDeps {
  readonly facts: Pick<HubFacts, "profile" | "components" | "providerFiles">;
  /** Folders that plugins must be in; absent or empty: all folders. */
  readonly pluginRoots?: readonly string[];
  /** A ConfigMap that is a provider file without the label. */
  readonly providerFile?: string;
}

const maxComponents = 200;
const maxWarned = 8;

/**
 * Reviews ConfigMaps that hold provider files. Refuses what the controller could not use, or would understand otherwise than it is written, with its
 * position and never with its text (T-25 to T-27). Removing a provider that a component needs is a warning. A deletion is never refused.
 */
export function providerFileReview({
  facts,
  pluginRoots = [],
  providerFile,
}: ProviderFileReviewDeps): Review {
  const read = createProviderReader(pluginRoots);
  return async (request, signal) => {
    const change = changeIn(request, providerFile);
    if (change === undefined) return { violations: [], warnings: [] };
    const readings = await readAll(change.data, read, signal);
    const violations = [
      ...change.binary.map((key) => violation(below("binaryData", key), textOnly)),
      ...readings.flatMap(({ path, reading }) =>
        reading.problems.map((message) => violation(path, message)),
      ),
    ];
    const warnings = readings.flatMap(({ path, reading }) =>
      reading.warnings.map((message) => `${path}: ${message}`),
    );
    // A refused change removes nothing.
    if (violations.length > 0) return { violations, warnings };
    const files = filesOf(readings);
    const old = filesOf(await readAll(change.oldData, read, signal));
    const missed = await lostProviderWarnings({ ...change, files, old }, facts, signal).catch(
      () => [],
    );
    return { violations, warnings: [...missed, ...warnings, ...unreadWarnings(change.data)] };
  };
}

const textOnly = "a provider file must stand in data, as text";

function violation(path: string, message: string): Violation {
  return { rule: "provider-file", path, message, code: 422 };
}

interface Change {
  readonly name: string;
  /** Keys of binary data that would be read as provider files. */
  readonly binary: readonly string[];
  /** The data that will be stored; empty for a deletion. */
  readonly data: Fields;
  readonly oldData: Fields;
}

/** How provider files change; undefined when they do not. */
function changeIn(request: AdmissionRequest, providerFile: string | undefined): Change | undefined {
  const { operation, object, oldObject } = request;
  if (!isOfConfigMap(request)) return undefined;
  const now = operation === "DELETE" ? undefined : object;
  const data = providerDataOf(now, providerFile);
  const oldData = providerDataOf(oldObject, providerFile);
  if (data === undefined && oldData === undefined) return undefined;
  const isSame = isSameJson(data, oldData) && isSameBinary(now, oldObject);
  if (isSame) return undefined;
  const binary = data === undefined ? [] : binaryProvidersIn(now);
  return { name: nameOf(request), binary, data: data ?? {}, oldData: oldData ?? {} };
}

function isOfConfigMap({ kind, subResource }: AdmissionRequest): boolean {
  return kind.group === "" && kind.kind === "ConfigMap" && subResource === undefined;
}

function isSameBinary(now: unknown, old: unknown): boolean {
  return isSameJson(recordAt(now, "binaryData"), recordAt(old, "binaryData"));
}

function nameOf({ name, object, oldObject }: AdmissionRequest): string {
  return name ?? textAt(recordAt(object ?? oldObject, "metadata"), "name") ?? "";
}

interface Read {
  readonly path: string;
  readonly reading: ProviderReading;
}

async function readAll(
  data: Fields,
  read: ProviderReader,
  signal: AbortSignal,
): Promise<readonly Read[]> {
  const texts = providerTextsIn(data);
  return Promise.all(
    texts.map(async (source) => ({
      path: below("data", source.key),
      reading: await read(source, signal),
    })),
  );
}

function filesOf(readings: readonly Read[]): readonly ProviderFile[] {
  return readings.flatMap(({ reading }) => reading.file ?? []);
}

/** Warnings about data that are no provider file. */
function unreadWarnings(data: Fields): readonly string[] {
  const keys = new Set(providerTextsIn(data).map(({ key }) => key));
  return Object.keys(data).flatMap((key) =>
    keys.has(key)
      ? []
      : [
          `${below("data", key)}: is no provider file: its name ends in none of .json, .yaml and .yml`,
        ],
  );
}

interface Later extends Change {
  readonly files: readonly ProviderFile[];
  readonly old: readonly ProviderFile[];
}

/** Warnings about components that have a provider now and would have none afterwards. */
async function lostProviderWarnings(
  { name, files, old }: Later,
  facts: ProviderFileReviewDeps["facts"],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const stored = await facts.providerFiles(signal);
  const others = stored.filter(({ map }) => map !== name).map(({ file }) => file);
  const [before, after] = [
    [...others, ...old],
    [...others, ...files],
  ];
  const kinds = await Promise.all([
    facts.components("KnativeServing", signal),
    facts.components("KnativeEventing", signal),
  ]);
  const remote = kinds
    .flat()
    .filter(({ ref }) => ref !== undefined)
    .slice(0, maxComponents);
  const missing = await Promise.all(
    remote.map(async (component) => {
      const profile = await profileOf(component, facts, signal);
      const isServed = (all: readonly ProviderFile[]): boolean =>
        all.some((file) => serves(file, profile));
      return isServed(before) && !isServed(after) ? [component] : [];
    }),
  );
  const all = missing.flat();
  const lines = all
    .slice(0, maxWarned)
    .map(
      (one) =>
        `data: ${describe(one)} needs a provider that is taken away here: its cluster cannot be reached afterwards`,
    );
  const more = all.length - lines.length;
  return more === 0 ? lines : [...lines, `data: and so do ${more} more components`];
}

async function profileOf(
  { ref }: StoredComponent,
  facts: ProviderFileReviewDeps["facts"],
  signal: AbortSignal,
): Promise<ClusterProfile | undefined> {
  return ref === undefined ? undefined : facts.profile(ref, signal).catch(() => undefined);
}

/** Whether a file has a provider for a profile; for an unknown profile, any provider. */
function serves(file: ProviderFile, profile: ClusterProfile | undefined): boolean {
  if (profile === undefined) return file.providers.some(({ exec }) => exec !== undefined);
  return !(providerFor(profile, file) instanceof FleetError);
}
