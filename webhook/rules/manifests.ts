import { isShared } from "../../access/providers/reference-policy.ts";
import { isAllowedUrl } from "../../access/urls/allowed-source.ts";
import { manifestUrlProblem } from "../../access/urls/manifest-url.ts";
import { isSameJson, listAt } from "../../api/fields.ts";
import {
  below,
  type Check,
  entriesOf,
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
    const problem = isAllowedUrl(url, manifestSources)
      ? pinned && !url.includes("#") && "is not pinned; end it with #sha256= and its digest"
      : "is not below a --manifest-source; ask the operator of the hub to add it";
    if (problem === false) return [];
    return [{ path, message: `ManifestSourceNotAllowed: ${quoteValue(url)} ${problem}` }];
  });
};

/** The content of manifests is not known at admission. */
export const manifestContent: Check = ({ spec, before }) =>
  problemIf(
    fields.some((field) => changes(spec, before, field)),
    pathOfManifests(spec),
    "what stands at the URLs is looked at when it is installed, not now; kubectl knfleet render -f FILE says which fields change nothing",
  );

function pathOfManifests(spec: Fields): string {
  return below("spec", fields.find((field) => listAt(spec, field).length > 0) ?? "manifests");
}

function changes(spec: Fields, before: Fields | undefined, field: string): boolean {
  return listAt(spec, field).length > 0 && !isSameJson(spec[field], before?.[field]);
}
