import { renewedAnnotation } from "../../../../api/cluster-profile.ts";
import { isSameJson } from "../../../../api/fields.ts";
import type { KubeObject, Manifest } from "../../../../api/kubernetes.ts";
import { UsageError } from "../../errors.ts";
import { limitOf, refOf, type Target, write } from "./write-object.ts";

/** A patch of the ClusterProfile. */
interface Patch {
  readonly metadata: Readonly<
    Record<"labels" | "annotations", Readonly<Record<string, string | null>>>
  >;
  readonly [field: string]: unknown;
}

/**
 * Writes the ClusterProfile. Another register may have written it after it was read: where it has all that this one wants, it is as good as the one that was read. To fail there would
 * leave the hub with the token of this run, which the other one knows nothing of.
 */
export async function writeProfile(
  profile: Manifest,
  before: Parameters<typeof write>[1] & { readonly patch: Patch },
  target: Target,
): Promise<KubeObject> {
  try {
    return await write(profile, before, target);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const now = await target.client.get(refOf(profile), {}, limitOf(target));
    if (now === undefined || !hasAll(now, before.patch)) throw error;
    return await write(profile, { ...before, present: now }, target);
  }
}

/** Whether an object has what a patch would write, besides the time of the renewal. */
function hasAll({ metadata, spec }: KubeObject, patch: Patch): boolean {
  const { labels, annotations } = patch.metadata;
  const { [renewedAnnotation]: _at, ...told } = annotations;
  return (
    isSameJson(spec, patch["spec"]) &&
    [[metadata.labels, labels] as const, [metadata.annotations, told] as const].every(
      ([has = {}, wanted]) =>
        Object.entries(wanted).every(([key, value]) => (has[key] ?? null) === value),
    )
  );
}
