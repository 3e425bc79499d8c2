import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { parseUserManifest } from "./user-manifest.ts";
import { assertVersionLabels } from "./version-labels.ts";

/** Texts that a user brought for one field of the spec, in the order of the field. */
export interface UserTexts {
  readonly urls: readonly string[];
  readonly texts: readonly string[];
}

const maxUrls = 64;
const maxMegabytes = 16;

/** Whether a component brings the manifests of the component itself. */
export function isCustom({ spec }: Component): boolean {
  return (spec?.manifests?.length ?? 0) > 0;
}

/** Whether a component names manifests whose content may become another one. */
export function namesChangeable({ spec }: Component): boolean {
  const named = [...(spec?.manifests ?? []), ...(spec?.additionalManifests ?? [])];
  return named.some(({ URL }) => !URL.includes("#"));
}

/**
 * What stands at the URLs of a field, with `${VERSION}` replaced. Throws what `manifestText` throws, and FleetError
 * ManifestSourceNotAllowed where there is none. Spec: knative-operator.md 2.4.
 */
export async function userTextsOf(
  list: NonNullable<Component["spec"]>["manifests"],
  version: string,
  manifestText: ((url: string) => Promise<string>) | undefined,
): Promise<UserTexts> {
  const urls = (list ?? []).map(({ URL }) => URL.replaceAll("${VERSION}", () => version));
  if (urls.length > maxUrls) {
    throw new FleetError("ManifestInvalid", `The spec names more than ${maxUrls} manifests`);
  }
  const texts = await Promise.all(urls.map((url) => textAt(url, manifestText)));
  const size = texts.reduce((sum, { length }) => sum + length, 0);
  if (size > maxMegabytes * 1024 * 1024) {
    throw new FleetError("ManifestInvalid", `The manifests hold more than ${maxMegabytes} MiB`);
  }
  return { urls, texts };
}

async function textAt(
  url: string,
  manifestText: ((url: string) => Promise<string>) | undefined,
): Promise<string> {
  if (manifestText !== undefined) return manifestText(url);
  throw new FleetError("ManifestSourceNotAllowed", `No source of manifests is allowed: ${url}`);
}

/**
 * The objects of a field, checked against the version. Throws FleetError ManifestInvalid, also when there is none. Spec:
 * knative-operator.md 2.4.
 */
export async function userManifestsOf(
  { urls, texts }: UserTexts,
  version: string,
): Promise<readonly Manifest[]> {
  if (urls.length === 0) return [];
  const manifests: Manifest[] = [];
  for (const [index, text] of texts.entries()) {
    manifests.push(...(await parseUserManifest(urls[index] ?? "", text)));
  }
  if (manifests.length === 0) {
    throw new FleetError(
      "ManifestInvalid",
      `there is no resource available in the target manifests ${urls.join(",")}`,
    );
  }
  assertVersionLabels(manifests, version);
  return manifests;
}
