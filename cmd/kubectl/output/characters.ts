const plain: Readonly<Record<string, string>> = {
  "…": "...",
  "├": "|",
  "└": "`",
  "│": "|",
  "─": "-",
  "×": "x",
};

/** Whether a terminal or reader may not know characters beyond ASCII: the locale does not say UTF-8. */
export function wantsAscii(env: Readonly<Record<string, string | undefined>>): boolean {
  if ((env["WT_SESSION"] ?? "") !== "") return false;
  const locale = [env["LC_ALL"], env["LC_CTYPE"], env["LANG"]].find(
    (value) => value !== undefined && value !== "",
  );
  return !/utf-?8/i.test(locale ?? "");
}

/** Our own symbols in ASCII; text of others stays as it is. */
export function inAscii(text: string): string {
  return text.replaceAll(/[…├└│─×]/g, (symbol) => plain[symbol] ?? symbol);
}
