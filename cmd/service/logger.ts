import { pino, type Logger, type LoggerOptions } from "pino";

import { FleetError } from "../../api/errors.ts";
import type { logFormats, logLevels } from "./flag-values.ts";

export interface LoggerSettings {
  readonly level: (typeof logLevels)[number];
  readonly format: (typeof logFormats)[number];
}

/** Where lines go; process.stdout fits. */
export interface LineSink {
  write(line: string): unknown;
}

const maxCauseLength = 500;
const maxCauses = 4;

/**
 * A logger that writes one line a message: JSON for machines or text for people. Errors are written as type, reason, code and
 * message; what stands behind them (foreign text) only at level debug, without control characters and cut.
 */
export function createLogger({ level, format }: LoggerSettings, sink: LineSink): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: (error: unknown) => describeError(error, level === "debug") },
  };
  const lines = { write: (line: string) => sink.write(format === "json" ? line : asText(line)) };
  return pino(options, lines);
}

function describeError(error: unknown, withCauses: boolean): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name: type, message } = error;
  const known = error instanceof FleetError ? { reason: error.reason, code: error.code } : {};
  // A programming error has no reason, and only its place tells what is wrong.
  const place = isBug(error) ? { stack: error.stack } : {};
  const causes = withCauses && error.cause !== undefined ? { causes: causesOf(error) } : {};
  return { type, ...known, message, ...place, ...causes };
}

function isBug(error: Error): boolean {
  return (
    error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
  );
}

function causesOf(error: Error): readonly string[] {
  const texts: string[] = [];
  for (
    let cause = error.cause;
    cause !== undefined && texts.length < maxCauses;
    cause = cause instanceof Error ? cause.cause : undefined
  ) {
    const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : JSON.stringify(cause);
    texts.push(text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, " ").slice(0, maxCauseLength));
  }
  return texts;
}

/** `12:00:01.234 info  Sentence field=value …`. */
function asText(line: string): string {
  const { time, level, msg, ...fields }: Readonly<Record<string, unknown>> = JSON.parse(line);
  const clock = String(time).slice(11, 23);
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${wordOf(value)}`);
  return `${clock} ${String(level).padEnd(5)} ${String(msg)}${pairs.join("")}\n`;
}

function wordOf(value: unknown): string {
  return typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
