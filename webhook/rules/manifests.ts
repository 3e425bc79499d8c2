import {
  allowedManifestUrl,
  type AllowedSource,
  manifestUrlProblem,
} from "../../access/manifests/manifest-url.ts";
import { isShared } from "../../access/providers/reference-policy.ts";
import { FleetError } from "../../api/errors.ts";
import { isSameJson, listAt, recordAt } from "../../api/fields.ts";
import {
  below,
  type Check,
  entriesOf,
  type Entry,
  type Fields,
  problemAt,
  problemIf,
  quoteValue,
  type Subject,
} from "./rule.ts";

const fields = ["manifests", "additionalManifests"] as const;
// As many as the controller takes.
const maxUrls = 64;
const digest = /^#sha256=[0-9a-f]{64}$/;

/** The address of a manifest, with the version filled in as the controller does. */
function urlsOf({ spec }: Subject): readonly (readonly [url: string, path: string])[] {
  const { version } = spec;
  const filled = typeof version === "string" && /^[\w.+-]{1,64}$/.test(version) ? version : "0.0.0";
  return fields.flatMap((field) =>
    entriesOf(spec, field)
      .slice(0, maxUrls)
      .flatMap(([entry, path]) => {
        const { URL } = entry;
        if (typeof URL !== "string") return [];
        return [[URL.replaceAll("${VERSION}", () => filled), below(path, "URL")] as const];
      }),
  );
}

/** Manifests come over https from a plain address, and there are not too many. Security: T-30, T-34. */
export const manifestUrl: Check = (subject) => [
  ...fields.flatMap((field) =>
    problemIf(
      entriesOf(subject.spec, field).length > maxUrls,
      below("spec", field),
      `must not name more than ${maxUrls} manifests`,
    ),
  ),
  ...urlsOf(subject).flatMap(([url, path]) => {
    const problem = manifestUrlProblem(url) ?? fragmentProblem(url);
    return problemAt(path, problem === undefined ? undefined : `is not allowed: ${problem}`);
  }),
];

function fragmentProblem(url: string): string | undefined {
  const at = url.indexOf("#");
  if (at < 0 || digest.test(url.slice(at))) return undefined;
  return "what follows # must be sha256= and 64 hexadecimal digits";
}

/** Manifests come from allowed sources, and are pinned on a hub that several teams share. Security: T-31, T-34. */
export const manifestSource: Check = (subject, { manifestSources, references }) => {
  if (manifestSources === undefined) return [];
  const pinned = references !== undefined && isShared(references);
  return urlsOf(subject).flatMap(([url, path]) => {
    if (manifestUrlProblem(url) !== undefined) return [];
    const problem = isAllowed(url, manifestSources)
      ? pinned && !url.includes("#") && "is not pinned; end it with #sha256= and its digest"
      : "is not below a --manifest-source; ask the operator of the hub to add it";
    if (problem === false) return [];
    return [{ path, message: `ManifestSourceNotAllowed: ${quoteValue(url)} ${problem}` }];
  });
};

function isAllowed(url: string, sources: readonly AllowedSource[]): boolean {
  try {
    allowedManifestUrl(url, sources);
    return true;
  } catch (error) {
    if (error instanceof FleetError) return false;
    throw error;
  }
}

/** Whether the spec has other manifests than the stored one. */
function changesManifests(spec: Fields, before: Fields | undefined): boolean {
  return fields.some((field) => {
    const now: unknown = spec[field] ?? [];
    const isNone = Array.isArray(now) && now.length === 0;
    return !isNone && !isSameJson(now, before?.[field] ?? []);
  });
}

/** Whether the spec has something new that may give rights on the target: manifests, or patches of roles and bindings. Security: T-33. */
export function needsApplyRight(spec: Fields, before: Fields | undefined): boolean {
  const now = rightPatchesOf(spec).map(([entry]) => entry);
  const stored = rightPatchesOf(before ?? {}).map(([entry]) => entry);
  return changesManifests(spec, before) || (now.length > 0 && !isSameJson(now, stored));
}

function rightPatchesOf(spec: Fields): readonly Entry[] {
  return entriesOf(spec, "patches").filter(([entry]) => {
    const apiVersion = recordAt(entry, "target")["apiVersion"];
    return typeof apiVersion === "string" && apiVersion.startsWith("rbac.authorization.k8s.io/");
  });
}

/** What an address will serve is not known yet, so it needs the right, as patches of roles and bindings do. Security: T-33. */
export const manifestRight: Check = (subject, { mayApply }) =>
  problemIf(
    mayApply === false && needsApplyRight(subject.spec, subject.before),
    pathOfRight(subject),
    `user ${quoteValue(subject.username)} may not "apply-cluster-scoped", which manifests of one's own and patches of roles and bindings need`,
  );

/** Security: T-03. */
export const manifestRightUnknown: Check = (subject, { mayApply }) =>
  problemIf(
    mayApply === "unknown" && needsApplyRight(subject.spec, subject.before),
    pathOfRight(subject),
    "the SubjectAccessReview for the right to bring manifests was not answered; try again",
  );

/** The content of manifests is not known at admission. */
export const manifestContent: Check = ({ spec, before }) =>
  problemIf(
    changesManifests(spec, before),
    pathOfManifests(spec),
    "what stands at the URLs is looked at when it is installed, not now",
  );

function pathOfRight({ spec, before }: Subject): string {
  if (changesManifests(spec, before)) return pathOfManifests(spec);
  return rightPatchesOf(spec)[0]?.[1] ?? "spec.patches";
}

function pathOfManifests(spec: Fields): string {
  return below("spec", fields.find((field) => listAt(spec, field).length > 0) ?? "manifests");
}
