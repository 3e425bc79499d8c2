/** Where a walk starts: this machine, this machine with the controller's identity on the hub, or a Job on the hub. In a file of its own: help needs the words, and must not load the walk. */
export const vantages = ["local", "controller-identity", "controller"] as const;

export type Vantage = (typeof vantages)[number];
