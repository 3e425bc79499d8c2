const key = "knfleet-token";

/** What a tab without the secret says. */
export const lockedText =
  "This tab may not read the fleet: open the address that kubectl knfleet ui printed. Each tab needs it once";

/** The token of the address, which every request for data has to have; null in a tab in which the address was not opened. */
export function secretOfTab(): string | null {
  return sessionStorage.getItem(key);
}

/** Moves the token of the address into this tab, where a reload finds it, and nobody who looks at the address bar. Returns false when the address has none. */
export function takeSecret(): boolean {
  const [, secret] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (secret === undefined) return false;
  sessionStorage.setItem(key, secret);
  history.replaceState(null, "", location.pathname);
  return true;
}
