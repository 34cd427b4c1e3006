// The Python environment in which the extension's own orgrest runs. It is created in the extension's
// storage from files in the extension, without a network. Its folder appears only once it is complete. The
// folder's name depends on the contents of the extension, so that an update creates a new environment.

import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import * as fs from "node:fs/promises";
import * as path from "node:path";

import { findPython, NoPython, probe } from "./python.ts";
import type { Run } from "./python.ts";

const DOWNLOADED_VERSION = "3.13";
const TIMEOUT = 10 * 60_000;
const UNPACK = "import sys, sysconfig, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sysconfig.get_path('purelib'))";

/** Shows the progress of work that the user can cancel. */
export type Showing = <T>(title: string, work: (cancelled: AbortSignal) => Promise<T>) => Promise<T>;

export class OwnEnvironment {
  /** uv, if this package of the extension contains it. */
  readonly uv: string | undefined;
  private readonly bundle: string;
  private readonly environments: string;
  private readonly downloads: string;
  private readonly run: Run;
  private readonly show: Showing;

  constructor(bundle: string, storage: string, run: Run, show: Showing) {
    const uv = path.join(bundle, process.platform === "win32" ? "uv.exe" : "uv");
    this.uv = existsSync(uv) ? uv : undefined;
    this.bundle = bundle;
    this.environments = path.join(storage, "environments");
    this.downloads = path.join(storage, "python");
    this.run = run;
    this.show = show;
  }

  /** Return the environment's Python; create the environment first if it is missing or does not start. */
  async python(base?: string): Promise<string> {
    const digest = await fs.readFile(path.join(this.bundle, "digest"), "utf8");
    const suffix = base ? `-${createHash("sha256").update(base).digest("hex").slice(0, 8)}` : "";
    const folder = path.join(this.environments, digest + suffix);
    const python = pythonOf(folder);
    const works = async (): Promise<boolean> => (await probe([python], this.run))?.hasOrgrest ?? false;
    if (await works()) {
      await this.sweep(digest);
      return python;
    }
    try {
      await this.show("Setting up orgrest (only once)", (cancelled) => this.create(folder, base, cancelled));
    } catch (error) {
      if (!(await works())) throw error; // else another window has created it meanwhile
    }
    return python;
  }

  /** Download a Python into the extension's storage. */
  async download(env: { [name: string]: string }): Promise<void> {
    const args = ["python", "install", DOWNLOADED_VERSION, "--no-bin", "--no-registry", "--no-cache", "--system-certs"];
    const options = { timeout: TIMEOUT, env: { ...env, UV_PYTHON_INSTALL_DIR: this.downloads } };
    await this.show(`Downloading Python ${DOWNLOADED_VERSION}`, (signal) => this.run(this.uv ?? "uv", args, { ...options, signal }));
  }

  /** Remove the environment of a Python that could not start the server. */
  async remove(python: string): Promise<void> {
    const folder = path.join(python, "../..");
    if (path.dirname(folder) === this.environments) await fs.rm(folder, { recursive: true, force: true });
  }

  private async create(folder: string, chosen: string | undefined, signal: AbortSignal): Promise<void> {
    const base = chosen ?? (await findPython(process.platform, this.uv ?? "uv", this.downloads, this.run));
    if (base === undefined) throw new NoPython("orgrest needs Python 3.11 to 3.14, and found none on this machine.");
    const partial = `${folder}.${randomUUID()}`;
    const python = pythonOf(partial);
    const run = (command: string, ...args: string[]): Promise<string> =>
      this.run(command, args, { timeout: TIMEOUT, signal });
    try {
      if (this.uv) {
        const offline = ["--offline", "--no-cache"];
        await run(this.uv, "venv", ...offline, "--no-project", "--python", base, partial);
        const wheels = ["--no-index", "--find-links", path.join(this.bundle, "wheels")];
        await run(this.uv, "pip", "install", ...offline, ...wheels, "--python", python, "orgrest");
      } else {
        await run(base, "-I", "-m", "venv", "--without-pip", partial);
        await run(python, "-I", "-c", UNPACK, path.join(this.bundle, "libs.zip"));
      }
      await fs.rm(folder, { recursive: true, force: true });
      await fs.rename(partial, folder);
    } finally {
      await fs.rm(partial, { recursive: true, force: true });
    }
  }

  /** Remove the environments of other versions and the remains of interrupted creations. */
  private async sweep(digest: string): Promise<void> {
    for (const name of await fs.readdir(this.environments)) {
      if (name.startsWith(digest) && !name.includes(".")) continue;
      await fs.rm(path.join(this.environments, name), { recursive: true, force: true }).catch(() => undefined); // in use
    }
  }
}

function pythonOf(folder: string): string {
  return process.platform === "win32" ? path.join(folder, "Scripts", "python.exe") : path.join(folder, "bin", "python");
}
