const read = new Map<string, Promise<unknown>>();

/** A document of the gateway, read once. */
export function readDocument<T>(path: '/api/openapi.json' | '/api/asyncapi.json' | '/docs/search.json'): Promise<T> {
  const known = read.get(path);
  if (known !== undefined) return known as Promise<T>;
  const document = fetchDocument(path);
  read.set(path, document);
  document.catch(() => read.delete(path));
  return document as Promise<T>;
}

async function fetchDocument(path: string): Promise<unknown> {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`This needs ${path}: HTTP ${answer.status}`);
  return answer.json();
}
