import { type ComponentKind, withoutV } from "../api/component.ts";
import { isSameJson } from "../api/fields.ts";
import { type FleetSet, fleetSetKinds } from "../api/fleet-set.ts";
import { targetVersion } from "../render/release/version.ts";
import type { RevisionContent } from "./desired-spec.ts";
import type { Revision, SetFacts } from "./facts.ts";

/** The present content of a set: its template and overrides, the exact versions that the release folder has for them, and a digest of the rendering. Pure. */
export function contentOf(
  set: FleetSet,
  { available = [], digest }: Pick<SetFacts, "available" | "digest">,
): RevisionContent {
  const { template, overrides } = set.spec;
  const content = {
    template,
    ...(overrides === undefined ? {} : { overrides }),
    ...(digest === undefined ? {} : { digest }),
  };
  if (available.length === 0) return content;
  const { component } = fleetSetKinds[set.kind];
  const versions = Object.fromEntries(
    wantedVersions(content).flatMap((wanted) => {
      const exact = targetVersion(wanted, available, component);
      return exact === withoutV(wanted) ? [] : [[wanted, exact] as const];
    }),
  );
  return Object.keys(versions).length === 0 ? content : { ...content, versions };
}

/** The texts of `version` in a revision, each once; empty where none is named. */
function wantedVersions({ template, overrides = [] }: RevisionContent): readonly string[] {
  const named = [template.spec?.version ?? ""];
  for (const { patch } of overrides) {
    const version = patch["version"];
    if (version === null) named.push("");
    else if (typeof version === "string") named.push(version);
  }
  return [...new Set(named)];
}

/** The content of a revision with its exact versions in the template and the overrides. A set with these versions renders the revision again. */
export function pinnedContent({ template, overrides, versions }: RevisionContent): RevisionContent {
  if (versions === undefined)
    return { template, ...(overrides === undefined ? {} : { overrides }) };
  const exact = versions[template.spec?.version ?? ""];
  const pinned = exact === undefined ? template : withVersion(template, exact);
  if (overrides === undefined) return { template: pinned };
  const patched = overrides.map((one) => {
    const { version } = one.patch;
    const text = version === null ? "" : version;
    const known = typeof text === "string" ? versions[text] : undefined;
    return known === undefined ? one : { ...one, patch: { ...one.patch, version: known } };
  });
  return { template: pinned, overrides: patched };
}

function withVersion(
  template: RevisionContent["template"],
  version: string,
): RevisionContent["template"] {
  return { ...template, spec: { ...template.spec, version } };
}

/** Whether two revisions come from equal templates and overrides. Versions do not matter. */
export function isSameWish(one: RevisionContent, other: RevisionContent): boolean {
  return (
    isSameJson(one.template, other.template) &&
    isSameJson(one.overrides ?? [], other.overrides ?? [])
  );
}

/** Whether a revision has the template, overrides and exact versions of the present content of the set. */
export function isOfVersions(
  { content }: Revision,
  wanted: RevisionContent,
  facts: Pick<SetFacts, "children" | "available">,
): boolean {
  if (!isSameWish(content, wanted)) return false;
  return isSameJson(content.versions, wanted.versions) || isStillTrue(content, facts);
}

/**
 * Whether a revision without exact versions, from a knfleet that recorded none, still holds: no cluster would get another version by it. It
 * stands then, so that an upgrade of knfleet alone begins no rollout.
 */
function isStillTrue(
  { versions }: RevisionContent,
  { children, available = [] }: Pick<SetFacts, "children" | "available">,
): boolean {
  return (
    versions === undefined &&
    children.length > 0 &&
    children.every(({ kind, spec, status }) =>
      isNewest({ kind, wanted: spec?.version, installed: status?.version }, available),
    )
  );
}

interface Installed {
  readonly kind: ComponentKind;
  readonly wanted: string | undefined;
  /** Absent: nothing was installed completely yet. */
  readonly installed: string | undefined;
}

function isNewest({ kind, wanted, installed }: Installed, available: readonly string[]): boolean {
  return installed === undefined || targetVersion(wanted, available, kind) === installed;
}

/** Why no cluster can go back from one revision to another, as the end of a sentence. Undefined when clusters can. */
export function goneContent(back: RevisionContent, from: RevisionContent): string | undefined {
  const { versions, digest } = back;
  const isVague = wantedVersions(back).some((wanted) => from.versions?.[wanted] !== undefined);
  if (versions === undefined && isVague) return "does not say which exact version it had";
  const isOther = digest !== undefined && from.digest !== undefined && digest !== from.digest;
  const isSame = isSameWish(back, from) && isSameJson(versions, from.versions);
  return isOther && isSame
    ? "had other release files or another rendering, which are gone"
    : undefined;
}
