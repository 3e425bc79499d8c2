/** As in `Flags`. Undefined: all namespaces (-A). Null: neither -A nor -n was given. */
interface NamespaceFlag {
  readonly namespace: string | null | undefined;
}

/** The namespace of the hub in which a command looks; undefined: all. Without -A and -n it is that of the context. */
export function namespaceOf(
  { namespace }: NamespaceFlag,
  { namespace: ofContext }: { readonly namespace: string },
): string | undefined {
  return namespace === null ? ofContext : namespace;
}

/** The same for a command that without -A and -n looks in all namespaces. */
export function namedNamespace({ namespace }: NamespaceFlag): string | undefined {
  return namespace ?? undefined;
}
