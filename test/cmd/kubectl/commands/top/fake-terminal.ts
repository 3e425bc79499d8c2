import { PassThrough, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

/** A terminal without a screen: keeps what is written, and types. */
export interface FakeTerminal {
  readonly stdin: PassThrough & { readonly isRaw: boolean };
  readonly stdout: Writable;
  /** Everything that was written so far. */
  readonly written: () => string;
  /** The same without what moves and paints. */
  readonly text: () => string;
  readonly resize: (columns: number, rows: number) => void;
}

export function fakeTerminal(columns = 100, rows = 24): FakeTerminal {
  let written = "";
  const stdout = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        written += String(chunk);
        done();
      },
    }),
    { isTTY: true, columns, rows },
  );
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    setRawMode(mode: boolean) {
      stdin.isRaw = mode;
      return stdin;
    },
    ref: () => stdin,
    unref: () => stdin,
  });
  return {
    stdin,
    stdout,
    written: () => written,
    text: () => stripVTControlCharacters(written),
    resize(width, height) {
      Object.assign(stdout, { columns: width, rows: height });
      stdout.emit("resize");
    },
  };
}
