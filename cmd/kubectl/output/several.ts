/** Adds a value to those that were given before, for options that can be repeated. */
export function several(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
