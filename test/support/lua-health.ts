import { lauxlib, lua, lualib, to_luastring as luaString } from "fengari";

import { isRecord } from "../../api/fields.ts";

/** Status and message that a health script of Argo CD gives for an object. */
export function luaHealth(script: string, object: unknown): readonly [string, string] {
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  const code = `obj = ${literal(object)}
local health = (function()
${script}
end)()
return health.status, health.message`;
  // fengari says false or 0 for success, by its version.
  const failed = lauxlib.luaL_dostring(state, luaString(code));
  const [first, second] = [-2, -1].map((index) => lua.lua_tojsstring(state, index) ?? "");
  lua.lua_close(state);
  if (failed !== false && failed !== 0) throw new Error(`The script failed: ${second}`);
  return [first ?? "", second ?? ""];
}

/** A value of JSON as Lua source. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `{ ${value.map(literal).join(", ")} }`;
  if (isRecord(value)) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{ ${fields.map(([name, field]) => `[${quoted(name)}] = ${literal(field)}`).join(", ")} }`;
  }
  if (typeof value === "string") return quoted(value);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "nil";
}

function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/\\u([0-9a-f]{4})/g, String.raw`\u{$1}`);
}
