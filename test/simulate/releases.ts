import type { ComponentKind } from "../../api/component.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { BoundedCache, type Rendered, type Releases } from "../../render/release/releases.ts";
import { valueAt } from "../fleet/json-record.ts";

/** So many objects of each kind are enough: what counts is the way that an object goes, and each run installs many releases. */
const eachKind = 2;
const rendersRemembered = 100;
const kinds: readonly ComponentKind[] = ["KnativeServing", "KnativeEventing"];

/** Reads the sample release once, a part of each kind of object. */
export async function readThinParts(): Promise<ThinReleases> {
  const sample = await openReleases(sampleDirOf());
  const versions = new Map(kinds.map((kind) => [kind, sample.versionsOf(kind)]));
  const parts = [
    ...sample.versionsOf("KnativeServing").map((version) => `knative-serving/${version}`),
    ...sample.versionsOf("KnativeEventing").map((version) => `knative-eventing/${version}`),
    ...["1.21", "1.22", "1.23"].map((minor) => `ingress/${minor}/kourier`),
  ];
  const loaded = new Map<string, readonly Manifest[]>();
  // One after the other: the machine's files come in an order of their own.
  // oxlint-disable-next-line no-await-in-loop
  for (const part of parts) loaded.set(part, thinned(await sample.load(part)));
  return new ThinReleases(sample.dir, versions, loaded);
}

function thinned(manifests: readonly Manifest[]): readonly Manifest[] {
  const kept = new Map<string, number>();
  const used = new Set(manifests.map(({ kind }) => kind));
  return manifests.filter(({ kind, ...content }) => {
    // An object needs the definition of its kind.
    if (used.has(String(valueAt(content, "spec", "names", "kind")))) return true;
    const count = (kept.get(kind) ?? 0) + 1;
    kept.set(kind, count);
    return count <= eachKind;
  });
}

/** The release files of all simulations of this process. */
export class ThinReleases {
  readonly #dir: string;
  readonly #versions: ReadonlyMap<ComponentKind, readonly string[]>;
  readonly #parts: ReadonlyMap<string, readonly Manifest[]>;

  constructor(
    dir: string,
    versions: ReadonlyMap<ComponentKind, readonly string[]>,
    parts: ReadonlyMap<string, readonly Manifest[]>,
  ) {
    this.#dir = dir;
    this.#versions = versions;
    this.#parts = parts;
  }

  versionsOf(kind: ComponentKind): readonly string[] {
    return this.#versions.get(kind) ?? [];
  }

  /** The releases of one replica, which has rendered nothing yet: what one has remembered must not change how another one runs. */
  open(): Releases {
    return {
      dir: this.#dir,
      versionsOf: (kind) => this.versionsOf(kind),
      load: (part) => Promise.resolve(this.#parts.get(part) ?? []),
      rendered: new BoundedCache<Rendered>(rendersRemembered),
    };
  }
}
