import { pino, type Logger, type LoggerOptions } from "pino";

import { FleetError } from "../../api/errors.ts";
import { asEscapes } from "../../api/foreign-text.ts";
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
  const written = (line: string): string => visible(format === "json" ? line : asText(line));
  const lines = { write: (line: string) => sink.write(shortLine(line, written)) };
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
const maxFields = 32;

interface Room {
  /** Characters of a text, and of the name of a field. */
  readonly text: number;
  /** Entries of a list or an object in a field. */
  readonly entries: number;
}

// They are tried one after the other. The last one always fits.
const rooms: readonly Room[] = [
  { text: 4_096, entries: 512 },
  { text: 1_024, entries: 128 },
  { text: 256, entries: 16 },
  { text: 256, entries: 4 },
  { text: 64, entries: 0 },
];

/** The line as it is written, or one whose long texts and lists are cut. Clusters and plugins have a say in errors. */
function shortLine(line: string, written: (line: string) => string): string {
  const whole = line.length <= longestLine ? written(line) : undefined;
  if (whole !== undefined && Buffer.byteLength(whole) <= longestLine) return whole;
  const { level, time, msg, ...fields }: Readonly<Record<string, unknown>> = JSON.parse(line);
  let short = "";
  for (const room of rooms) {
    const rest = shortFields(fields, maxFields, room);
    const kept = { level, time, cut: line.length, ...rest, msg: shortened(msg, room) };
    short = written(`${JSON.stringify(kept)}\n`);
    if (Buffer.byteLength(short) <= longestLine) break;
  }
  return short;
}

function shortened(value: unknown, room: Room): unknown {
  if (typeof value === "string") return shortText(value, room.text);
  if (Array.isArray(value)) {
    const kept = value.slice(0, room.entries).map((one) => shortened(one, room));
    const more = value.length - kept.length;
    return more === 0 ? kept : [...kept, `… ${more} more`];
  }
  if (typeof value !== "object" || value === null) return value;
  return shortFields(value, room.entries, room);
}

function shortFields(fields: object, maxEntries: number, room: Room): object {
  const all = Object.entries(fields);
  const kept = all
    .slice(0, maxEntries)
    .map(([name, value]) => [shortText(name, room.text), shortened(value, room)]);
  const more = all.length - kept.length;
  return Object.fromEntries(more === 0 ? kept : [...kept, ["…", `${more} more`]]);
}

function shortText(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`;
}

/** Writes what nobody sees, or what steers a terminal, as JSON can write it. */
function visible(line: string): string {
  return asEscapes(line, /(?!\n$)[\p{Cc}\p{Cf}\u2028\u2029]/gu);
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
