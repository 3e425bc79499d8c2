import { setImmediate } from "node:timers/promises";

import {
  canonicalJson,
  isSameJson,
  listAt,
  recordAt,
  textAt,
  textsOf,
} from "../../../api/fields.ts";
import { maxPatches } from "../../../render/patches/patches.ts";
import { namespaceFields } from "../metadata.ts";
import {
  below,
  type Check,
  elementsOf,
  entriesOf,
  type Fields,
  quoteValue,
  type StrongPart,
  workloadsOf,
} from "../rule.ts";
import {
  isHarmlessConfig,
  isHarmlessNamespaceKey,
  isHarmlessPodAnnotation,
  isHarmlessVariable,
} from "./harmless-fields.ts";
import { harmIn } from "./patch-writes.ts";

/**
 * The parts of a spec that are not stored yet and need the right `apply-cluster-scoped`: manifests, images, and whatever reaches beyond the pods of
 * Knative. Rejects with the reason of the signal. Security: T-33.
 */
export async function newStrongParts(
  spec: Fields,
  before: Fields | undefined,
  signal: AbortSignal,
): Promise<readonly StrongPart[]> {
  const stored = new Set(settingsIn(before ?? {}).map(({ value }) => canonicalJson(value)));
  return [
    ...settingsIn(spec).filter(({ value }) => !stored.has(canonicalJson(value))),
    ...(await newPatches(spec, before, signal)),
  ];
}

function settingsIn(spec: Fields): readonly StrongPart[] {
  return [
    ...["manifests", "additionalManifests"].flatMap((field) => manifestsIn(spec, field)),
    ...imagesIn(spec),
    ...workloadsIn(spec),
    ...configIn(spec),
    ...namespaceIn(spec),
  ];
}

/** What stands at a URL is not known at admission. A URL with a placeholder changes with the version. */
function manifestsIn(spec: Fields, field: string): readonly StrongPart[] {
  const list = listAt(spec, field);
  if (list.length === 0) return [];
  const version = JSON.stringify(list).includes("${VERSION}") ? spec["version"] : undefined;
  const value = [field, list, version ?? ""];
  return [{ path: below("spec", field), what: "a manifest of one's own", value }];
}

/** A patch depends on those before it, so with one that changes all of them are new. */
async function newPatches(
  spec: Fields,
  before: Fields | undefined,
  signal: AbortSignal,
): Promise<readonly StrongPart[]> {
  if (isSameJson(spec["patches"], before?.["patches"])) return [];
  const now = await patchesIn(spec, signal);
  if (now.length === 0 || before === undefined) return now;
  const stored = await patchesIn(before, signal);
  const isStored =
    now.length === stored.length &&
    now.every(({ value }, at) => isSameJson(value, stored[at]?.value));
  return isStored ? [] : now;
}

async function patchesIn(spec: Fields, signal: AbortSignal): Promise<readonly StrongPart[]> {
  const parts: StrongPart[] = [];
  // The rule `patches` refuses more of them.
  for (const [value, path] of entriesOf(spec, "patches").slice(0, maxPatches)) {
    // Lets other reviews go on.
    await setImmediate();
    signal.throwIfAborted();
    const what = harmIn(value);
    if (what !== undefined) parts.push({ path, what, value });
  }
  return parts;
}

/** An image runs with the rights of what it takes the place of. */
function imagesIn(spec: Fields): readonly StrongPart[] {
  const registry = recordAt(spec, "registry");
  const template = textAt(registry, "default") ?? "";
  return [
    ...(template === "" ? [] : [imageAt(["default"], template)]),
    ...textsOf(registry["override"])
      .filter(([, image]) => image !== "")
      .map(([name, image]) => imageAt(["override", name], image)),
  ];
}

function imageAt(place: readonly string[], image: string): StrongPart {
  const path = below("spec", "registry", ...place);
  return { path, what: "an image of one's own", value: [path, image] };
}

function workloadsIn(spec: Fields): readonly StrongPart[] {
  return workloadsOf(spec).flatMap(([{ name, hostNetwork, annotations, env }, path]) => {
    const part = (place: string, what: string, value: unknown): StrongPart => {
      return { path: place, what, value: ["workloads", name, what, value] };
    };
    const isOnHost = hostNetwork !== undefined && hostNetwork !== null && hostNetwork !== false;
    return [
      ...(isOnHost ? [part(below(path, "hostNetwork"), "hostNetwork", hostNetwork)] : []),
      ...textsOf(annotations)
        .filter(([key]) => !isHarmlessPodAnnotation(key))
        .map(([key, text]) =>
          part(below(path, "annotations", key), `the annotation ${quoteValue(key)}`, text),
        ),
      ...elementsOf(env, below(path, "env")).flatMap(([entry, where]) =>
        elementsOf(entry["envVars"], below(where, "envVars"))
          .filter(([variable]) => !isHarmlessVariable(variable["name"]))
          .map(([variable, at]) =>
            part(at, `the variable ${quoteValue(variable["name"])}`, [
              entry["container"],
              variable,
            ]),
          ),
      ),
    ];
  });
}

function configIn(spec: Fields): readonly StrongPart[] {
  return Object.entries(recordAt(spec, "config")).flatMap(([name, data]) =>
    textsOf(data)
      .filter(([key, text]) => !isHarmlessConfig(name, key, text))
      .map(([key, text]) => ({
        path: below("spec", "config", name, key),
        what: `the setting ${quoteValue(key)}`,
        value: ["config", name, key, text],
      })),
  );
}

function namespaceIn(spec: Fields): readonly StrongPart[] {
  return namespaceFields.flatMap((field) =>
    ["labels", "annotations"].flatMap((part) =>
      textsOf(recordAt(spec, field, part))
        .filter(([key]) => !isHarmlessNamespaceKey(key))
        .map(([key, text]) => ({
          path: below("spec", field, part, key),
          what: `the namespace's ${part.slice(0, -1)} ${quoteValue(key)}`,
          value: ["namespace", part, key, text],
        })),
    ),
  );
}

/** Security: T-33. */
export const manifestRight: Check = ({ username }, { mayApply, strongParts }) =>
  mayApply === false
    ? strongParts.map(({ path, what }) => ({
        path,
        message: `user ${quoteValue(username)} may not "apply-cluster-scoped", which ${what} needs`,
      }))
    : [];

/** Security: T-03. */
export const manifestRightUnknown: Check = (_subject, { mayApply, strongParts }) =>
  mayApply === "unknown"
    ? strongParts.map(({ path, what }) => ({
        path,
        message: `the SubjectAccessReview for the right that ${what} needs was not answered; try again`,
      }))
    : [];
