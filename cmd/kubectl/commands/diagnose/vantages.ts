/** Where a walk starts: this machine, this machine with the controller's identity on the hub, or a Job on the hub. Help lists them without the walk. */
export const vantages = ["local", "controller-identity", "controller"] as const;

export type Vantage = (typeof vantages)[number];
