/** The part of the Lua interpreter fengari that tests use; the package has no types. */
declare module "fengari" {
  export interface LuaState {
    readonly luaState: never;
  }
  export const lauxlib: {
    luaL_newstate(): LuaState;
    luaL_dostring(state: LuaState, code: Uint8Array): boolean | number;
  };
  export const lualib: { luaL_openlibs(state: LuaState): void };
  export const lua: {
    lua_tojsstring(state: LuaState, index: number): string | null;
    lua_close(state: LuaState): void;
  };
  export function to_luastring(text: string): Uint8Array;
}
