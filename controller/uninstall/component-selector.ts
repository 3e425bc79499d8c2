import { componentUidLabel } from "../../installation/anchor.ts";

const labelValue = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/**
 * The label selector of everything that one component installed; the only one that collections are deleted by. Throws for a uid
 * that is empty or no label value, which would select what is somebody else's. Spec: engine-facts.md 9.
 */
export function componentSelector(uid: string): string {
  return `${componentUidLabel}=${properUid(uid)}`;
}

/** The label selector of everything that some components installed, to look at it. Throws as `componentSelector` does. */
export function componentsSelector(uids: Iterable<string>): string {
  const [first = "", ...others] = new Set(uids);
  if (others.length === 0) return componentSelector(first);
  return `${componentUidLabel} in (${[first, ...others].map(properUid).join(",")})`;
}

function properUid(uid: string): string {
  if (!labelValue.test(uid)) throw new Error("A component without a proper uid selects nothing");
  return uid;
}
