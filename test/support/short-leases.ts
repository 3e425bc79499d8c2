/** Flags of a controller for tests that wait until a Lease runs out. Shorter ones are lost where other tests keep the API server of the hub busy. */
export const shortLeases: readonly string[] = [
  "--leader-elect-lease-duration=8s",
  "--leader-elect-renew-deadline=7s",
  "--leader-elect-retry-period=1s",
];
