// Converts text to HTML for the response view: escaped, and coloured if it is JSON or markup. Webviews
// get no colours for tokens, so the colours are the theme's colours for values in the debugger.

const LONGEST = 256 * 1024;

const JSON_TOKENS =
  /(?<name>"(?:[^"\\\n]|\\.)*"(?=\s*:))|(?<string>"(?:[^"\\\n]|\\.)*")|(?<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|(?<boolean>\b(?:true|false|null)\b)/g;
const MARKUP_TOKENS =
  /(?<comment><!--.*?-->)|(?<name><\/?[A-Za-z][\w:.-]*|\/?>)|(?<string>"[^"<>\n]*"(?=[\s/>]))/gs;

const TOKENS: { [language: string]: RegExp } = {
  json: JSON_TOKENS,
  xml: MARKUP_TOKENS,
  html: MARKUP_TOKENS,
};

/** Return a text escaped for HTML, in elements and in quoted attributes. */
export function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** Return a text as HTML, coloured if its language is known and the text is not too long. */
export function highlighted(text: string, language: string): string {
  const tokens = TOKENS[language];
  if (tokens === undefined || text.length > LONGEST) return escaped(text);
  let html = "";
  let end = 0;
  for (const match of text.matchAll(tokens)) {
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0];
    html += escaped(text.slice(end, match.index));
    html += `<span class="${kind}">${escaped(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escaped(text.slice(end));
}
