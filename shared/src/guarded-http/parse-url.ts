/** A URL; null if the text is not one. */
export function parseUrl(text: string, base?: URL): URL | null {
  return URL.canParse(text, base?.href) ? new URL(text, base) : null;
}
