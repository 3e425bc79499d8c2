import type { Log } from "../../controller/log.ts";

/** A log, and what it was told: level and sentence of each line. */
export function keptLines(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const keep = (level: string) => (_fields: object, message: string) =>
    void lines.push(`${level}: ${message}`);
  const log: Log = {
    debug: keep("debug"),
    info: keep("info"),
    warn: keep("warn"),
    error: keep("error"),
    child: () => log,
  };
  return { log, lines };
}
