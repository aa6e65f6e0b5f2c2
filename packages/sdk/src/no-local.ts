/** In place of local.ts, in browsers: platform.ts says what is missing there before anything of it is used. */
export {};
