import { componentUidLabel } from "../api/anchor.ts";

const labelValue = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

const nothing = "A component without a proper uid selects nothing";

/**
 * The label selector of everything that one component installed; the only one that collections are deleted by. Throws for a uid
 * that is empty or no label value, which would select what is somebody else's. Spec: engine-facts.md 9.
 */
export function componentSelector(uid: string): string {
  if (!labelValue.test(uid)) throw new Error(nothing);
  return `${componentUidLabel}=${uid}`;
}

/** The label selector of everything that some components installed, to look at it. Throws as `componentSelector` does. */
export function componentsSelector(uids: Iterable<string>): string {
  const [first = "", ...others] = [...new Set(uids)];
  if (others.length === 0) return componentSelector(first);
  if (![first, ...others].every((uid) => labelValue.test(uid))) throw new Error(nothing);
  return `${componentUidLabel} in (${[first, ...others].join(",")})`;
}
