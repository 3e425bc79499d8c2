import { pino, type Logger, type LoggerOptions } from "pino";

import { FleetError } from "../../api/errors.ts";
import type { logFormats, logLevels } from "./flag-values.ts";

export interface LoggerSettings {
  readonly level: (typeof logLevels)[number];
  readonly format: (typeof logFormats)[number];
}

/** The destination of lines, for example process.stdout. */
export interface LineSink {
  write(line: string): unknown;
}

const maxCauseLength = 500;
const maxCauses = 4;

/**
 * Creates a logger that writes one line a message, as JSON or as text for people. Writes errors as type, reason, code and message. Writes their causes, which
 * may be foreign text, only at level debug, cut and without control characters. No line steers a terminal or has more than 64 KiB, whatever is in its fields.
 */
export function createLogger({ level, format }: LoggerSettings, sink: LineSink): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: (error: unknown) => describeError(error, level === "debug") },
  };
  const written = (line: string): string => (format === "json" ? line : asText(line));
  const lines = { write: (line: string) => sink.write(visible(written(shortLine(line)))) };
  return pino(options, lines);
}

function describeError(error: unknown, withCauses: boolean): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name: type, message } = error;
  const known = error instanceof FleetError ? { reason: error.reason, code: error.code } : {};
  // A bug has no reason: only the stack shows the cause.
  const stack = isBug(error) ? { stack: error.stack } : {};
  const causes = withCauses && error.cause !== undefined ? { causes: causesOf(error) } : {};
  return { type, ...known, message, ...stack, ...causes };
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

const longestLine = 64 * 1024;
const longestText = 4_096;
const longestName = 256;

/** The same line, or one whose long texts are cut. Clusters and plugins have a say in errors. */
function shortLine(line: string): string {
  if (line.length <= longestLine / 2) return line;
  const fields: Readonly<Record<string, unknown>> = JSON.parse(line);
  const short = `${JSON.stringify(shortened(fields))}\n`;
  if (short.length <= longestLine) return short;
  const { level, time, msg } = fields;
  return `${JSON.stringify({ level, time, cut: line.length, msg: shortened(msg) })}\n`;
}

function shortened(value: unknown): unknown {
  if (typeof value === "string") return shortText(value, longestText);
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [
    shortText(name, longestName),
    shortened(one),
  ]);
  return Object.fromEntries(entries);
}

function shortText(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`;
}

/** Writes what nobody sees, or what steers a terminal, as JSON can write it. */
function visible(line: string): string {
  return line.replaceAll(/(?!\n$)[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    Array.from({ length: character.length }, (_, at) => {
      const code = character.charCodeAt(at).toString(16);
      return `\\u${code.padStart(4, "0")}`;
    }).join(""),
  );
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
