const key = "knfleet-token";

/** What a tab without the secret says. */
export const lockedText =
  "This tab may not read the fleet: open the address that kubectl knfleet ui printed. Each tab needs it once";

// Where a browser blocks the data of sites, sessionStorage throws: then the secret lasts until the page is loaded again.
let taken: string | null = null;

/** The token of the address, which every request for data has to have; null in a tab in which the address was not opened. */
export function secretOfTab(): string | null {
  return taken ?? storedSecret();
}

function storedSecret(): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

/** The token in the address; undefined when there is none. */
export function secretInAddress(): string | undefined {
  return /^#token=([\w-]+)$/.exec(location.hash)?.[1];
}

/** Moves the token of the address, when there is one, into this tab, where a reload finds it, and nobody who looks at the address bar. */
export function takeSecret(): void {
  const secret = secretInAddress();
  if (secret === undefined) return;
  taken = secret;
  try {
    sessionStorage.setItem(key, secret);
  } catch {
    // The variable has it.
  }
  history.replaceState(null, "", location.pathname);
}
