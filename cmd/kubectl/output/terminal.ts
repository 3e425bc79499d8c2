import type { Readable } from "node:stream";

/** A stream that a command writes to. */
export interface Output {
  readonly isTTY?: boolean;
  /** Width of a terminal in characters. */
  readonly columns?: number;
  write(text: string): unknown;
}

/** What a command knows of the process that it runs in. */
export interface Terminal {
  /** Arguments after the program's name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent: there is nothing to read. */
  readonly stdin?: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly now: () => Date;
  /** Shows a text in a pager; false when there is none. Absent: there is nobody to read. */
  readonly page?: (text: string) => Promise<boolean>;
}
