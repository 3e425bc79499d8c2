// @module-tag release-files
import { firstInstallStory } from "./first-install-story.ts";

// The same tests on Knative's own files: how many requests a guard costs is told by their number of objects.
firstInstallStory();
