// The lines of a request in a request file, and how edits move them.

/** The line of a request, and its region between `###` lines: from `first` up to but excluding `end`. */
export interface Region {
  line: number;
  first: number;
  end: number;
}

/** An edit of the lines from `first` to `last` (of the old text), which adds `added` lines. */
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

/** Return a region after an edit; undefined if the edit changed the region itself. */
export function moved(region: Region, { first, last, added, whole }: Change): Region | undefined {
  if (first >= region.end) return region;
  if (last > region.first || (last === region.first && !whole)) return undefined;
  const by = added - (last - first);
  return { line: region.line + by, first: region.first + by, end: region.end + by };
}
