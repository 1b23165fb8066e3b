/** An input of a form, and where its text belongs in the request. */
export interface Input {
  readonly place: string;
  readonly name: string;
  readonly text: string;
}

/** The request that a form means. Empty inputs are left out. Throws if the body is no JSON. */
export function requestOf(method: string, path: string, inputs: readonly Input[], isDryRun: boolean): [path: string, init: RequestInit] {
  const headers: Record<string, string> = {};
  const query = new URLSearchParams();
  let filled = path;
  let body: string | undefined;
  for (const { place, name, text } of inputs) {
    if (text === '') continue;
    if (place === 'path') filled = filled.replace(`{${name}}`, () => encodeURIComponent(text));
    else if (place === 'query') query.set(name, text);
    else if (place === 'header') headers[name] = text;
    else {
      const value = JSON.parse(text) as object;
      headers['Content-Type'] = 'application/json';
      body = JSON.stringify(isDryRun ? { ...value, dryRun: true } : value);
    }
  }
  const search = query.toString();
  return [`${filled}${search === '' ? '' : `?${search}`}`, { method, headers, ...(body !== undefined && { body }) }];
}
