import { firstInstallStory } from "./first-install-story.ts";

firstInstallStory();
