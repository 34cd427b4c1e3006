// Lets the user choose the Python that runs orgrest; saves it as the setting orgrest.interpreter.

import * as vscode from "vscode";

import { run } from "./programs.ts";
import { candidates } from "./python.ts";
import type { Server } from "./server.ts";

const VERSION = "import sys; print(sys.executable, '%d.%d.%d' % sys.version_info[:3], sep='\\n')";

interface Item extends vscode.QuickPickItem {
  choose: () => Promise<string | undefined>;
}

export async function selectInterpreter(server: Server): Promise<void> {
  const picked = await vscode.window.showQuickPick(items(server), {
    title: "The Python that runs orgrest",
    placeHolder: "Python 3.11 to 3.14, or any Python in which orgrest is installed",
  });
  const chosen = await picked?.choose();
  if (chosen === undefined) return;
  const settings = vscode.workspace.getConfiguration("orgrest");
  await settings.update("interpreter", chosen, vscode.ConfigurationTarget.Global);
}

async function items(server: Server): Promise<Item[]> {
  const versions = new Map<string, string>();
  for (const [command = "", ...args] of candidates(process.platform)) {
    const output = await run(command, [...args, "-I", "-c", VERSION]).catch(() => "");
    const [path, version] = output.trim().split(/\r?\n/);
    if (path && version) versions.set(path, version);
  }
  return [
    ...[...versions].map(([path, version]) => ({
      label: `Python ${version}`,
      description: path,
      choose: () => Promise.resolve(path),
    })),
    { label: "$(folder) Browse...", choose: browse },
    { label: "$(search) Find Python Automatically", choose: () => Promise.resolve("") },
    ...(server.own.uv ? [{ label: "$(cloud-download) Download Python", choose: () => server.download().then(() => undefined) }] : []),
  ];
}

async function browse(): Promise<string | undefined> {
  const [file] = (await vscode.window.showOpenDialog({ title: "Python", canSelectMany: false })) ?? [];
  return file?.fsPath;
}
