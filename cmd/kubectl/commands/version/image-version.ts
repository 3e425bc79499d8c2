/** The tag of an image reference, without a leading `v`; null when it has none, for example a digest only. */
export function tagOf(image: string): string | null {
  const [name = ""] = image.split("@");
  const last = name.slice(name.lastIndexOf("/") + 1);
  const at = last.indexOf(":");
  return at < 0 ? null : plainVersion(last.slice(at + 1));
}

/** A version without the `v` in front of it. */
export function plainVersion(version: string): string {
  return version.replace(/^v(?=\d)/, "");
}
