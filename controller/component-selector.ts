import { componentUidLabel } from "../api/anchor.ts";

const labelValue = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/**
 * The label selector of everything that one component installed; the only one that collections are deleted by. Throws for a uid
 * that is empty or no label value, which would select what is somebody else's. Spec: engine-facts.md 9.
 */
export function componentSelector(uid: string): string {
  if (!labelValue.test(uid)) throw new Error("A component without a proper uid selects nothing");
  return `${componentUidLabel}=${uid}`;
}
