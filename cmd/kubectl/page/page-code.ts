import { makePage } from "../../build/ui-page.ts";

/** Script and style of the page, made from the sources beside this file. A bundle has their text in place of this file (cmd/build/bundle.ts). */
export const { script: pageScript, style: pageStyle } = await makePage();
