import { canonicalJson } from "../../api/fields.ts";
import { type FleetSet, fleetSetKinds, type SetOverride } from "../../api/fleet-set.ts";
import { noDigest, renderedDigest } from "../../render/content.ts";
import { BoundedCache, type Releases } from "../../render/release/releases.ts";
import type { RenderOptions } from "../../render/render.ts";
import { contentOf } from "../../sets/content.ts";
import { DesiredSpecs, mergedSpecOf, shortHashOf } from "../../sets/desired-spec.ts";
import { fillValues } from "../../sets/values.ts";

const remembered = 256;
// Their pairs are 28 renderings.
const pairedOverrides = 8;
// Valid as a name, as the value of a label, and as part of an image.
const standInValue = "cluster-1";

/** Computes the digests that revisions promise. The release files of a process never change, so that each spec is rendered once. */
export class SetDigests {
  readonly #releases: Releases;
  readonly #environment: RenderOptions["environment"];
  readonly #known = new BoundedCache<string | undefined>(remembered);

  constructor(releases: Releases, environment: RenderOptions["environment"]) {
    this.#releases = releases;
    this.#environment = environment;
  }

  /**
   * Digest of the rendering of a set: of its template, of the template with each override alone, and with each two of the first eight overrides. Two
   * suffice: one override chooses the version, and the other the installed parts. The digest does not depend on the selected clusters or their
   * values. Undefined when nothing can be rendered.
   */
  of(set: FleetSet): Promise<string | undefined> {
    const { kind, spec } = set;
    const key = canonicalJson([kind, spec.template.spec ?? {}, spec.overrides ?? []]);
    return this.#known.get(key, () => this.#digestOf(set));
  }

  async #digestOf(set: FleetSet): Promise<string | undefined> {
    const { component: kind } = fleetSetKinds[set.kind];
    const content = contentOf(set, { available: this.#releases.versionsOf(kind) });
    const { template, overrides = [] } = content;
    const specs = new DesiredSpecs(content);
    const digests: string[] = [];
    for (const chosen of combinationsOf(overrides)) {
      const merged = mergedSpecOf(template, chosen);
      const { filled } = fillValues(merged, (_what, standIn) => standIn ?? standInValue);
      const spec = specs.withExactVersion(Object(filled));
      // oxlint-disable-next-line no-await-in-loop -- other work goes on between two renderings
      digests.push(await renderedDigest({ kind, spec }, this.#releases, this.#environment));
    }
    return digests.every((one) => one === noDigest) ? undefined : shortHashOf(digests);
  }
}

function combinationsOf(overrides: readonly SetOverride[]): readonly (readonly SetOverride[])[] {
  const first = overrides.slice(0, pairedOverrides);
  const pairs = first.flatMap((one, at) => first.slice(at + 1).map((other) => [one, other]));
  return [[], ...overrides.map((one) => [one]), ...pairs];
}
