import { componentFilesFlag, worded } from "../../main/command-flags.ts";
import { command, installationNames, namesText } from "../../main/command.ts";

/** `images`: the images that nodes pull for installations, for a mirror. */
export const images = command({
  name: "images",
  args: installationNames,
  summary: "List every image that installations need, for a mirror",
  text: `The images of all that the controller applies for the selected installations, or for the components of files, which need not be applied: of\ncontainers, of the variables and ConfigMaps from which Knative makes pods, and of cached Images. --version says what another version would need.\nNo cluster is read. An installation that cannot be rendered is named below the table.\n${namesText}`,
  examples: [
    ["kubectl knfleet images -A", "of the whole fleet, and who needs them"],
    ["kubectl knfleet images -f serving.yaml -o name", "of a file, one a line"],
    ["kubectl knfleet images -A --version 1.24 -o name", "what an upgrade of all would need"],
    ["kubectl knfleet images -A --cluster 'eu-*' -o json", "of some clusters, for scripts"],
  ],
  options: {
    filename: componentFilesFlag(),
    version: worded("--version <version>", "as if this version of Knative were wanted"),
  },
  document: "ImageList",
  reachesSpokes: false,
  needsFleet: "it renders what the controller would apply",
  run: async (fleet, { filename, version }) =>
    (await import("./images.ts")).listImages(fleet, filename, version),
});
