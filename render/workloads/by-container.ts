/**
 * What several overrides say of each container, in their order; of the entries for one container in one override the first counts.
 * Spec: knative-operator.md 3.9.
 */
export function byContainer<Entry extends { readonly container: string }>(
  overrides: readonly (readonly Entry[] | undefined)[],
): ReadonlyMap<unknown, readonly Entry[]> {
  const found = new Map<unknown, Entry[]>();
  for (const entries of overrides) {
    const first = new Map(entries?.toReversed().map((entry) => [entry.container, entry]));
    for (const [container, entry] of first) {
      const known = found.get(container);
      if (known === undefined) found.set(container, [entry]);
      else known.push(entry);
    }
  }
  return found;
}
