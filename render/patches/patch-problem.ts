/** Why a patch cannot be applied; patches.ts adds which patch that is. The message holds no value of a patch, which may be secret. */
export class PatchProblem extends Error {
  override readonly name = "PatchProblem";
}
