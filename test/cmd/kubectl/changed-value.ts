/** The places of all values in a document, from the outside in. */
export function placesIn(
  value: unknown,
  place: readonly string[] = [],
): readonly (readonly string[])[] {
  const below =
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, one]) => placesIn(one, [...place, key]))
      : [];
  return [place, ...below];
}

/** A document with another value at a place, of whatever form that is. */
export function withValue<Document>(
  document: Document,
  place: readonly string[],
  value: unknown,
): Document {
  return JSON.parse(JSON.stringify(changed(document, place, value)));
}

function changed(document: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const fields: Readonly<Record<string, unknown>> = Object.assign({}, document);
  const own = { ...fields, [key]: changed(fields[key], rest, value) };
  return Array.isArray(document) ? Object.values(own) : own;
}
