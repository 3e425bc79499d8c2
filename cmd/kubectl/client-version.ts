import packageJson from "../../package.json" with { type: "json" };

/** Version of this program, without a leading `v`. */
export const clientVersion: string = packageJson.version;

/** User agent of every request. */
export const userAgent = `kubectl-knfleet/${clientVersion}`;
