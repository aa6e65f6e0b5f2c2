/** The daemon's own release; package.json of the workspace names the same. */
export const VERSION = '0.1.0';
