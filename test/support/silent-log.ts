import type { Log } from "../../controller/log.ts";

/** A log that nobody reads. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};
