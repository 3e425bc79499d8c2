import { FleetError } from "../../api/errors.ts";
import { allowedUrlOf, type AllowedSource, plainUrlOf } from "./allowed-source.ts";

/** Parses the URL of a manifest. Throws FleetError ManifestSourceNotAllowed unless it is a plain https URL below an allowed source. Spec: security.md T-30, T-31. */
export function allowedManifestUrl(text: string, sources: readonly AllowedSource[]): URL {
  const url = allowedUrlOf(text, sources, "--manifest-source");
  if (typeof url === "string") throw notAllowed(text, url);
  return url;
}

/** The error for a URL without the digest that it needs. Security: T-34. */
export function notPinned(text: string): FleetError {
  return notAllowed(text, "it does not end in #sha256= and the digest of its content");
}

/** Why the URL of a manifest is invalid whatever sources are allowed, as a sentence; undefined when it is valid. Spec: security.md T-30. */
export function manifestUrlProblem(text: string): string | undefined {
  const url = plainUrlOf(text);
  return typeof url === "string" ? url : undefined;
}

function notAllowed(text: string, problem: string): FleetError {
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  // oxlint-disable-next-line no-control-regex -- control characters are what is taken out
  const plain = shown.replaceAll(/[\u0000-\u001f\u007f]/g, "?").replace(/\/\/[^/]*@/, "//");
  return new FleetError(
    "ManifestSourceNotAllowed",
    `Manifest ${JSON.stringify(plain)} is not allowed: ${problem}`,
  );
}
