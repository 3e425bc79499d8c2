import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import {
  profileManifest,
  type ProfileSource,
  profileStatusManifest,
} from "../../access/profiles/profile-objects.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import {
  canonicalJson,
  isContained,
  isRecord,
  isSameJson,
  listAt,
  recordAt,
} from "../../api/fields.ts";
import { nameId } from "../../api/keys.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";

/** The field manager of everything that discovery writes. */
const fieldManager = "knfleet-discovery";

interface ProfileWriterOptions {
  readonly hub: Pick<KubeClient, "apply">;
  readonly now: () => Date;
  /** Called with each profile as the hub has it after a write. */
  readonly onWritten: (profile: KubeObject) => void;
}

/** Writes ClusterProfiles by server-side apply, and only what differs from the hub. */
export class ProfileWriter {
  readonly #options: ProfileWriterOptions;
  /** What this process applied last, by the key of the profile. Server-side apply also removes what is left out, which a comparison with the hub does not show. */
  readonly #applied = new Map<string, { object?: string; status?: string }>();

  constructor(options: ProfileWriterOptions) {
    this.#options = options;
  }

  /** Writes a profile and its status. Returns whether the status changed. Throws as the client does. */
  async write(
    source: ProfileSource,
    present: ClusterProfile | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const manifest = profileManifest(source);
    const applied = this.#appliedTo(manifest);
    const text = canonicalJson(manifest);
    if (present === undefined || applied.object !== text || !hasObject(present, manifest)) {
      this.#options.onWritten(await this.#apply(manifest, {}, signal));
      applied.object = text;
    }
    const status = profileStatusManifest(source, present, this.#options.now());
    return await this.writeStatus(status, present, signal);
  }

  /** Writes the status of a profile. Returns whether it changed. Throws as the client does. */
  async writeStatus(
    manifest: Manifest,
    present: ClusterProfile | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const applied = this.#appliedTo(manifest);
    const text = canonicalJson(manifest);
    const isSame = present !== undefined && hasStatus(present, manifest);
    if (isSame && applied.status === text) return false;
    const subresource = { subresource: "status" } as const;
    this.#options.onWritten(await this.#apply(manifest, subresource, signal));
    applied.status = text;
    return !isSame;
  }

  forget(key: string): void {
    this.#applied.delete(key);
  }

  #appliedTo({ metadata }: Manifest): { object?: string; status?: string } {
    const { namespace, name = "" } = metadata;
    const key = nameId({ namespace, name });
    const known = this.#applied.get(key) ?? {};
    this.#applied.set(key, known);
    return known;
  }

  #apply(
    manifest: Manifest,
    options: { readonly subresource?: "status" },
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const forced = { ...options, fieldManager, force: true };
    return this.#options.hub.apply(profileRef(manifest), manifest, forced, signal);
  }
}

/** Names a ClusterProfile for a request. */
export function profileRef({
  apiVersion,
  metadata,
}: Pick<Manifest, "apiVersion" | "metadata">): ObjectRef {
  const { namespace = "", name = "" } = metadata;
  return { resource: knownResource(apiVersion, "ClusterProfile"), namespace, name };
}

/** Whether a profile has all labels, annotations and the spec of a manifest. */
function hasObject(present: ClusterProfile, { metadata, spec }: Manifest): boolean {
  const { labels = {}, annotations = {} } = present.metadata;
  return (
    isContained(metadata.labels ?? {}, labels) &&
    isContained(metadata.annotations ?? {}, annotations) &&
    isSameJson(present.spec, spec)
  );
}

/** Whether a profile has all of a status. Of other managers it may have more. */
function hasStatus(present: ClusterProfile, manifest: Manifest): boolean {
  const [live, desired] = [recordAt(present, "status"), recordAt(manifest, "status")];
  const { conditions: _, ...rest } = desired;
  const hasConditions = listAt(desired, "conditions")
    .filter(isRecord)
    .every((one) => {
      const same = present.status?.conditions?.find(({ type }) => type === one["type"]);
      return isSameJson(same, one);
    });
  const listed = (key: string): boolean =>
    listAt(desired, key).every((one) => listAt(live, key).some((each) => isSameJson(each, one)));
  return (
    hasConditions &&
    Object.entries(rest).every(([key, value]) =>
      Array.isArray(value) ? listed(key) : isSameJson(live[key], value),
    )
  );
}
