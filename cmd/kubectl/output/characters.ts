const plain: Readonly<Record<string, string>> = {
  "…": "...",
  "├": "|",
  "└": "`",
  "│": "|",
  "─": "-",
  "×": "x",
};

/** Whether the output has to be ASCII, because the locale is not UTF-8. */
export function wantsAscii(env: Readonly<Record<string, string | undefined>>): boolean {
  if ((env["WT_SESSION"] ?? "") !== "") return false;
  const locale = [env["LC_ALL"], env["LC_CTYPE"], env["LANG"]].find(
    (value) => value !== undefined && value !== "",
  );
  return !/utf-?8/i.test(locale ?? "");
}

/** Replaces our own symbols by ASCII. Foreign text stays as it is. */
export function inAscii(text: string): string {
  return text.replaceAll(/[…├└│─×]/g, (symbol) => plain[symbol] ?? symbol);
}

/** The width of a terminal. Undefined for a pipe, whose lines are never wrapped. */
export function widthOf({
  isTTY,
  columns = 0,
}: {
  readonly isTTY?: boolean;
  readonly columns?: number;
}): number | undefined {
  return isTTY === true && columns > 0 ? columns : undefined;
}
