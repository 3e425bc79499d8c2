import { type FieldProblem, below, quoteValue } from "../../api/field-path.ts";
import { recordAt } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { type Config, configEntryNameOf, isConfigMap } from "../features/named-objects.ts";

const exampleKey = "_example";

/**
 * The keys of `spec.config` that a ConfigMap of the release does not document. Knative lists the keys of a ConfigMap in its `_example`; a ConfigMap without one may
 * have any keys.
 */
export function unknownConfigKeys(
  config: Config,
  released: readonly Manifest[],
): readonly FieldProblem[] {
  return [...configMapsIn(released)].flatMap(([name, data]) => {
    const entry = configEntryNameOf(config, name);
    const example = data[exampleKey];
    if (entry === undefined || typeof example !== "string") return [];
    const known = knownKeys(data, example);
    return Object.keys(recordAt(config, entry)).flatMap((key) => {
      const message = known(key);
      if (message === undefined) return [];
      return [{ path: below("spec", "config", entry, key), message: `${name} ${message}` }];
    });
  });
}

/** The data of each ConfigMap by its name. The first of several counts, as when it is rendered. */
function configMapsIn(released: readonly Manifest[]): ReadonlyMap<string, object & Data> {
  const maps = released.filter(isConfigMap).toReversed();
  return new Map(maps.map((one) => [one.metadata.name ?? "", recordAt(one, "data")]));
}

type Data = Readonly<Record<string, unknown>>;

const exampleLine = /^[ \t]*(?:#[ \t]*)?([A-Za-z0-9][\w.-]*):(?=\s|$)/gm;
const exampleField = /^([A-Za-z0-9][\w.-]*):(?=\s|$)/gm;

/** Beginnings of keys that Knative reads, and no example has: the Leases of single controllers, in config-leader-election. */
const undocumentedFamilies = ["map-lease-prefix"];

/** What is wrong with a key; undefined for one that the ConfigMap may have. */
function knownKeys(data: Data, example: string): (key: string) => string | undefined {
  // Some keys are documented in comments. Words of sentences do no harm here.
  const keys = new Set([...Object.keys(data), ...matchesOf(exampleLine, example)]);
  const fields = matchesOf(exampleField, example);
  // Keys such as domains, which the user chooses.
  const isOpen = fields.length > 0 && fields.every((field) => field.includes("."));
  const families = new Set([...undocumentedFamilies, ...[...keys].flatMap(familyOf)]);
  const byLetters = new Map([...keys].map((key) => [lettersOf(key), key]));
  return (key) => {
    if (isOpen || keys.has(key)) return undefined;
    const meant = byLetters.get(lettersOf(key));
    const isOfFamily = familyOf(key).some((family) => families.has(family));
    if (isOfFamily && meant === undefined) return undefined;
    const hint = meant === undefined ? "" : `; did you mean ${quoteValue(meant)}`;
    return `of the release documents no such key, so that Knative most likely ignores it${hint}`;
  };
}

function matchesOf(pattern: RegExp, text: string): readonly string[] {
  return Array.from(text.matchAll(pattern), ([, key = ""]) => key);
}

/** `loglevel` of `loglevel.activator`: such keys are one for each thing of a kind. */
function familyOf(key: string): readonly string[] {
  const dot = key.indexOf(".");
  return dot < 0 ? [] : [key.slice(0, dot)];
}

function lettersOf(key: string): string {
  return key.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}
