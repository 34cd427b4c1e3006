// Runs programs for this extension, without a shell and without input.

import { execFile } from "node:child_process";

import type { Run } from "./python.ts";

const TIMEOUT = 20_000;

/** Run a program until it ends, in a folder that documents cannot choose. */
export const run: Run = (command, args, { timeout = TIMEOUT, env, signal } = {}) =>
  new Promise((resolve, reject) => {
    const options = { timeout, cwd: __dirname, windowsHide: true, env: { ...process.env, ...env }, signal };
    const child = execFile(command, args, options, (error, stdout) => {
      if (error) reject(error);
      else resolve(stdout);
    });
    child.stdin?.end();
  });
