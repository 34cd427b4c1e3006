// Which program serves: `orgrest.path`; the Python of `orgrest.interpreter` or of the Python
// extension, where orgrest can be imported; else this extension's own orgrest, with any Python 3.11
// or later. Nothing is installed, and nothing of the folder's is run: probes are isolated (`-I`).

export interface Launch {
  command: string;
  args: string[];
  /** Where the program comes from, for the log. */
  origin: string;
}

export interface Wishes {
  path: string;
  interpreter: string;
  /** The Python extension's choice, which is asked for only where no setting decides. */
  chosen: () => Promise<string | undefined>;
  /** This extension's own program. */
  bundle: string;
  platform: NodeJS.Platform;
}

/** Runs a program and returns what it printed; rejects if it fails or is not there. */
export type Run = (command: string, args: string[]) => Promise<string>;

export class NoPython extends Error {}

const PROBE =
  "import sys; from importlib.util import find_spec; " +
  "print(sys.version_info >= (3, 11), find_spec('orgrest') is not None, sys.executable)";

interface Probed {
  recent: boolean;
  hasOrgrest: boolean;
  executable: string;
}

/** Find what serves; throws NoPython with a message for the user. */
export async function findServer(wishes: Wishes, run: Run): Promise<Launch> {
  if (wishes.path) return { command: wishes.path, args: [], origin: "the setting orgrest.path" };
  if (wishes.interpreter) {
    const found = await probe([wishes.interpreter], run);
    const setting = `the setting orgrest.interpreter, ${wishes.interpreter},`;
    if (found === undefined) throw new NoPython(`${setting} is no Python that can be started`);
    if (!found.recent) throw new NoPython(`${setting} is older than Python 3.11`);
    return launch(found, wishes, "the setting orgrest.interpreter");
  }
  const chosen = await wishes.chosen();
  if (chosen !== undefined) {
    const found = await probe([chosen], run);
    if (found?.recent) return launch(found, wishes, "the Python extension's choice");
  }
  for (const words of candidates(wishes.platform)) {
    const found = await probe(words, run);
    if (found?.recent) return bundled(found, wishes, `found as ${words.join(" ")}`);
  }
  const managed = await run("uv", ["python", "find", "--no-project", ">=3.11"]).catch(() => "");
  if (managed.trim()) {
    const found = await probe([managed.trim()], run);
    if (found?.recent) return bundled(found, wishes, "found by uv");
  }
  throw new NoPython("orgrest needs Python 3.11 or later, and found none");
}

export function candidates(platform: NodeJS.Platform): string[][] {
  const versions = ["3.14", "3.13", "3.12", "3.11"];
  if (platform === "win32") return [["py", "-3"], ["python"], ["python3"]];
  return [["python3"], ...versions.map((one) => [`python${one}`]), ["python"]];
}

async function probe([command, ...args]: string[], run: Run): Promise<Probed | undefined> {
  if (command === undefined) return undefined;
  try {
    const [recent, has, ...path] = (await run(command, [...args, "-I", "-c", PROBE])).trim().split(" ");
    if (path.length === 0) return undefined;
    return { recent: recent === "True", hasOrgrest: has === "True", executable: path.join(" ") };
  } catch {
    return undefined;
  }
}

function launch(found: Probed, wishes: Wishes, origin: string): Launch {
  if (!found.hasOrgrest) return bundled(found, wishes, origin);
  return { command: found.executable, args: ["-P", "-m", "orgrest"], origin: `orgrest of ${origin}` };
}

function bundled(found: Probed, wishes: Wishes, origin: string): Launch {
  return {
    command: found.executable,
    args: ["-I", wishes.bundle],
    origin: `the extension's own orgrest, with the Python ${origin}`,
  };
}
