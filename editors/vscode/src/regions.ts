// The lines of a request in a request file, and where they are after an edit.

/** A request's line, and its lines from `first` to before `end`, which `###` divides from others. */
export interface Region {
  line: number;
  first: number;
  end: number;
}

/** An edit from one line to another (of the text before it), which adds so many lines. */
export interface Change {
  first: number;
  last: number;
  added: number;
  /** Whether only whole lines before `last` are replaced. */
  whole: boolean;
}

const DIVIDES = /^\s*###/;

export function regionOf(lines: string[], line: number): Region {
  let first = line;
  while (first > 0 && !DIVIDES.test(lines[first] ?? "")) first--;
  const after = lines.findIndex((text, at) => at > line && DIVIDES.test(text));
  return { line, first, end: after < 0 ? Infinity : after };
}

/** Where a region is after an edit; undefined if the edit was inside. */
export function moved(region: Region, { first, last, added, whole }: Change): Region | undefined {
  if (first >= region.end) return region;
  if (last > region.first || (last === region.first && !whole)) return undefined;
  const by = added - (last - first);
  return { line: region.line + by, first: region.first + by, end: region.end + by };
}
