// The settings of orgrest, and those of REST Client that users already have.

import * as vscode from "vscode";

/** The settings of REST Client that the server uses. */
const OF_SERVER = ["environmentVariables", "certificates", "defaultHeaders", "timeoutinmilliseconds"];

/** Return a setting of orgrest; if it is not set, REST Client's setting of the same name. */
export function setting<T>(name: string, otherwise: T): T {
  return explicit<T>("orgrest", name) ?? explicit<T>("rest-client", name) ?? otherwise;
}

export function settingsOfServer(): object {
  const settings = vscode.workspace.getConfiguration("orgrest");
  const ofRestClient = OF_SERVER.map((name) => [`rest-client.${name}`, explicit("rest-client", name)] as const);
  return {
    environments: settings.get("environments", []),
    variables: settings.get("variables", {}),
    openapi: settings.get("openapi", true),
    allowWrite: settings.get("allowWrite", []),
    restClient: Object.fromEntries(ofRestClient.filter(([, value]) => value !== undefined)),
  };
}

/** Return environment variables for the proxy in VS Code's settings. */
export function proxyEnvironment(): { [name: string]: string } {
  const http = vscode.workspace.getConfiguration("http");
  const proxy = http.get("proxy", "");
  if (!proxy) return {};
  const excluded = [...http.get<string[]>("noProxy", []), ...(explicit<string[]>("rest-client", "excludeHostsForProxy") ?? [])];
  return { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ...(excluded.length ? { NO_PROXY: excluded.join(",") } : {}) };
}

/** Return a value that is set in the folder, in the workspace or for the user; objects are merged. */
function explicit<T>(section: string, name: string): T | undefined {
  const setting = vscode.workspace.getConfiguration(section).inspect<T>(name);
  const values = [setting?.globalValue, setting?.workspaceValue, setting?.workspaceFolderValue].filter((value) => value !== undefined);
  const objects = values.every((value) => typeof value === "object" && value !== null && !Array.isArray(value));
  return values.length > 1 && objects ? Object.assign({}, ...values) : values.at(-1);
}
